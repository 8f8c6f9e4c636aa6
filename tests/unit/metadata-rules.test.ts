/** Typed values of metadata: what each of the seven types takes, and how wrong values are reported. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { FIELD_TYPES, type FieldType, type Source } from '../../src/calls/metadata/model.ts'
import { accepts, checkValues, mayChangeFields, mayRename } from '../../src/calls/metadata/rules.ts'
import { nameOf } from '../../src/platform/validation/names.ts'

const MAX = Number.MAX_SAFE_INTEGER

/** Beside `null`, which every type takes, and `json`, which takes everything. */
const TABLE: Record<Exclude<FieldType, 'json'>, { yes: readonly unknown[]; no: readonly unknown[] }> = {
  string: { yes: ['', ' ', 'text', 'true', '7', '😀'], no: [true, 0, [], {}, ['text']] },
  boolean: { yes: [true, false], no: ['true', 'false', '', 0, 1, [], {}] },
  integer: {
    yes: [0, -0, 1, -1, 1.0, 1e3, MAX, -MAX],
    no: [0.5, -1.5, MAX + 1, -MAX - 1, 1e300, Number.NaN, Number.POSITIVE_INFINITY, '1', true, [1], {}],
  },
  float: {
    yes: [0, -0, 1, 0.1, -2.5, MAX + 1, 1e308, 5e-324, -1e-7],
    no: [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, '0.1', true, [0.1], {}],
  },
  date: {
    yes: ['2026-01-02', '2024-02-29', '2000-02-29', '0001-01-01', '9999-12-31'],
    no: [
      '2026-02-29', // not a leap year
      '1900-02-29', // not a leap year either
      '2026-02-30',
      '2026-04-31',
      '2026-13-01',
      '2026-00-10',
      '2026-01-00',
      '0000-01-01',
      '2026-1-2',
      '20260102',
      '2026-01-02T00:00:00Z',
      ' 2026-01-02',
      '2026-01-02\n',
      '02.01.2026',
      'today',
      '',
      20260102,
      true,
      {},
    ],
  },
  datetime: {
    yes: [
      '2026-01-02T03:04:05Z',
      '2026-01-02T03:04:05.678Z',
      '2026-01-02T03:04:05+01:00',
      '2026-01-02T03:04:05.123456-12:30',
      '2024-02-29T23:59:59Z',
      '2026-01-02t03:04:05z',
    ],
    no: [
      '2026-01-02T03:04:05', // no offset
      '2026-01-02 03:04:05Z',
      '2026-01-02T03:04Z',
      '2026-02-29T00:00:00Z',
      '2026-01-02T24:00:00Z',
      '2026-01-02T03:60:00Z',
      '2026-01-02T03:04:05+25:00',
      '2026-01-02T03:04:05+0100',
      '2026-01-02',
      'now',
      '',
      1767323045,
      false,
      [],
    ],
  },
}

describe('accepts', () => {
  for (const [type, { yes, no }] of Object.entries(TABLE) as [FieldType, (typeof TABLE)['string']][]) {
    test.each(yes.map((value) => [value]))(`${type} takes %j`, (value) => {
      expect(accepts(type, value)).toBe(true)
    })
    test.each(no.map((value) => [value]))(`${type} refuses %j`, (value) => {
      expect(accepts(type, value)).toBe(false)
    })
  }

  test.each(FIELD_TYPES.map((type) => [type]))('%s accepts null', (type) => {
    expect(accepts(type, null)).toBe(true)
  })

  test('json accepts any JSON value', () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => accepts('json', value)))
  })

  test('a JSON value fits at most one of boolean, number and text, and is never converted', () => {
    fc.assert(
      fc.property(
        fc.jsonValue().filter((value) => value !== null),
        (value) => {
          const kind = typeof value
          expect(accepts('string', value)).toBe(kind === 'string')
          expect(accepts('boolean', value)).toBe(kind === 'boolean')
          expect(accepts('float', value)).toBe(kind === 'number')
          expect(accepts('integer', value)).toBe(kind === 'number' && Number.isSafeInteger(value))
          if (kind !== 'string') expect(accepts('date', value) || accepts('datetime', value)).toBe(false)
        },
      ),
    )
  })

  test('every calendar day is a date, and a date-time at any offset', () => {
    const day = fc.date({
      min: new Date('0002-01-01T00:00:00Z'),
      max: new Date('9998-12-31T00:00:00Z'),
      noInvalidDate: true,
    })
    const two = (value: number) => String(value).padStart(2, '0')
    fc.assert(
      fc.property(day, fc.integer({ min: -1439, max: 1439 }), (date, offset) => {
        const iso = date.toISOString()
        const [hours, minutes] = [Math.trunc(Math.abs(offset) / 60), Math.abs(offset) % 60]
        const zone = `${offset < 0 ? '-' : '+'}${two(hours)}:${two(minutes)}`
        expect(accepts('date', iso.slice(0, 10))).toBe(true)
        expect(accepts('datetime', iso.replace('Z', zone))).toBe(true)
        expect(accepts('datetime', iso.slice(0, -1))).toBe(false)
      }),
    )
  })
})

describe('checkValues', () => {
  const [text, count] = ['0197f3a5-7c1e-7d3b-9f52-000000000001', '0197f3a5-7c1e-7d3b-9f52-00000000000a']
  const types = new Map<string, FieldType>([
    [text, 'string'],
    [count, 'integer'],
  ])
  const findings = (...values: [string, unknown][]) =>
    checkValues(
      values.map(([fieldId, value]) => ({ fieldId, value })),
      types,
    ).map(({ path, code }) => [path, code])

  test('finds nothing if every value has its type', () => {
    expect(findings()).toEqual([])
    expect(findings([text, 'a'], [count, null])).toEqual([])
    expect(findings([count.toUpperCase(), 1])).toEqual([])
  })

  test('names a value of the wrong type', () => {
    expect(findings([text, 'a'], [count, '1'])).toEqual([
      ['record.values[1].value', 'metadata_value_type_mismatch'],
    ])
  })

  test('names a field outside the canonical source', () => {
    expect(findings(['0197f3a5-7c1e-7d3b-9f52-000000000003', 1])).toEqual([
      ['record.values[0].fieldId', 'metadata_field_not_canonical'],
    ])
  })

  test('names the second value of a field, ignoring the case of its id', () => {
    expect(findings([count, 1], [text, 'a'], [count.toUpperCase(), 1])).toEqual([
      ['record.values[2].fieldId', 'metadata_field_duplicate'],
    ])
  })

  test('has one finding for each wrong value, in order', () => {
    expect(findings([text, 1], ['nothing', 1], [text, 1])).toEqual([
      ['record.values[0].value', 'metadata_value_type_mismatch'],
      ['record.values[1].fieldId', 'metadata_field_not_canonical'],
      ['record.values[2].fieldId', 'metadata_field_duplicate'],
    ])
  })

  test('explains what the type accepts', () => {
    const [finding] = checkValues([{ fieldId: count, value: 'x' }], types)
    expect(finding?.message).toBe(
      'must be a JSON number that is a safe integer, or null: the field has the type integer',
    )
  })
})

describe('who may change a source', () => {
  const source = (type: string, managedBy: Source['managedBy']) => ({ type, managedBy }) as Source
  test.each([
    [source('api', 'customer'), true, true],
    [source('api', 'service'), false, true],
    [source('api', 'integration'), false, false],
    [source('salesforce', 'integration'), false, false],
  ])('%j: rename %p, fields %p', (one, rename, fields) => {
    expect([mayRename(one), mayChangeFields(one)]).toEqual([rename, fields])
  })
})

describe('nameOf', () => {
  test('gives every name of 1 to 255 code points trimmed, and refuses all others', () => {
    const text = fc.string({ unit: 'binary', maxLength: 300 })
    fc.assert(
      fc.property(text, (given) => {
        const length = Array.from(given.trim()).length
        if (length >= 1 && length <= 255) expect(nameOf('name', given)).toBe(given.trim())
        else expect(() => nameOf('name', given)).toThrow('name: must have 1 to 255 characters after trimming')
      }),
    )
  })
})
