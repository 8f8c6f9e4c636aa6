/** The built-in analyser: cues, sentiment, repeated questions, and the text that it reads. */
import { describe, expect, test } from 'bun:test'
import type { Exchange } from '../../src/analyze/analyzer.ts'
import { repeats, saysNotSolved, saysSolved } from '../../src/analyze/cues.ts'
import { createLocalAnalyzer } from '../../src/analyze/local.ts'
import { boundTokens, MAX_TEXT, quote, textOf } from '../../src/analyze/text.ts'
import { textWorkHere } from '../support/text-work.ts'

const analyzer = createLocalAnalyzer(textWorkHere)
const { signal } = new AbortController()

async function kindsFor(...followUps: string[]): Promise<readonly string[]> {
  const exchange: Exchange = {
    eventId: 'a1',
    question: 'How can I export my invoices as PDF?',
    answer: 'Open the menu.',
    followUps,
  }
  const findings = await analyzer.analyze([exchange], signal)
  return findings.map(({ kind, rating }) => `${kind} ${rating}`)
}

describe('the built-in analyser', () => {
  const cases: readonly (readonly [said: string, kinds: readonly string[]])[] = [
    ['Thanks, that worked!', ['resolved positive', 'user_sentiment positive']],
    ['That does not work.', ['unresolved negative', 'user_sentiment negative']],
    ['Thanks, but it still fails with error 500.', ['unresolved negative']],
    ['How can I export my invoices as a PDF??', ['repeated_question negative']],
    ['This is horrible, I hate it.', ['user_sentiment negative']],
    ['ok', []],
    ['And where do I find last year?', []],
    ['No thanks.', []],
  ]
  for (const [said, kinds] of cases) {
    test(`finds ${kinds.join(' and ') || 'nothing'} in “${said}”`, async () => {
      const found = await kindsFor(said)
      for (const kind of kinds) expect(found).toContain(kind)
      const outcomes = (list: readonly string[]) => list.filter((kind) => !kind.startsWith('user_sentiment'))
      expect(outcomes(found)).toEqual([...outcomes(kinds)])
    })
  }

  test('finds nothing if the user said nothing after the response', async () => {
    expect(await kindsFor()).toEqual([])
  })

  test('gives the same findings for the same exchanges', async () => {
    const said = ['It is wrong. I hate it.', 'Thank you anyway.']
    expect(await kindsFor(...said)).toEqual([...(await kindsFor(...said))])
  })

  test('ends when it is aborted', async () => {
    const exchange: Exchange = { eventId: 'a1', question: null, answer: '', followUps: ['No.'] }
    await expect(analyzer.analyze([exchange], AbortSignal.abort(new Error('stopped')))).rejects.toThrow(
      'stopped',
    )
  })
})

test('typographic apostrophes count as straight ones', () => {
  expect(saysNotSolved('It doesn’t work')).toBe(true)
  expect(saysSolved('no, thanks')).toBe(false)
})

test('a question counts as repeated despite word order and small words, but not for one shared word', () => {
  expect(repeats('How do I reset my password?', 'Please, how can my password be reset')).toBe(true)
  expect(repeats('How do I reset my password?', 'reset password: how?')).toBe(true)
  expect(repeats('How do I reset my password?', 'How do I change my password policy?')).toBe(false)
  expect(repeats('Why?', 'Why?')).toBe(false)
})

test('the words of a message are its texts, also in structured parts; tool calls have none', () => {
  expect(textOf(' plain ')).toBe('plain')
  expect(
    textOf([
      { type: 'text', text: 'one' },
      { type: 'tool_use', input: { a: 1 } },
      { parts: ['two', { content: 'three' }] },
    ]),
  ).toBe('one\ntwo\nthree')
  expect(textOf(undefined)).toBe('')
  expect(textOf('x'.repeat(MAX_TEXT * 2))).toHaveLength(MAX_TEXT)
  expect(textOf(`${'x'.repeat(MAX_TEXT - 1)}😀`).isWellFormed()).toBe(true)
})

test('a tokenizer gets a bounded text without long runs of non-blanks', () => {
  expect(boundTokens('See http://example.com/a now.')).toBe('See http://example.com/a now.')
  expect(boundTokens(`See http://${'x'.repeat(500)} now.`)).toBe(`See http://${'x'.repeat(93)}… now.`)
  expect(boundTokens('a '.repeat(MAX_TEXT))).toHaveLength(MAX_TEXT)
  expect(boundTokens(`${'x'.repeat(99)}😀😀`).isWellFormed()).toBe(true)
})

test('a quotation is one storable line of at most 160 code points', () => {
  expect(quote('a\u0000b\n\tc')).toBe('a b c')
  expect(Array.from(quote('😀'.repeat(500)))).toHaveLength(160)
  expect(quote('\ud800x').isWellFormed()).toBe(true)
})
