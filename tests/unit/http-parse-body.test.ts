/** From the bytes of a body to what its operation knows of it. */
import { describe, expect, test } from 'bun:test'
import { Type } from '@sinclair/typebox'
import fc from 'fast-check'
import {
  countValues,
  MAX_KNOWN_VALUES,
  MAX_VALUES,
  parseBodyWork,
  parseBounded,
} from '../../src/http/parse-body.ts'

const encode = (text: string) => new TextEncoder().encode(text)
const refused = (limit: number) => expect.objectContaining({ code: 'too_many_values', extra: { limit } })

function caught(work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    return error
  }
}

describe('the values of a body', () => {
  test('are counted as parsed: names, texts, lists and objects', () => {
    const count = (value: unknown): number => {
      if (typeof value === 'string') return 1
      if (typeof value !== 'object' || value === null) return 0
      const members = Object.values(value).reduce<number>((sum, member) => sum + count(member), 1)
      return Array.isArray(value) ? members : members + Object.keys(value).length
    }
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.boolean(), (value, indented) => {
        const text = JSON.stringify(value, null, indented ? 2 : 0)
        expect(countValues(encode(text))).toBe(count(JSON.parse(text)))
      }),
      { numRuns: 1_000 },
    )
  })

  test(`are at most ${MAX_VALUES}`, () => {
    const lists = (count: number) => encode(`[${Array.from({ length: count - 1 }, () => '[]').join(',')}]`)
    expect(parseBounded(lists(MAX_VALUES))).toHaveLength(MAX_VALUES - 1)
    expect(caught(() => parseBounded(lists(MAX_VALUES + 1)))).toEqual(refused(MAX_VALUES))
  })
})

describe('the members that an operation knows', () => {
  const Item = Type.Object({ id: Type.Integer(), note: Type.Optional(Type.String()) })
  const schema = Type.Object({
    name: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    items: Type.Optional(Type.Union([Type.Array(Item), Type.Object({ list: Type.Array(Item) })])),
    anything: Type.Optional(Type.Unknown()),
    free: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  })
  const parsed = (value: unknown) =>
    parseBodyWork.run({ parts: [encode(JSON.stringify(value))], schema }, () => {})

  test('are kept with all their content', () => {
    const value = {
      name: null,
      items: [{ id: 1, note: 'a' }, 'no object', 7],
      anything: { a: [{ b: 1 }], other: 1 },
      free: { x: { y: [1] } },
    }
    expect(parsed(value)).toEqual(value)
    expect(parsed({ items: { list: [{ id: 1 }] } })).toEqual({ items: { list: [{ id: 1 }] } })
    for (const other of [[], 'text', 1, null, [{ id: 1 }]]) expect(parsed(other)).toEqual(other)
  })

  test('are kept; of others only a few names and plain values, and nothing in lists', () => {
    expect(parsed({ name: 'a', other: 'x', list: [1, [2]], object: { a: 1 } })).toEqual({
      name: 'a',
      other: 'x',
      list: [],
      object: {},
    })
    expect(parsed({ items: [{ id: 1, other: 'x', junk: [[]] }] })).toEqual({ items: [{ id: 1 }] })
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`m${index}`, index]))
    expect(Object.keys(parsed(many) as object)).toHaveLength(20)
  })

  test(`hold ${MAX_KNOWN_VALUES} values at most, and others do not count`, () => {
    const texts = Array.from({ length: MAX_KNOWN_VALUES }, () => 'a')
    expect(caught(() => parsed({ anything: texts }))).toEqual(refused(MAX_KNOWN_VALUES))
    expect(parsed({ other: texts })).toEqual({ other: [] })
  })
})
