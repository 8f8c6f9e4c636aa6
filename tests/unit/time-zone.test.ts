/** Days as the clocks of a time zone have them. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { daysIn, isTimeZone, shiftDay, startOf } from '../../src/platform/time-zone.rules.ts'

const ZONES = [
  'UTC',
  'Europe/Berlin',
  'Asia/Kathmandu',
  'Pacific/Apia',
  'Pacific/Niue',
  'America/Sao_Paulo',
  'Asia/Beirut',
]

describe('a time zone', () => {
  test.each(['UTC', 'Europe/Berlin', 'America/Argentina/Buenos_Aires', 'Etc/GMT+3'])('%s is known', (name) =>
    expect(isTimeZone(name)).toBe(true),
  )
  test.each([
    '',
    'CET',
    'EST5EDT',
    'GMT',
    'Mars/Olympus',
    '+02:00',
    'UTC+3',
    'Europe/Berlin; drop table',
    'Europe',
    '../etc/passwd',
  ])('%j is not', (name) => expect(isTimeZone(name)).toBe(false))
})

test.each([
  ['Europe/Berlin', '2026-07-02', '2026-07-01T22:00:00.000Z'],
  ['Asia/Kathmandu', '2026-01-01', '2025-12-31T18:15:00.000Z'],
  // Its clocks went from 0:00 to 1:00.
  ['America/Sao_Paulo', '2018-11-04', '2018-11-04T03:00:00.000Z'],
  // The 30th of December 2011 was left out.
  ['Pacific/Apia', '2011-12-30', '2011-12-30T10:00:00.000Z'],
])('in %s the day %s begins at %s', (zone, day, moment) => {
  expect(new Date(startOf(day, zone)).toISOString()).toBe(moment)
})

test('property: every moment belongs to the day that has begun last', () => {
  const time = fc.integer({ min: Date.UTC(1990, 0), max: Date.UTC(2060, 0) })
  fc.assert(
    fc.property(fc.constantFrom(...ZONES), time, (zone, at) => {
      const day = daysIn(zone)(at)
      expect(startOf(day, zone)).toBeLessThanOrEqual(at)
      expect(startOf(shiftDay(day, 1), zone)).toBeGreaterThan(at)
    }),
  )
})
