/** How a conversation ends: which words are read, and what follows from the scores. */
import { describe, expect, test } from 'bun:test'
import { certaintyFor, crossEnding, type EndedItem, trainEnding } from '../../scripts/train/ending.ts'
import { endInputOf, outcomeOf, outcomeScores, textsOfEnd } from '../../src/analyze/builtin/ending.rules.ts'
import { DIMENSIONS } from '../../src/analyze/builtin/features.rules.ts'
import { readSubject } from '../../src/analyze/builtin/reading.rules.ts'
import { OUTCOMES, type Outcome } from '../../src/analyze/insight.ts'

const NOTHING = { facts: new Float32Array(), replies: [], pieces: [], isInTrouble: false }
const SAID: Readonly<Record<Outcome, string>> = {
  resolved: 'splendid, that was it',
  unresolved: 'no change here',
  unclear: 'ok tonight',
}
const OWN = { own: true } as const
const CUSTOMER = { own: false } as const

describe('the words at the end', () => {
  const endOf = (...said: readonly { readonly own: boolean; readonly text: string }[]) =>
    textsOfEnd(readSubject({ channel: 'conversation', said }))

  test('are the last message, the reply before and the reply after it', () => {
    expect(
      endOf(
        { ...CUSTOMER, text: 'It hangs.' },
        { ...OWN, text: 'Restart it.' },
        { ...CUSTOMER, text: 'Runs  NOW' },
        { ...OWN, text: 'Good!' },
      ),
    ).toEqual(['runs now', 'restart it.', 'good!'])
  })

  test('are empty where nobody spoke', () => {
    expect(endOf({ ...CUSTOMER, text: 'It hangs.' })).toEqual(['it hangs.', '', ''])
    expect(endOf()).toEqual(['', '', ''])
  })

  test('leave out what is quoted, and are bounded', () => {
    const [last = '', , after = ''] = endOf(
      { ...CUSTOMER, text: `It says "all is well". ${'a '.repeat(1_000)}the end` },
      { ...OWN, text: `${'b '.repeat(2_000)}` },
    )
    expect(last).toEndWith('a the end')
    expect([last.length, after.length]).toEqual([300, 100])
    expect(endOf({ ...CUSTOMER, text: 'It says "all is well".' })[0]).toBe('it says .')
  })

  test('in another place have other n-grams', () => {
    const ngramsOf = (...texts: readonly string[]) => [...endInputOf({ ...NOTHING, texts }).ngrams]
    expect(ngramsOf('thanks', '', '')).not.toEqual(ngramsOf('', 'thanks', ''))
  })
})

test.each([
  [[0.9, 0.1, 0.2], 0.8, 'resolved'],
  [[0.7, 0.1, 0.2], 0.8, 'unclear'],
  [[0.7, 0.3, 0.2], 0.8, 'unresolved'],
  [[0.1, 0.6, 0.2], 0.8, 'unresolved'],
  [[0.1, 0.2, 0.6], 0.8, 'unclear'],
] as const)('of the scores %p, resolved from %d on, follows %s', (scores, certain, outcome) => {
  expect(outcomeOf(Float32Array.from(scores), certain)).toBe(outcome)
})

test('hardly a failed conversation is called resolved', () => {
  const failed = Array.from({ length: 100 }, (_, at) => ({
    right: 'unresolved' as const,
    scores: Float32Array.from([at / 100, 0, 0]),
  }))
  // One of a hundred may be.
  expect(certaintyFor(failed)).toBe(0.99)
})

test('the training tells ends apart, and is judged by authors that it has not seen', () => {
  const vectorOf = (outcome: Outcome) =>
    Float32Array.from({ length: DIMENSIONS }, (_, at) => (at === OUTCOMES.indexOf(outcome) ? 1 : 0))
  const itemOf = (file: string, outcome: Outcome): EndedItem => ({
    file,
    outcome,
    labels: Float32Array.from(OUTCOMES, (one) => (one === outcome ? 1 : 0)),
    ...endInputOf({ ...NOTHING, texts: [SAID[outcome], '', ''], pieces: [vectorOf(outcome)] }),
  })
  const items = ['x.jsonl', 'y.jsonl'].flatMap((file) =>
    OUTCOMES.flatMap((outcome) => Array.from({ length: 100 }, () => itemOf(file, outcome))),
  )
  const head = trainEnding(items)
  for (const item of items.slice(0, 300)) expect(outcomeOf(outcomeScores(head, item), 0)).toBe(item.outcome)
  const [solved] = items.filter(({ outcome }) => outcome === 'resolved')
  expect(outcomeScores(head, { ...(solved as EndedItem), isInTrouble: true })[0]).toBe(0)
  const unseen = crossEnding(items)
  expect(unseen).toHaveLength(items.length)
  expect(unseen.every(({ right, scores }) => outcomeOf(scores, 0) === right)).toBe(true)
})
