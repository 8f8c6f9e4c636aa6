/** Members that a schema does not know are found wherever they stand, and nothing else is. */
import { expect, test } from 'bun:test'
import { Type } from '@sinclair/typebox'
import fc from 'fast-check'
import { createUnknownMembers, MAX_IGNORED } from '../../src/platform/validation/unknown-members.ts'

const schema = Type.Object({
  a: Type.Optional(Type.String()),
  list: Type.Optional(
    Type.Array(
      Type.Object({
        b: Type.Optional(Type.Number()),
        c: Type.Optional(Type.Object({ d: Type.Optional(Type.Null()) })),
      }),
    ),
  ),
  open: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
})
const unknownIn = createUnknownMembers(schema)

const extra = fc.subarray(['x', '__proto__', 'constructor', 'a b'])
/** A name that is no identifier is not repeated. */
const shown = (name: string) => (name === 'a b' ? '…' : name)
const withExtra = (value: object, names: readonly string[]): object =>
  Object.fromEntries([...Object.entries(value), ...names.map((name) => [name, { a: 1 }] as const)])
const item = fc.record({ b: fc.nat(), c: fc.tuple(fc.constant({ d: null }), extra) }, { requiredKeys: [] })

test('the paths of all unknown members, in any order of names, as one search sees many values', () => {
  const value = fc.record({
    names: extra,
    items: fc.array(fc.tuple(item, extra), { maxLength: 4 }),
    isReversed: fc.boolean(),
  })
  fc.assert(
    fc.property(value, ({ names, items, isReversed }) => {
      const expected: string[] = []
      const list = items.map(([{ b, c }, more], index) => {
        const at = `list[${index}]`
        expected.push(
          ...more.map((name) => `${at}.${shown(name)}`),
          ...(c?.[1] ?? []).map((name) => `${at}.c.${shown(name)}`),
        )
        const members = {
          ...(b === undefined ? {} : { b }),
          ...(c === undefined ? {} : { c: withExtra(c[0], c[1]) }),
        }
        return withExtra(
          isReversed ? Object.fromEntries(Object.entries(members).toReversed()) : members,
          more,
        )
      })
      expected.push(...names.map(shown))
      const found = unknownIn(withExtra({ list, open: { any: { thing: 1 } } }, names))
      expect(found.length).toBe(Math.min(expected.length, MAX_IGNORED))
      if (expected.length <= MAX_IGNORED) expect(found.toSorted()).toEqual(expected.toSorted())
      else expect(found.every((path) => expected.includes(path))).toBe(true)
    }),
    { numRuns: 2_000 },
  )
})
