/** Moments in addresses of the console. */
import { expect, test } from 'bun:test'
import { momentOf } from '../../src/console/app/period.ts'

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
