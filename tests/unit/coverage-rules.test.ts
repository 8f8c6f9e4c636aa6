/** What an outcome rests on, and when nothing was said. */
import { expect, test } from 'bun:test'
import type { Insight, Kind, Outcome } from '../../src/analysis/analyze/insight.ts'
import { basisOf, kindsThatSay } from '../../src/analysis/findings/basis.rules.ts'
import { resultOf } from '../../src/analysis/findings/finding.rules.ts'

const SAID = [
  { own: false, text: 'The export fails.' },
  { own: true, text: 'Try again.' },
  { own: false, text: 'It still fails.' },
]
const shown = (...kinds: Kind[]) => new Set<string>(kinds)

test.each<[Outcome | null, Kind, number, boolean]>([
  ['resolved', 'resolved_confirmation', 2, true],
  ['resolved', 'praise', 2, false],
  ['unresolved', 'repeated_problem', 2, true],
  ['unresolved', 'bug_report', 0, false],
  ['unresolved', 'question', 2, false],
  ['unclear', 'repeated_problem', 2, false],
  [null, 'repeated_problem', 2, false],
])('the outcome %s and %s in message %i: %j', (outcome, kind, index, says) => {
  expect(kindsThatSay(outcome, [{ kind, index }], SAID)).toEqual(says ? [kind] : [])
})

test('where the company said nothing, the customer says no outcome', () => {
  expect(kindsThatSay('unresolved', [{ kind: 'complaint', index: 0 }], SAID.slice(0, 1))).toEqual([])
})

test('an outcome is stated only if the finding is shown', () => {
  expect(basisOf('unresolved', ['repeated_problem'], shown('repeated_problem'))).toBe('stated')
  expect(basisOf('unresolved', ['repeated_problem'], shown('bug_report'))).toBe('inferred')
  expect(basisOf('unresolved', [], shown('repeated_problem'))).toBe('inferred')
  expect(basisOf('unclear', ['repeated_problem'], shown('repeated_problem'))).toBeNull()
  expect(basisOf(null, [], shown())).toBeNull()
})

const INSIGHT: Insight = { language: 'en', supported: true, outcome: null, sentiment: null, findings: [] }
const VERSION = { name: 'builtin', version: '1' }

test.each([
  [[{ own: true, text: 'Hello!' }], true, 'no_words'],
  [[{ own: false, text: ' \n ' }], false, 'no_words'],
  [[], true, 'no_words'],
  [SAID, true, 'analyzed'],
  [SAID, false, 'not_supported'],
] as const)('of %j (supported: %j) the state is %s', (said, supported, state) => {
  expect(resultOf({ ...INSIGHT, supported }, said, VERSION).state).toBe(state)
})
