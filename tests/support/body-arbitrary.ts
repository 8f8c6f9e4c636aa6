/**
 * Generates bodies for an operation from its schema: valid bodies, valid bodies with one defect, any JSON, and bytes
 * that are not JSON.
 */
import { Kind, type TSchema } from '@sinclair/typebox'
import fc from 'fast-check'

type Json = unknown
type Arbitrary = fc.Arbitrary<Json>

/** What a generated body may use. */
export interface BodyFacts {
  readonly schema: TSchema
  /** A valid body. */
  readonly example: Json
  /** Values by member name, such as ids of existing objects. */
  readonly known: Readonly<Record<string, Json>>
}

/** The body of one request, in bytes. */
export function bodyOf({ schema, example, known }: BodyFacts): fc.Arbitrary<Uint8Array> {
  const right = fc.oneof(valuesOf(known, LOOSE)(schema, example), valuesOf(known, CLOSE)(schema, example))
  const broken = fc.tuple(right, fc.array(mutation, { minLength: 1, maxLength: 3 }))
  const text = (value: fc.Arbitrary<Json>) => value.map((one) => encode(JSON.stringify(one) ?? ''))
  return fc.oneof(
    { weight: 35, arbitrary: text(right) },
    {
      weight: 50,
      arbitrary: text(broken.map(([value, mutations]) => mutations.reduce(mutate, structuredClone(value)))),
    },
    {
      weight: 10,
      arbitrary: text(
        fc.tuple(right, fc.infiniteStream(extreme)).map(([value, stream]) => extremesIn(value, stream)),
      ),
    },
    { weight: 8, arbitrary: text(anyJson) },
    { weight: 7, arbitrary: fc.tuple(right, garbage).map(([value, spoil]) => spoil(JSON.stringify(value))) },
  )
}

const encode = (text: string) => new TextEncoder().encode(text)
const repeated = (text: string, times: number) => text.repeat(times)

/** Out of ten values, this many come from the example. */
const LOOSE = 3
const CLOSE = 8

type ValuesOf = (schema: TSchema, example: Json) => Arbitrary

/** Values that fit a schema. Rules that exist only in code may still reject them. */
function valuesOf(known: BodyFacts['known'], closeness: number): ValuesOf {
  const values: ValuesOf = (schema, example) => {
    if (example === undefined) return generate(schema, example)
    return fc.oneof(
      { weight: closeness, arbitrary: likeExample(example) },
      { weight: 10 - closeness, arbitrary: generate(schema, example) },
    )
  }
  const generate: ValuesOf = (schema, example) => {
    if ('const' in schema) return fc.constant(schema.const)
    if (Array.isArray(schema.anyOf))
      return fc.oneof(...schema.anyOf.map((option: TSchema) => values(option, example)))
    switch (schema.type) {
      case 'object':
        return ofObject(schema, example)
      case 'array':
        return ofArray(schema, example)
      case 'string':
        return ofString(schema)
      case 'integer':
      case 'number':
        return ofNumber(schema)
      case 'boolean':
        return fc.boolean()
      case 'null':
        return fc.constant(null)
    }
    if (!['Unknown', 'Any'].includes(schema[Kind])) throw new Error(`no values of ${JSON.stringify(schema)}`)
    return anyJson
  }
  const ofObject: ValuesOf = (schema, example) => {
    const record = schema.patternProperties as Record<string, TSchema> | undefined
    if (record !== undefined)
      return fc.dictionary(weirdText, values(Object.values(record)[0]!, undefined), { maxKeys: 3 })
    const examples = { ...known, ...(typeof example === 'object' ? example : {}) } as Record<string, Json>
    const memberOf = (name: string, member: TSchema) => {
      const any = values(member, examples[name])
      return name in known ? fc.oneof(fc.constant(known[name]), any) : any
    }
    const members: Record<string, Arbitrary> = Object.fromEntries(
      Object.entries(schema.properties as Record<string, TSchema>).map(([name, member]) => [
        name,
        memberOf(name, member),
      ]),
    )
    return fc.record(members, { requiredKeys: schema.required ?? [] })
  }
  const ofArray: ValuesOf = (schema, example) => {
    const { minItems = 0, maxItems = Number.POSITIVE_INFINITY, items } = schema
    const item = Array.isArray(example)
      ? fc.oneof(...example.map((one) => values(items, one)))
      : values(items, undefined)
    return fc.array(item, { minLength: minItems, maxLength: Math.min(maxItems, minItems + 3) })
  }
  return values
}

/** Members that identify an object. */
const NAMES = /^(?:name|external(?:_id|Id|EntityName|SessionId))$/

/** Returns the object unchanged, or with another name, so that bodies do not always describe the same object. */
function likeExample(example: Json): Arbitrary {
  const renamed = (value: Json, suffix: string, name = ''): Json => {
    if (typeof value === 'string') return NAMES.test(name) ? `${value}_${suffix}` : value
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map((item) => renamed(item, suffix))
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [key, renamed(member, suffix, key)]),
    )
  }
  return fc.oneof(
    fc.constant(example),
    fc.uuid().map((id) => renamed(example, id.slice(-8))),
  )
}

function ofNumber({ type, minimum, maximum }: TSchema): fc.Arbitrary<number> {
  const usual =
    type === 'number'
      ? fc.double({ min: minimum ?? -1e6, max: maximum ?? 1e6, noNaN: true })
      : integerBetween(minimum ?? -5, maximum ?? 2 ** 31)
  const largest = type === 'number' ? Number.MAX_VALUE : Number.MAX_SAFE_INTEGER
  const bounds = fc.constantFrom<number>(minimum ?? -largest, maximum ?? largest)
  return fc.oneof({ weight: 2, arbitrary: usual }, { weight: 1, arbitrary: bounds })
}

const integerBetween = (min: number, max: number) =>
  fc.oneof(fc.integer({ min, max }), fc.integer({ min, max: Math.min(max, min + 10) }))

/** Numbers at which a type of the database or of the language ends, and beyond it. */
export const EXTREMES: readonly number[] = [
  -0,
  5e-324,
  2 ** 15,
  2 ** 31 - 1,
  2 ** 31,
  -(2 ** 31) - 1,
  2 ** 32,
  8_640_000_000_000_001,
  2 ** 53 - 1,
  2 ** 53,
  -(2 ** 53),
  2 ** 63,
  -(2 ** 63),
  2 ** 64,
  1e22,
  1e308,
  -1e308,
]
const extreme = fc.constantFrom(...EXTREMES)

/** The value with extremes in the place of its numbers, the same one in most. */
function extremesIn(value: Json, stream: Iterator<number>): Json {
  const most = stream.next().value as number
  const replaced = (one: Json): Json => {
    if (typeof one === 'number') {
      const other = stream.next().value as number
      return other > 0 ? most : other
    }
    if (Array.isArray(one)) return one.map(replaced)
    if (typeof one !== 'object' || one === null) return one
    return Object.fromEntries(Object.entries(one).map(([name, member]) => [name, replaced(member)]))
  }
  return replaced(value)
}

const FORMATS: Readonly<Record<string, fc.Arbitrary<string>>> = {
  uuid: fc.uuid(),
  email: fc.emailAddress(),
  'date-time': fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  date: fc.date({ noInvalidDate: true }).map((date) => date.toISOString().slice(0, 10)),
  uri: fc.webUrl(),
}

function ofString({ pattern, format, minLength = 0, maxLength = 40 }: TSchema): fc.Arbitrary<string> {
  if (pattern !== undefined) return matching(pattern)
  if (format !== undefined) return FORMATS[format] ?? weirdText
  const length = { minLength, maxLength: Math.min(maxLength, minLength + 40) }
  return fc.oneof(
    fc.string({ unit: 'grapheme', ...length }),
    fc.string({ unit: 'binary', ...length }),
    weirdText,
    fc.oneof(...Object.values(FORMATS)),
  )
}

/** Among the patterns in use, only those for addresses have a look-ahead. */
function matching(pattern: string): fc.Arbitrary<string> {
  return /\(\?[=!<]/.test(pattern) ? fc.emailAddress() : fc.stringMatching(new RegExp(pattern))
}

/** Texts that break programs: control characters, halves of surrogate pairs, text that looks like code, very long text. */
const weirdText: fc.Arbitrary<string> = fc.constantFrom(
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '\ud800',
  'x\udfff',
  '\ud83e\uddbb\u200d\u2640\ufe0f',
  '\u202e\u0007\u001b[31m',
  'İıßﬁ',
  '\r\nBcc: everyone@example.com',
  '<script>alert(1)</script>',
  "'; drop table organization; --",
  '{{constructor}}#{7*7}%s%n',
  '../../etc/passwd',
  'NaN',
  '1e400',
  '__proto__',
  '0000-00-00T00:00:00Z',
  '9999-12-31T23:59:60+23:59',
  '-271821-04-20T00:00:00.000Z',
  'http://[::1]:1/',
  repeated('(a+)+$', 50),
  repeated('é', 300),
  repeated('\ud83e\uddbb', 1_001),
  repeated('a', 20_001),
  repeated('x', 70_000),
)

const nested = (depth: number, leaf: Json): Json => {
  let value = leaf
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { a: value }
  return value
}

const weird: Arbitrary = fc.oneof(
  weirdText,
  fc.constantFrom<Json[]>(
    null,
    true,
    false,
    0,
    -1,
    -0,
    0.5,
    2 ** 31,
    2 ** 53,
    -(2 ** 53),
    1e308,
    5e-324,
    [],
    {},
    [[]],
    [null],
    { '': '' },
    { toString: 'x', constructor: { prototype: 1 }, hasOwnProperty: null },
    JSON.parse('{"__proto__": {"polluted": true}}'),
    nested(63, 1),
    nested(65, 1),
    nested(500, {}),
    Array.from({ length: 501 }, () => ({})),
  ),
)

const anyJson: Arbitrary = fc.oneof(fc.jsonValue({ maxDepth: 4, stringUnit: 'binary' }), weird)

interface Mutation {
  /** The position among all places of the value, counted from its root. */
  readonly place: number
  readonly kind: 'replace' | 'remove' | 'add' | 'repeat'
  readonly name: string
  readonly value: Json
}

const mutation: fc.Arbitrary<Mutation> = fc.record({
  place: fc.nat(10_000),
  kind: fc.constantFrom('replace', 'replace', 'remove', 'add', 'repeat'),
  name: weirdText,
  value: weird,
})

/** A member or an item: `holder[key]`. */
interface Place {
  readonly holder: Record<string, Json>
  readonly key: string
}

function placesOf(value: Json): readonly Place[] {
  if (typeof value !== 'object' || value === null) return []
  const holder = value as Record<string, Json>
  return Object.keys(holder).flatMap((key) => [{ holder, key }, ...placesOf(holder[key])])
}

function mutate(root: Json, { place, kind, name, value }: Mutation): Json {
  const wrapped = { root }
  const places = placesOf(wrapped)
  const { holder, key } = places[place % places.length]!
  const target = holder[key]
  if (kind === 'remove' && holder !== wrapped) {
    if (Array.isArray(holder)) holder.splice(Number(key), 1)
    else delete holder[key]
  } else if (kind === 'repeat' && Array.isArray(holder)) {
    holder.push(structuredClone(target))
  } else if (kind === 'add' && typeof target === 'object' && target !== null && !Array.isArray(target)) {
    Object.defineProperty(target, name, {
      value: structuredClone(value),
      enumerable: true,
      configurable: true,
      writable: true,
    })
  } else {
    holder[key] = structuredClone(value)
  }
  return wrapped.root
}

/** Turns the text of a valid body into bytes that are not JSON. */
const garbage: fc.Arbitrary<(text: string) => Uint8Array> = fc.oneof(
  fc.uint8Array({ maxLength: 100 }).map((bytes) => () => bytes),
  fc.nat(500).map((length) => (text: string) => encode(text.slice(0, length))),
  fc.nat(500).map((at) => (text: string) => {
    const bytes = encode(text)
    bytes[at % bytes.length] = 0xff
    return bytes
  }),
  fc.constantFrom(
    () => encode(''),
    (text: string) => encode(`\uFEFF${text}`),
    (text: string) => encode(text + text),
    (text: string) => encode(text.replaceAll(/\d+/g, '1e400')),
    (text: string) => encode(text.replaceAll(/:\d+/g, ':9007199254740993')),
    (text: string) => encode(text.replaceAll(/:\d+/g, ':123456789012345678901234567890.5')),
    (text: string) => encode(text.replace('{', '{"__proto__":{"a":1},"a":1,"a":2,')),
    () => encode('['.repeat(50_000)),
    () => encode(`${'['.repeat(20_000)}${']'.repeat(20_000)}`),
    () => encode('{"a":'.repeat(20_000)),
    () => encode('NaN'),
    () => encode(`"${'a'.repeat(2 ** 20)}"`),
  ),
)
