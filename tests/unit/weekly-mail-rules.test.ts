/** When the weekly mail is sent, and about which days. */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { nextMailAt, weekOf } from '../../src/weekly-mail/schedule.rules.ts'

test.each([
  ['2026-03-09T06:59:59.999Z', '2026-03-09T07:00:00.000Z', '2026-03-02', '2026-03-09'], // a Monday
  ['2026-03-09T07:00:00.000Z', '2026-03-16T07:00:00.000Z', '2026-03-02', '2026-03-09'],
  ['2026-03-15T23:59:59.999Z', '2026-03-16T07:00:00.000Z', '2026-03-02', '2026-03-09'],
])('at %s the next mail is due at %s, about %s until %s', (now, next, since, until) => {
  expect(nextMailAt(new Date(now)).toISOString()).toBe(next)
  expect(weekOf(new Date(now))).toEqual({
    since: `${since}T00:00:00.000Z`,
    until: `${until}T00:00:00.000Z`,
  })
})

test('a mail is due on Monday at 7:00 within a week, and about seven days that are over', () => {
  fc.assert(
    fc.property(
      fc.date({ min: new Date('2020-01-01'), max: new Date('2100-01-01'), noInvalidDate: true }),
      (now) => {
        const next = nextMailAt(now)
        expect([next.getUTCDay(), next.getUTCHours(), next.getTime() % 3_600_000]).toEqual([1, 7, 0])
        expect(next.getTime()).toBeGreaterThan(now.getTime())
        expect(next.getTime() - now.getTime()).toBeLessThanOrEqual(7 * 86_400_000)
        const { since, until } = weekOf(now)
        expect(new Date(since).getUTCDay()).toBe(1)
        expect(Date.parse(until) - Date.parse(since)).toBe(7 * 86_400_000)
        expect(Date.parse(until)).toBeLessThanOrEqual(now.getTime())
      },
    ),
  )
})
