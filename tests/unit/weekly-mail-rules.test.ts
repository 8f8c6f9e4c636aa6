/** When the weekly mail is sent, and about which days. */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { daysIn } from '../../src/platform/time-zone.rules.ts'
import { nextMailAt, weekOf } from '../../src/tell/weekly-mail/schedule.rules.ts'

test.each([
  ['UTC', '2026-03-09T06:59:59.999Z', '2026-03-09T07:00:00.000Z', '2026-03-02', '2026-03-09'], // a Monday
  ['UTC', '2026-03-09T07:00:00.000Z', '2026-03-16T07:00:00.000Z', '2026-03-02', '2026-03-09'],
  ['UTC', '2026-03-15T23:59:59.999Z', '2026-03-16T07:00:00.000Z', '2026-03-02', '2026-03-09'],
  ['Asia/Tokyo', '2026-03-08T15:00:00.000Z', '2026-03-08T22:00:00.000Z', '2026-03-02', '2026-03-09'],
  ['America/Los_Angeles', '2026-03-09T06:59:59.999Z', '2026-03-09T14:00:00.000Z', '2026-02-23', '2026-03-02'],
])('in %s at %s the next mail is due at %s, about %s until %s', (zone, now, next, since, until) => {
  expect(nextMailAt(new Date(now), zone).toISOString()).toBe(next)
  expect(weekOf(new Date(now), zone)).toEqual({ since, until })
})

test('a mail is due on Monday at 7:00 within a week, and about seven days that are over', () => {
  fc.assert(
    fc.property(
      fc.date({ min: new Date('2020-01-01'), max: new Date('2100-01-01'), noInvalidDate: true }),
      fc.constantFrom('UTC', 'Asia/Kolkata', 'America/New_York', 'Pacific/Auckland'),
      (now, zone) => {
        const next = nextMailAt(now, zone)
        const clock = {
          timeZone: zone,
          weekday: 'short',
          hour: 'numeric',
          minute: 'numeric',
          hourCycle: 'h23',
        } as const
        expect(new Intl.DateTimeFormat('en', clock).format(next)).toBe('Mon 07:00')
        expect(next.getTime()).toBeGreaterThan(now.getTime())
        // A week with the end of summer time has an hour more.
        expect(next.getTime() - now.getTime()).toBeLessThanOrEqual(7 * 86_400_000 + 3_600_000)
        const { since, until } = weekOf(now, zone)
        expect(new Date(since).getUTCDay()).toBe(1)
        expect(Date.parse(until) - Date.parse(since)).toBe(7 * 86_400_000)
        expect(until <= daysIn(zone)(now.getTime())).toBe(true)
      },
    ),
  )
})
