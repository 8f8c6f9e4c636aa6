/** How a conversation ends: which words are read, and what follows from the votes. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { arcOf } from '../../src/analysis/analyze/builtin/arc.rules.ts'
import { createBuiltInAnalyzer } from '../../src/analysis/analyze/builtin/builtin.ts'
import { outcomeOfShares } from '../../src/analysis/analyze/builtin/classifier.rules.ts'
import { withoutRitual } from '../../src/analysis/analyze/builtin/ritual.rules.ts'
import { textWorkHere } from '../support/text-work.ts'

const CUSTOMER = { own: false } as const
const OWN = { own: true } as const

describe('closings and farewells are left out', () => {
  test.each([
    ['It works now, thank you!', 'It works now, thank you!'],
    ['Great! Anything else I can help with?', ''],
    ['No, thank you.', ''],
    [
      'Thanks for your help, but it still does not work. Have a nice day',
      'Thanks for your help, but it still does not work.',
    ],
    ['Vielen Dank! Das hat geholfen. Schönen Tag noch!', 'Das hat geholfen.'],
    ['de rien, bonne journée', ''],
    ['Gracias, un saludo', ''],
    ['Prego, buona giornata', ''],
    ['Obrigada!', ''],
    ['Graag gedaan, fijne dag!', ''],
    ['ありがとうございました。', ''],
    [
      'Is there anything that I can do about the crash of the export on Monday, or is everything else that I said wrong, too?',
      'Is there anything that I can do about the crash of the export on Monday, or is everything else that I said wrong, too?',
    ],
  ])('%p says %p', (message, text) => {
    expect(withoutRitual(message).text).toBe(text)
  })

  test('and are remembered', () => {
    expect(withoutRitual('Thanks, bye')).toEqual({ text: '', isThankful: true, isClosing: true })
  })
})

describe('the arc', () => {
  test('has the first and the last words of both sides, before the farewells', () => {
    expect(
      arcOf([
        { ...CUSTOMER, text: 'It hangs.' },
        { ...OWN, text: 'Restart it.' },
        { ...CUSTOMER, text: 'Did that.' },
        { ...CUSTOMER, text: 'It runs now.' },
        { ...OWN, text: 'Glad to help!' },
        { ...CUSTOMER, text: 'Thanks, bye' },
      ]),
    ).toEqual({
      first: 'It hangs.',
      earlier: '',
      last: 'Did that. It runs now.',
      before: 'Restart it.',
      after: '',
      isThankful: true,
      isThankfulAfter: true,
      isClosing: true,
      turns: 2,
    })
  })

  test('is empty where nobody spoke', () => {
    expect(arcOf([])).toMatchObject({ first: '', last: '', before: '', after: '', turns: 0 })
  })

  test('property: a farewell at the end changes no words', () => {
    const text = fc.constantFrom('It hangs.', 'Restart it.', 'It runs.', 'No.', 'Still broken', 'Which one?')
    const any = fc.array(fc.record({ own: fc.boolean(), text }), { maxLength: 8 })
    const said = any.filter((messages) => messages.some(({ own }) => !own))
    const words = (arc: ReturnType<typeof arcOf>) => [arc.first, arc.earlier, arc.last, arc.before, arc.after]
    fc.assert(
      fc.property(said, (messages) => {
        const closed = [
          ...messages,
          { ...OWN, text: 'Anything else I can help with?' },
          { ...CUSTOMER, text: 'No, thank you.' },
        ]
        expect(words(arcOf(closed))).toEqual(words(arcOf(messages)))
      }),
    )
  })
})

test.each([
  [[0.9, 0.1, 0], 'resolved'],
  [[0.6, 0.1, 0.3], 'unclear'],
  [[0.1, 0.8, 0.1], 'unresolved'],
  [[0.45, 0.55, 0], 'unclear'],
  [[0.3, 0.3, 0.4], 'unclear'],
  [[0.02, 0.48, 0.5], 'unresolved'],
  [[0, 0, 1], 'unclear'],
] as const)('of the shares %p follows %s: never the next best', (shares, outcome) => {
  expect(outcomeOfShares(shares, { resolved: 0.8, unresolved: 0.6 })).toBe(outcome)
})

test('what is resolved stays resolved, whatever farewells follow', async () => {
  const said = [
    { ...CUSTOMER, text: 'The export does not start.' },
    { ...OWN, text: 'Please sign out and in again.' },
    { ...CUSTOMER, text: 'It works now, thank you!' },
    { ...OWN, text: 'Great! Anything else I can help with?' },
    { ...CUSTOMER, text: 'No, thank you.' },
  ]
  const analyzer = createBuiltInAnalyzer(textWorkHere)
  const subjects = [3, 4, 5].map((length) => ({
    channel: 'conversation' as const,
    said: said.slice(0, length),
  }))
  const insights = await analyzer.analyze(subjects, new AbortController().signal)
  expect(insights.map(({ outcome }) => outcome)).toEqual(['resolved', 'resolved', 'resolved'])
})
