/** The rules tier of the built-in analyser: what counts as the customer's own words, and what is found in them. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { createBuiltInAnalyzer } from '../../src/analysis/analyze/builtin/builtin.ts'
import type { Insight, Said } from '../../src/analysis/analyze/insight.ts'
import { textWorkHere } from '../support/text-work.ts'

const analyzer = createBuiltInAnalyzer(textWorkHere, 'rules')
const { signal } = new AbortController()

/** Alternating messages, the customer first. */
async function chat(...texts: readonly string[]): Promise<Insight> {
  const said: readonly Said[] = texts.map((text, index) => ({ own: index % 2 === 1, text }))
  const [insight] = await analyzer.analyze([{ channel: 'conversation', said }], signal)
  return insight as Insight
}
const kindsOf = ({ findings }: Insight) => findings.map(({ kind }) => kind)

describe('a conversation by rules', () => {
  test('the first message counts, and "but" outweighs thanks', async () => {
    const insight = await chat('The installer hangs in a loop', 'Delete it.', 'Thanks, but it still loops.')
    expect(kindsOf(insight)).toEqual(['bug_report', 'repeated_problem'])
    expect(insight).toMatchObject({ language: 'en', outcome: 'unresolved', sentiment: 'negative' })
  })

  test('a confirmation resolves it, and falls when worse follows', async () => {
    const solved = await chat(
      'I keep getting error 403 when I upload',
      'Add the scope.',
      'Added it and it works now!',
    )
    expect(solved).toMatchObject({ outcome: 'resolved', sentiment: 'positive' })
    const open = await chat(
      'I keep getting error 403',
      'Add the scope.',
      'It works now, but the upload fails again',
    )
    expect(kindsOf(open)).not.toContain('resolved_confirmation')
    expect(open.outcome).toBe('unresolved')
  })

  test('politeness alone says nothing', async () => {
    const insight = await chat('What does the Team plan cost?', '12 euros.', 'Perfect, thank you so much!')
    expect(insight).toMatchObject({ outcome: 'unclear', sentiment: 'neutral' })
    expect(kindsOf(insight)).toEqual(['question'])
  })

  test.each([
    ['code', 'Here is my code: `throw new Error("the app crashes")`'],
    ['a code block', 'My code:\n```\nthe app crashes\nI hate it\n```'],
    ['a quotation', 'My boss wrote "the app crashes and I hate it".'],
    ['quoted mail', 'See below.\n> the app crashes and I hate it'],
    ['a log', 'My log:\n2026-01-01 10:00:00 the app crashes\n    at run (/srv/app.js:10:3)'],
    ['a task', 'Write an angry review: the app crashes and I hate it.'],
    ['a story', "I'm writing a novel. The app crashes and she hates it."],
  ])('%s is no finding', async (_, text) => {
    expect(kindsOf(await chat(text))).toEqual([])
  })

  test('nothing is found in the words of the company', async () => {
    expect(
      kindsOf(await chat('hello there', 'The app crashes, it is terrible. Cancel your subscription!')),
    ).toEqual([])
  })

  test('a language that it does not know is not called empty', async () => {
    const insight = await chat('Aplikacja nie działa od wczoraj i nie mogę się zalogować na swoje konto')
    expect(insight).toMatchObject({
      language: 'pl',
      supported: false,
      outcome: null,
      sentiment: null,
      findings: [],
    })
  })

  test('of a long conversation the first and the last messages count', async () => {
    const filler = Array.from({ length: 599 }, () => 'Let me look at that for you once more.')
    const insight = await chat(
      'The export crashes every time.',
      ...filler,
      'I want to cancel my subscription',
    )
    expect(kindsOf(insight)).toContain('bug_report')
    expect(kindsOf(insight)).toContain('churn_risk')
  })

  test('property: a quotation is a part of its message', async () => {
    const part = fc.constantFrom(
      'the app crashes',
      ' but ',
      '. ',
      '"',
      '`',
      '\n> ',
      '😡',
      '\ud83d',
      'e\u0301',
      '?',
      'I hate it ',
    )
    const message = fc.array(fc.oneof(part, fc.string({ unit: 'grapheme', maxLength: 6 })), { maxLength: 12 })
    await fc.assert(
      fc.asyncProperty(fc.array(message, { minLength: 1, maxLength: 4 }), async (messages) => {
        const texts = messages.map((parts) => parts.join(''))
        for (const { index, from, to } of (await chat(...texts)).findings) {
          const text = texts[index] as string
          expect(index % 2).toBe(0)
          expect(from >= 0 && from < to && to <= text.length).toBe(true)
          expect(text.slice(from, to).trim()).not.toBe('')
        }
      }),
      { numRuns: 200 },
    )
  })
})
