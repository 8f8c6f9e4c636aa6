/** What work on a JSON body will cost, and so where it is done. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { jsonUnits } from '../../src/http/json-cost.ts'
import { MAX_INLINE_UNITS } from '../../src/platform/concurrency/request-work.ts'
import { filler } from '../budget/support/bodies.ts'
import { userMessage } from '../support/agents.ts'

const encode = (text: string) => new TextEncoder().encode(text)
const unitsOf = (value: unknown) => jsonUnits([encode(JSON.stringify(value))])
const many = <T>(count: number, make: (index: number) => T) =>
  Array.from({ length: count }, (_, n) => make(n))

const SHAPE = 300
const FREE_SHAPES = 64

/** Units without those of shapes. */
function plainUnits(value: unknown): number {
  const count = (part: unknown): number => {
    if (typeof part === 'string') return 1
    if (typeof part !== 'object' || part === null) return 0
    const inside = Object.values(part).reduce<number>((sum, member) => sum + count(member), 1)
    return Array.isArray(part) ? inside : inside + Object.keys(part).length
  }
  return encode(JSON.stringify(value)).byteLength / 2 + 15 * count(value)
}

describe('where a body is worked on', () => {
  test('500 usual events: on the HTTP thread', () => {
    const content =
      'The report that I get every Monday has shown last week’s numbers since the update. '.repeat(3)
    const events = many(500, (index) => userMessage(index, { content }))
    expect(unitsOf({ agentKey: 'demo', externalSessionId: 'chat', events })).toBeLessThan(MAX_INLINE_UNITS)
  })

  test.each(['empty lists', 'different names', 'objects of different names', 'different texts'])(
    '200 kB of %s: in a thread',
    (kind) => {
      expect(jsonUnits([encode(filler(kind, 200_000))])).toBeGreaterThan(MAX_INLINE_UNITS)
    },
  )

  test.each(['numbers', 'different texts'])('2 MB of %s: in a thread', (kind) => {
    expect(jsonUnits([encode(filler(kind, 2_000_000))])).toBeGreaterThan(MAX_INLINE_UNITS)
  })

  test('a text of 2 MB, with and without quotes in it: in a thread', () => {
    for (const piece of ['said so. ', '"', '\\', '\\"', '\\\\"'])
      expect(unitsOf(piece.repeat(2_000_000 / piece.length))).toBeGreaterThan(MAX_INLINE_UNITS)
  })
})

describe('the units of a body', () => {
  test('follow from its bytes and values if it has few shapes', () => {
    const value = fc.jsonValue({ maxDepth: 3 })
    fc.assert(
      fc.property(value, (value) => {
        const units = unitsOf(value) - plainUnits(value)
        // An escaped quote is looked at twice.
        expect(units).toBeGreaterThanOrEqual(0)
        expect(units).toBeLessThanOrEqual(5 * (JSON.stringify(value).split('\\"').length - 1))
      }),
      { numRuns: 1_000 },
    )
  })

  test('do not count the same shape again', () => {
    const value = many(1_000, (index) => ({ id: index, name: 'x', more: { of: [{ it: index }] } }))
    expect(unitsOf(value)).toBe(plainUnits(value))
  })

  test.each([
    ['names', many(200, (index) => ({ [`name${index}`]: 0 }))],
    ['long names', many(200, (index) => ({ [`${'long'.repeat(20)}${index}`]: 0 }))],
    ['names with escapes', many(200, (index) => ({ [`a "name" ${index}`]: 0 }))],
  ])('count a shape for each object with a name of its own: %s', (_, value) => {
    const shapes = (unitsOf(value) - plainUnits(value)) / SHAPE
    expect(shapes).toBeGreaterThan(200 - FREE_SHAPES - 20)
    expect(shapes).toBeLessThan(200 - FREE_SHAPES + 20)
  })

  test('count a shape for each order of the same names', () => {
    const order = (index: number) =>
      [...index.toString(2).padStart(10, '0')].map((bit, n) => [`${n}${bit}`, 0])
    const value = many(1_024, (index) => Object.fromEntries([...order(index), ['z', 0]]))
    expect((unitsOf(value) - plainUnits(value)) / SHAPE).toBeGreaterThan(1_024)
  })

  test('do not count JSON in texts', () => {
    const value = many(200, (index) => `{'name${index}': [{}, {}]}`)
    expect(unitsOf(value)).toBe(plainUnits(value))
  })

  test('are a number even for invalid JSON', () => {
    for (const text of [
      '',
      '"',
      '"\\',
      '{',
      '}}}]',
      ',,,',
      '{"a',
      '{"a"',
      '['.repeat(100_000),
      '{'.repeat(100_000),
      '{"":'.repeat(500),
    ])
      expect(jsonUnits([encode(text)])).toBeGreaterThanOrEqual(0)
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(jsonUnits([bytes])).toBeGreaterThanOrEqual(bytes.length / 2)
      }),
    )
  })
})
