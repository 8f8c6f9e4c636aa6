/** Numbers of JSON keep what they say, whatever their length: as values they come back as sent, elsewhere they are refused or measures. */
import { describe, expect, test } from 'bun:test'
import { Type } from '@sinclair/typebox'
import fc from 'fast-check'
import { canonicalJson } from '../../src/hear/agents/events/fingerprint.ts'
import { compileRedaction } from '../../src/hear/agents/events/redaction.ts'
import { NO_MAPPING } from '../../src/hear/feedback/row-import/mapping.rules.ts'
import { readJsonLines } from '../../src/hear/feedback/row-import/reader.ts'
import { createJudge, type Row } from '../../src/hear/feedback/row-import/row.rules.ts'
import { createConversationJudge } from '../../src/hear/importers/row.rules.ts'
import {
  isNumberText,
  packNumbers,
  parseExact,
  parseStored,
  unpackNumbers,
} from '../../src/platform/validation/exact-number.rules.ts'
import { parseJson, validate } from '../../src/platform/validation/json.ts'

const digits = (min: number, max: number) => fc.stringMatching(new RegExp(`^\\d{${min},${max}}$`))
const integer = digits(0, 40).chain((rest) =>
  fc
    .tuple(fc.constantFrom('', '-'), fc.constantFrom(...'123456789'))
    .map(([sign, first]) => `${sign}${first}${rest}`),
)
const numeral = fc
  .tuple(
    fc.oneof(integer, fc.constantFrom('0', '-0')),
    fc.oneof(
      fc.constant(''),
      digits(1, 30).map((part) => `.${part}`),
    ),
    fc.oneof(
      { weight: 4, arbitrary: fc.constant('') },
      { weight: 1, arbitrary: fc.constantFrom('e5', 'E+20', 'e-7', 'e0', 'e-320', 'E-400') },
    ),
  )
  .map((parts) => parts.join(''))

/** A decimal number as sign, digits and power of ten; equal numbers have equal texts. */
function decimal(text: string): string {
  const [, sign = '', whole = '', part = '', power = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
  const all = BigInt(whole + part)
  if (all === 0n) return '0'
  const shown = String(all)
  const kept = shown.replace(/0+$/, '')
  return `${sign}${kept}e${Number(power) - part.length + shown.length - kept.length}`
}

test.each(['1e-400', '-1e-330', '4e-324', '1.23456E-322'])(
  '%s, which a double rounds, keeps its text',
  (text) => {
    expect(JSON.stringify(parseExact(`{"a":${text}}`))).toBe(`{"a":${text}}`)
  },
)

test('a number of any length, anywhere, is written with the value that was read', () => {
  fc.assert(
    fc.property(numeral, (text) => {
      for (const json of [
        `[${text}]`,
        `{"a":{"b": ${text} }}`,
        text,
        ` ${text}`,
        `{"a":[1,${text},"${text}"]}`,
      ]) {
        const written = JSON.stringify(parseExact(json)).match(/-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g) ?? []
        expect(written.map(decimal)).toContain(decimal(text))
      }
    }),
    { numRuns: 2_000 },
  )
})

test('an integer beyond 2^53 is written digit by digit, through redaction, canonical text and another thread', () => {
  const redactor = compileRedaction({ redactedFields: ['secret'], redactedPatterns: ['x{3}'] })
  fc.assert(
    fc.property(fc.bigInt({ min: 2n ** 53n, max: 10n ** 60n }), fc.boolean(), (size, negative) => {
      const text = `${negative ? '-' : ''}${size}`
      const value = parseJson(new TextEncoder().encode(`{"b":[${text}],"a":${text}}`))
      expect(canonicalJson(redactor.value(value))).toBe(`{"a":${text},"b":[${text}]}`)
      const sent = structuredClone(packNumbers(value))
      expect(canonicalJson(unpackNumbers(sent))).toBe(`{"a":${text},"b":[${text}]}`)
    }),
  )
})

test('what a double holds stays a number', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      const read = parseExact(`[${value}]`) as readonly unknown[]
      expect(read[0]).toBe(Object.is(value, -0) ? 0 : value)
    }),
  )
  expect(parseExact('[1.0, 1e5, 0.10, 100000000000000000000]')).toEqual([
    1, 100_000, 0.1, 100_000_000_000_000_000_000,
  ])
})

test('what PostgreSQL wrote is a number where a double has its decimal, and else keeps every digit', () => {
  expect(parseStored(`[1${'0'.repeat(308)}, -25${'0'.repeat(30)}]`)).toEqual([1e308, -2.5e31])
  const written = `[9007199254740993${'0'.repeat(10)},123456789012345678901]`
  expect(JSON.stringify(parseStored(written))).toBe(written)
})

describe('where something else is asked', () => {
  const BIG = '9007199254740993'
  test.each([
    ['an integer', Type.Integer(), BIG],
    ['a number', Type.Number(), BIG],
    ['a text', Type.String(), BIG],
    ['an object', Type.Object({}), BIG],
    ['a record', Type.Record(Type.String(), Type.Unknown()), BIG],
    ['a list', Type.Array(Type.Unknown()), BIG],
    ['an integer', Type.Integer(), '1.00000000000000000001'],
  ])('%s refuses it', (_, schema, text) => {
    const body = Type.Object({ a: schema })
    expect(() => validate(body, parseExact(`{"a":${text}}`))).toThrow('a: ')
  })

  test('a measure takes the nearest number', () => {
    const body = Type.Object({ list: Type.Array(Type.Object({ 'a/b': Type.Number() })) })
    expect(validate(body, parseExact('{"list":[{"a/b":1.2300000000000000266}]}'))).toEqual({
      list: [{ 'a/b': 1.23 }],
    })
  })

  test('any value takes it as it is', () => {
    const { a } = validate(Type.Object({ a: Type.Unknown() }), parseExact(`{"a":${BIG}}`))
    expect([isNumberText(a), String(a), JSON.stringify({ a })]).toEqual([true, BIG, `{"a":${BIG}}`])
  })
})

describe('rows of JSON Lines', () => {
  async function rowsOf(lines: readonly string[]): Promise<readonly Row[]> {
    async function* bytes() {
      yield new TextEncoder().encode(lines.join('\n'))
    }
    const rows: Row[] = []
    for await (const { content } of readJsonLines(bytes()).rows) if ('columns' in content) rows.push(content)
    return rows
  }

  test('of feedback: ids and values that differ in their last digits stay different', async () => {
    const judge = createJudge({ ...NO_MAPPING, externalId: 'ticket' })
    const ids = ['9007199254740992', '9007199254740993', '738529527931269425', '738529527931269400', '1e30']
    const rows = await rowsOf(ids.map((id) => `{"ticket": ${id}, "order": ${id}}`))
    const records = rows.map((row) => JSON.stringify(judge(row)))
    for (const [index, id] of ids.entries()) {
      expect(records[index]).toContain(`"externalId":"${id}"`)
      expect(records[index]).toContain(`"value":${id === '1e30' ? '1e30' : id}`)
    }
  })

  test('of feedback: a large number where an integer is asked refuses the row', async () => {
    const rule = { category: 'metadata', type: 'integer', name: 'order' } as const
    const judge = createJudge({ ...NO_MAPPING, columns: new Map([['order', rule]]) })
    const [row] = await rowsOf([`{"order": 738529527931269425}`])
    expect(judge(row!)).toContain('a JSON number that is a safe integer')
    expect(judge({ columns: ['order'], values: ['738529527931269425'], isText: true })).toContain(
      'safe integer',
    )
  })

  test('of conversations: sessions, messages and people', async () => {
    const judge = createConversationJudge({ columns: new Map(), roles: new Map() })
    const message = (id: string) =>
      `{"conversation": ${id}, "id": ${id}, "person": ${id}, "role": "user", "content": "Hi"}`
    const ids = ['738529527931269425', '738529527931269400']
    for (const [index, row] of (await rowsOf(ids.map(message))).entries())
      expect(judge(row)).toMatchObject({
        session: ids[index],
        events: [{ externalEventId: ids[index], participantExternalId: ids[index] }],
      })
  })
})
