import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { isFullDate, isRfc3339, toUtc } from '../../src/platform/validation/rfc3339.ts'

describe('RFC 3339 date-time', () => {
  test.each([
    ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z'],
    ['2026-01-01T01:00:00+01:00', '2026-01-01T00:00:00Z'],
    ['2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00Z'],
    ['2026-01-01T00:00:00.120Z', '2026-01-01T00:00:00.12Z'],
    ['2026-01-01T00:00:00.123456789Z', '2026-01-01T00:00:00.123456Z'],
    ['2026-01-01t00:00:00z', '2026-01-01T00:00:00Z'],
    ['2026-01-01T00:00:00-00:00', '2026-01-01T00:00:00Z'],
    ['2026-01-01T00:00:00+23:59', '2025-12-31T00:01:00Z'],
    ['2024-02-29T12:00:00Z', '2024-02-29T12:00:00Z'],
    ['2000-02-29T12:00:00Z', '2000-02-29T12:00:00Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00Z'],
    ['0099-03-01T00:00:00Z', '0099-03-01T00:00:00Z'],
    ['9999-12-31T23:59:59.999999999Z', '9999-12-31T23:59:59.999999Z'],
  ])('%s is the instant %s', (text, utc) => {
    expect(toUtc(text)).toBe(utc)
    expect(isRfc3339(text)).toBe(true)
  })

  test.each([
    ['no offset', '2026-01-01T00:00:00'],
    ['a date alone', '2026-01-01'],
    ['February 30', '2026-02-30T00:00:00Z'],
    ['February 29 of a common year', '2026-02-29T00:00:00Z'],
    ['February 29 of a century', '1900-02-29T00:00:00Z'],
    ['April 31', '2026-04-31T00:00:00Z'],
    ['day 0', '2026-01-00T00:00:00Z'],
    ['month 0', '2026-00-01T00:00:00Z'],
    ['month 13', '2026-13-01T00:00:00Z'],
    ['hour 24', '2026-01-01T24:00:00Z'],
    ['minute 60', '2026-01-01T00:60:00Z'],
    ['a leap second', '2016-12-31T23:59:60Z'],
    ['ten fraction digits', '2026-01-01T00:00:00.1234567890Z'],
    ['a fraction without digits', '2026-01-01T00:00:00.Z'],
    ['a comma', '2026-01-01T00:00:00,5Z'],
    ['a space for the T', '2026-01-01 00:00:00Z'],
    ['an offset without colon', '2026-01-01T00:00:00+0100'],
    ['offset hour 24', '2026-01-01T00:00:00+24:00'],
    ['offset minute 60', '2026-01-01T00:00:00+01:60'],
    ['year 0', '0000-01-01T00:00:00Z'],
    ['a year before 1 in UTC', '0001-01-01T00:00:00+01:00'],
    ['a year after 9999 in UTC', '9999-12-31T23:59:59-01:00'],
    ['five year digits', '12026-01-01T00:00:00Z'],
    ['white space around', ' 2026-01-01T00:00:00Z'],
    ['a line break after', '2026-01-01T00:00:00Z\n'],
    ['a word', 'yesterday'],
    ['nothing', ''],
  ])('%s is refused', (_, text) => {
    expect(isRfc3339(text)).toBe(false)
    expect(toUtc(text)).toBeNull()
  })

  test('every instant of every offset is the same instant in UTC', () => {
    const day = fc.date({
      min: new Date('0001-01-03T00:00:00Z'),
      max: new Date('9999-12-29T00:00:00Z'),
      noInvalidDate: true,
    })
    fc.assert(
      fc.property(day, fc.integer({ min: -1439, max: 1439 }), (date, minutes) => {
        const local = new Date(date.getTime() + minutes * 60_000).toISOString().slice(0, -1)
        const hours = String(Math.floor(Math.abs(minutes) / 60)).padStart(2, '0')
        const rest = String(Math.abs(minutes) % 60).padStart(2, '0')
        const utc = toUtc(`${local}${minutes < 0 ? '-' : '+'}${hours}:${rest}`)
        expect(new Date(utc ?? '').getTime()).toBe(date.getTime())
      }),
    )
  })

  test('the fast path gives the same results as the pattern', () => {
    const two = fc.oneof(fc.integer({ min: 0, max: 99 }), fc.integer({ min: 1, max: 28 }))
    const padded = (number: number, length = 2) => String(number).padStart(length, '0')
    const parts = fc.tuple(fc.constantFrom(0, 1, 1900, 2000, 2024, 2026, 9999), two, two, two, two, two)
    const fraction = fc.oneof(
      fc.constant(''),
      fc.integer({ min: 0, max: 999 }).map((ms) => `.${padded(ms, 3)}`),
    )
    const slip = fc.option(fc.tuple(fc.nat(22), fc.constantFrom(' ', '/', ':', '-', 'T', '.', '٣', 'Z')))
    fc.assert(
      fc.property(parts, fraction, slip, ([year, month, day, hour, minute, second], decimals, change) => {
        const date = [padded(year, 4), padded(month), padded(day)].join('-')
        const right = `${date}T${[hour, minute, second].map((part) => padded(part)).join(':')}${decimals}`
        const text =
          change === null ? right : right.slice(0, change[0]) + change[1] + right.slice(change[0] + 1)
        expect(toUtc(`${text}Z`)).toBe(toUtc(`${text}+00:00`))
      }),
      { numRuns: 20_000 },
    )
  })
})

describe('RFC 3339 full-date', () => {
  test.each(['2026-01-31', '2024-02-29', '0001-01-01', '9999-12-31'])('%s is a date', (text) => {
    expect(isFullDate(text)).toBe(true)
  })

  test.each([
    '2026-02-29',
    '2026-1-1',
    '0000-01-01',
    '2026-01-01T00:00:00Z',
    '2026-01-01\n',
    '2026-13-01',
    '',
  ])('%j is refused', (text) => {
    expect(isFullDate(text)).toBe(false)
  })
})
