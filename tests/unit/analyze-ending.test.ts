/** How a conversation ends: which words are read, and what follows from the scores. */
import { describe, expect, test } from 'bun:test'
import { certaintyFor, crossEnding, type EndedItem, trainEnding } from '../../scripts/train/ending.ts'
import { endInputOf, outcomeOf, outcomeScores, repliesOf } from '../../src/analyze/builtin/ending.rules.ts'
import { type EndWords, endNgramsOf, endWordsOf } from '../../src/analyze/builtin/ending-words.rules.ts'
import { DIMENSIONS } from '../../src/analyze/builtin/features.rules.ts'
import { readSubject } from '../../src/analyze/builtin/reading.rules.ts'
import { OUTCOMES, type Outcome } from '../../src/analyze/insight.ts'

const NOTHING = { facts: new Float32Array(), replies: [], messages: [], isInTrouble: false }
const NO_WORDS: EndWords = { last: '', before: '', after: '', first: '', earlier: 0 }
const SAID: Readonly<Record<Outcome, string>> = {
  resolved: 'splendid, that was it',
  unresolved: 'no change here',
  unclear: 'ok tonight',
}
const OWN = { own: true } as const
const CUSTOMER = { own: false } as const

describe('the words at the end', () => {
  const endOf = (...said: readonly { readonly own: boolean; readonly text: string }[]) =>
    endWordsOf(readSubject({ channel: 'conversation', said }))

  test('are the last message, the replies before and after it, and the first message', () => {
    expect(
      endOf(
        { ...CUSTOMER, text: 'It hangs.' },
        { ...OWN, text: 'Restart it.' },
        { ...CUSTOMER, text: 'Runs  NOW' },
        { ...OWN, text: 'Good!' },
      ),
    ).toEqual({ last: 'runs now', before: 'restart it.', after: 'good!', first: 'it hangs.', earlier: 1 })
  })

  test('are empty where nobody spoke', () => {
    expect(endOf({ ...CUSTOMER, text: 'It hangs.' })).toEqual({ ...NO_WORDS, last: 'it hangs.' })
    expect(endOf()).toEqual(NO_WORDS)
  })

  test('leave out what is quoted, and are bounded', () => {
    const words = endOf(
      { ...CUSTOMER, text: `It says "all is well". ${'a '.repeat(1_000)}the end` },
      { ...OWN, text: `${'b '.repeat(2_000)}` },
    )
    expect(words.last).toEndWith('a the end')
    expect([words.last.length, words.after.length]).toEqual([300, 200])
    expect(repliesOf(words)).toEqual(['', words.after.slice(0, 100)])
    expect(endOf({ ...CUSTOMER, text: 'It says "all is well".' }).last).toBe('it says .')
  })

  test('in another place have other n-grams', () => {
    const ngramsOf = (words: Partial<EndWords>) => new Set(endNgramsOf({ ...NO_WORDS, ...words }))
    const places = ['last', 'before', 'after'] as const
    const [last, before, after] = places.map((place) => ngramsOf({ [place]: 'thanks' })) as Set<number>[]
    expect(before?.isSubsetOf(after as Set<number>)).toBe(false)
    expect(before?.isSubsetOf(last as Set<number>)).toBe(false)
    // Who speaks last changes what the last words of the customer tell, and so does a word of the first message.
    const more = [ngramsOf({ last: 'thanks', after: 'ok' }), ngramsOf({ last: 'thanks', first: 'thanks' })]
    for (const other of more) expect(other).not.toEqual(last as Set<number>)
  })
})

test.each([
  [[0.9, 0.1, 0.2], 0.8, 'resolved'],
  [[0.7, 0.1, 0.2], 0.8, 'unclear'],
  [[0.7, 0.3, 0.2], 0.8, 'unresolved'],
  [[0.1, 0.6, 0.2], 0.8, 'unresolved'],
  [[0.1, 0.2, 0.6], 0.8, 'unclear'],
] as const)('of the scores %p, resolved from %d on, follows %s', (scores, certain, outcome) => {
  expect(outcomeOf(Float32Array.from(scores), false, { usual: certain, inTrouble: 1 })).toBe(outcome)
})

test('trouble in the last message needs more certainty', () => {
  const scores = Float32Array.from([0.9, 0.06, 0.04])
  const certainty = { usual: 0.8, inTrouble: 0.95 }
  expect([false, true].map((isInTrouble) => outcomeOf(scores, isInTrouble, certainty))).toEqual([
    'resolved',
    'unresolved',
  ])
})

test('the certainty is the one with which most is right while hardly a failed conversation is called resolved', () => {
  const endOf = (right: Outcome, isInTrouble: boolean, score: number) => ({
    right,
    isInTrouble,
    scores: Float32Array.from([score, 1 - score, 0]),
  })
  const ends = (right: Outcome, isInTrouble: boolean, ...scores: readonly number[]) =>
    scores.flatMap((score) => Array.from({ length: 50 }, () => endOf(right, isInTrouble, score)))
  const unseen = [
    ...[...ends('unresolved', false, 0.6, 0.1), ...ends('unresolved', true, 0.8, 0.1)],
    ...[...ends('resolved', false, 0.7, 0.65), ...ends('resolved', true, 0.9, 0.75)],
  ]
  const { usual, inTrouble } = certaintyFor(unseen)
  expect(usual).toBeGreaterThan(0.6)
  expect(usual).toBeLessThanOrEqual(0.65)
  expect(inTrouble).toBeGreaterThan(0.8)
  expect(inTrouble).toBeLessThanOrEqual(0.9)
})

test('the training tells ends apart, and is judged by authors that it has not seen', () => {
  const vectorOf = (outcome: Outcome) =>
    Float32Array.from({ length: DIMENSIONS }, (_, at) => (at === OUTCOMES.indexOf(outcome) ? 1 : 0))
  const itemOf = (file: string, outcome: Outcome): EndedItem => ({
    file,
    outcome,
    labels: Float32Array.from(OUTCOMES, (one) => (one === outcome ? 1 : 0)),
    ...endInputOf({
      ...NOTHING,
      words: { ...NO_WORDS, last: SAID[outcome] },
      messages: [[vectorOf(outcome)]],
    }),
  })
  const items = ['x.jsonl', 'y.jsonl'].flatMap((file) =>
    OUTCOMES.flatMap((outcome) => Array.from({ length: 100 }, () => itemOf(file, outcome))),
  )
  const head = trainEnding(items)
  const anything = { usual: 0, inTrouble: 0 }
  for (const item of items.slice(0, 300))
    expect(outcomeOf(outcomeScores(head, item), false, anything)).toBe(item.outcome)
  const unseen = crossEnding(items)
  expect(unseen).toHaveLength(items.length)
  expect(unseen.every(({ right, scores }) => outcomeOf(scores, false, anything) === right)).toBe(true)
})
