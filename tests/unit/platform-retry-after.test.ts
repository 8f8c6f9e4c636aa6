/** `Retry-After` (RFC 9110, section 10.2.3): seconds or a date. */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { retryAfterMs, retryAfterSeconds } from '../../src/platform/net/retry-after.rules.ts'

const NOW = new Date('2026-11-22T10:00:00.400Z')

test.each([
  ['17', 17_000, 17],
  [' 0 ', 0, 0],
  ['999999999', 999_999_999_000, 999_999_999],
  ['Sun, 22 Nov 2026 10:00:31 GMT', 30_600, 31],
  ['Sun, 22 Nov 2026 09:00:00 GMT', 0, 0],
  ['Mon, 23 Nov 2026 10:00:00 GMT', 86_399_600, 86_400],
  ['', null, null],
  [null, null, null],
  ['soon', null, null],
  ['-5', null, null],
  ['1.5', null, null],
  ['1234567890', null, null],
  ['2026-11-22', null, null],
  ['Sun, 22 Foo 2026', null, null],
])('%p is %p ms and %p s', (header, ms, seconds) => {
  expect(retryAfterMs(header, NOW)).toBe(ms)
  expect(retryAfterSeconds(header, NOW)).toBe(seconds)
})

test('property: any header is null or not negative', () => {
  fc.assert(fc.property(fc.string(), (header) => (retryAfterMs(header, NOW) ?? 0) >= 0))
})
