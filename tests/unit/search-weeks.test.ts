/** Which weeks a search asks first. */
import { expect, test } from 'bun:test'
import { enoughWeeks, FIRST_WEEKS, reaches, weekLabels } from '../../src/understand/search/weeks.rules.ts'

test.each([
  ['so few matches that all are read', 2, 0, null],
  ['few matches', 2, 100, null],
  ['a common word', 2, 400, 8],
  ['nearly enough', 2, 1_000, 4],
] as const)('%s', (_, weeks, matches, expected) => {
  expect(enoughWeeks(weeks, matches, 1_001)).toBe(expected)
})

test('a period that the weeks contain needs no others', () => {
  const newest = new Date('2026-11-22T12:00:00Z') // a Sunday
  expect(reaches('2026-11-09T00:00:00Z', newest, 2)).toBeTrue()
  expect(reaches('2026-11-08T23:59:59Z', newest, 2)).toBeFalse()
  expect(reaches(undefined, newest, 2)).toBeFalse()
})

test('labels name the weeks asked for, and four ahead', () => {
  const labels = weekLabels(
    '0199a1b2-0000-7000-8000-0000000000a1',
    new Date('2000-01-17T00:00:00Z'),
    FIRST_WEEKS,
  )
  expect(labels).toEqual(['0000a16', '0000a15', '0000a14', '0000a13', '0000a12', '0000a11'])
})
