/** Moments in addresses of the console, and its periods. */
import { expect, test } from 'bun:test'
import { lastDays, momentOf, periodOf } from '../../src/console/app/period.ts'

test.each(['2026-01-02T03:04:05Z', '2026-01-02T03:04:05.123456+05:30', '2024-02-29T00:00:00z'])(
  '%s is a moment',
  (text) => {
    expect(momentOf(text)).toBe(text)
  },
)

test.each([
  '',
  'foo',
  '2026-01-02',
  '2026-02-30T00:00:00Z',
  '2026-13-01T00:00:00Z',
  '2026-01-02T25:00:00Z',
  '2026-01-02T03:04:05',
  'x2026-01-02T03:04:05Z',
])('“%s” is none', (text) => {
  expect(momentOf(text)).toBeNull()
})

test('a period has the days of the time zone', () => {
  const now = Date.parse('2026-03-29T22:30:00Z')
  expect(lastDays(2, 'Europe/Berlin', now)).toEqual({
    since: '2026-03-28T23:00:00.000Z',
    until: '2026-03-30T22:00:00.000Z',
    days: ['2026-03-29', '2026-03-30'],
  })
  expect(lastDays(1, 'UTC', now).days).toEqual(['2026-03-29'])
  // Summer time begins: the day has 23 hours.
  expect(periodOf('2026-03-29', 'Europe/Berlin')).toEqual({
    since: '2026-03-28T23:00:00.000Z',
    until: '2026-03-29T22:00:00.000Z',
  })
})
