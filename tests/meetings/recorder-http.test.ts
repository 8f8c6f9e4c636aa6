/** Statuses and headers that mean the same at every recorder. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  isPassing,
  momentOf,
  pauseSecondsOf,
  refusalOfStatus,
  shownCode,
} from '../../src/calls/meetings/recorders/http.rules.ts'

describe('Retry-After', () => {
  const now = new Date('2026-11-22T10:00:00.500Z')
  const CASES = [
    ['17', 17],
    ['999999999', 3_600],
    ['Sun, 22 Nov 2026 10:00:31 GMT', 31],
    ['Mon, 23 Nov 2026 10:00:00 GMT', 3_600],
    [null, null],
  ] as const
  for (const [header, seconds] of CASES)
    test(`${JSON.stringify(header)} is ${seconds} s`, () => expect(pauseSecondsOf(header, now)).toBe(seconds))

  test('any header is between nothing and an hour', () => {
    fc.assert(
      fc.property(fc.string(), (header) => {
        const seconds = pauseSecondsOf(header, now)
        expect(seconds === null || (seconds >= 0 && seconds <= 3_600)).toBe(true)
      }),
    )
  })
})

describe('a refused join', () => {
  for (const status of [401, 402, 403, 404, 405, 301, 302, 307, 400, 410, 422])
    test(`${status} is final`, () => expect(refusalOfStatus(status).kind).toBe('terminal'))
  for (const status of [200, 204, 408, 425, 429, 500, 502, 503, 504, 507])
    test(`${status} is asked again`, () => expect(refusalOfStatus(status).kind).toBe('retryable'))
  test('statuses that pass are those of overload and of servers', () => {
    const passing = [...Array(600).keys()].filter((status) => status >= 100 && isPassing(status))
    expect(passing.slice(0, 4)).toEqual([408, 425, 429, 500])
    expect(passing.length).toBe(103)
  })
})

test('a moment is a date or nothing', () => {
  expect(momentOf('2026-11-22T10:00:00Z')).toEqual(new Date('2026-11-22T10:00:00Z'))
  for (const text of [null, undefined, '', 'yesterday']) expect(momentOf(text)).toBeUndefined()
})

test('a shown code is short and harmless', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (code) => {
      expect(shownCode(code)).toMatch(/^[\w.-]{0,80}$/)
    }),
  )
  expect(shownCode('waiting_room_timeout_exceeded')).toBe('waiting_room_timeout_exceeded')
})
