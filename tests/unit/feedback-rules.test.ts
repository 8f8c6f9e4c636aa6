/** Which value a field takes, what a row of a file becomes, and which company is meant. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { FIELD_TYPES, MAX_VALUE_BYTES } from '../../src/hear/feedback/model.ts'
import {
  checkHeader,
  mergeMappings,
  NO_MAPPING,
  parseColumnMap,
  parseMappingFile,
  useOfColumn,
} from '../../src/hear/feedback/row-import/mapping.rules.ts'
import { createJudge } from '../../src/hear/feedback/row-import/row.rules.ts'
import { checkValue, personIdOf, recordDraft } from '../../src/hear/feedback/rules.ts'
import { decideCompany } from '../../src/people/rules.ts'

describe('the value of a field', () => {
  test('property: is accepted as json and as its own JSON type; null is never accepted', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const isShort = Buffer.byteLength(JSON.stringify(value)) <= MAX_VALUE_BYTES
        fc.pre(isShort)
        expect(checkValue('json', value, 'p') === null).toBe(value !== null)
        expect(checkValue('string', value, 'p') === null).toBe(typeof value === 'string')
        expect(checkValue('boolean', value, 'p') === null).toBe(typeof value === 'boolean')
        expect(checkValue('float', value, 'p') === null).toBe(typeof value === 'number')
        expect(checkValue('integer', value, 'p') === null).toBe(Number.isSafeInteger(value))
      }),
    )
    for (const type of FIELD_TYPES) expect(checkValue(type, null, 'p')?.code).toBe('type')
  })

  test('property: a string is measured in bytes of UTF-8', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('a', 'é', '語', '👋', '"', '\u0001'),
        fc.integer({ min: -3, max: 3 }),
        (char, more) => {
          const value = char.repeat(Math.floor(MAX_VALUE_BYTES / Buffer.byteLength(char)) + more)
          const isLong = Buffer.byteLength(value) > MAX_VALUE_BYTES
          expect(checkValue('string', value, 'p')?.code).toBe(isLong ? 'length' : undefined)
        },
      ),
    )
  })

  test.each([
    ['string', 'x'.repeat(10_240), true],
    ['string', 'x'.repeat(10_241), false],
    ['json', 'x'.repeat(10_240), true],
    ['json', { k: 'x'.repeat(10_232) }, true],
    ['json', { k: 'x'.repeat(10_233) }, false],
    ['json', ['"'.repeat(5118)], true],
    ['json', ['"'.repeat(5119)], false],
  ] as const)('of 10 KB at the boundary: %s', (type, value, isAccepted) => {
    expect(checkValue(type, value, 'p') === null).toBe(isAccepted)
  })

  test('is reported field by field, with display_ts', () => {
    const field = (value: unknown) => ({ category: 'content', type: 'integer', name: 'n', value }) as const
    const record = { fields: [field(1), field('1'), field(1.5)], display_ts: 'yesterday' }
    expect(() => recordDraft(record)).toThrow(
      expect.objectContaining({
        code: 'validation_failed',
        details: [
          expect.objectContaining({ path: 'fields[1].value' }),
          expect.objectContaining({ path: 'fields[2].value' }),
          expect.objectContaining({ path: 'display_ts' }),
        ],
      }),
    )
  })

  test('unknown members of a field are not stored', () => {
    const given = { category: 'content', type: 'integer', name: 'n', value: 1 } as const
    expect(recordDraft({ fields: [{ ...given, colour: 'red' } as typeof given] }).fields).toEqual([given])
  })
})

test.each([
  [{ person_id: 7 }, 7],
  [{ person_id: '7' }, null],
  [{ person_id: 0 }, null],
  [{ person_id: 2 ** 53 }, null],
  [{}, null],
  [null, null],
  [[7], null],
])('the person of a body that is not validated yet: %j', (body, id) => {
  expect(personIdOf(body)).toBe(id)
})

describe('the identity of a company', () => {
  const a = { id: 1, name: 'A', domain: null }
  const aX = { id: 2, name: 'A', domain: 'x.example' }
  const aY = { id: 3, name: 'A', domain: 'y.example' }
  test.each([
    [
      'the domain goes before the name',
      [a, aX],
      { name: 'A', domain: 'x.example' },
      { kind: 'known', id: 2 },
    ],
    ['the domain alone is enough', [aX], { name: null, domain: 'x.example' }, { kind: 'known', id: 2 }],
    ['a name without domain is known', [a, aX], { name: 'A', domain: null }, { kind: 'known', id: 1 }],
    ['a name is else the oldest with it', [aX, aY], { name: 'A', domain: null }, { kind: 'known', id: 2 }],
    [
      'a company without domain is given it',
      [a],
      { name: 'A', domain: 'x.example' },
      { kind: 'change', company: { id: 1, name: 'A', domain: 'x.example' } },
    ],
    [
      'another name renames',
      [aX],
      { name: 'B', domain: 'x.example' },
      { kind: 'change', company: { id: 2, name: 'B', domain: 'x.example' } },
    ],
    [
      'another domain is another company',
      [aX],
      { name: 'A', domain: 'z.example' },
      { kind: 'create', company: { name: 'A', domain: 'z.example' } },
    ],
    ['nobody', [], { name: 'A', domain: null }, { kind: 'create', company: { name: 'A', domain: null } }],
  ] as const)('%s', (_, candidates, named, decision) => {
    expect(decideCompany(candidates, named)).toEqual(decision)
  })
})

describe('the mapping of columns', () => {
  test.each([
    ['Comment=content:string:text', ['Comment', { category: 'content', type: 'string', name: 'text' }]],
    [
      'NPS score=metadata:integer',
      ['NPS score', { category: 'metadata', type: 'integer', name: 'nps_score' }],
    ],
    ['Comment=content', ['Comment', { category: 'content', type: null, name: 'comment' }]],
    ['Comment=content::text', ['Comment', { category: 'content', type: null, name: 'text' }]],
    ['a=b=content', ['a=b', { category: 'content', type: null, name: 'a_b' }]],
    ['Internal=-', ['Internal', null]],
  ] as const)('--map %s', (text, expected) => {
    expect(parseColumnMap(text)).toEqual(expected as never)
  })

  test.each([
    ['Comment', 'must be column=category:type:name'],
    ['=content', 'must be column=category:type:name'],
    ['a=text', 'must have a category of content'],
    ['a=content:number', 'must have a type of boolean'],
    ['a=content:string:Big Name', 'must have a name in snake_case'],
    ['a=content:string:b:c', 'must have a name in snake_case'],
    ['?=content', 'cannot become a name in snake_case'],
  ])('--map %s is refused', (text, message) => {
    expect(() => parseColumnMap(text)).toThrow(message)
  })

  test.each([
    ['Réponse (texte)', 'reponse_texte'],
    ['npsScore', 'nps_score'],
    ['  Ticket #', 'ticket'],
    ['2nd_line', '2nd_line'],
  ])('a column that nobody mentions is metadata: %s', (column, name) => {
    expect(useOfColumn(NO_MAPPING, column)).toEqual({ rule: { category: 'metadata', type: null, name } })
  })

  test('external_id, email and display_ts are read from columns of these names by default', () => {
    const roleOf = (mapping: typeof NO_MAPPING, column: string) => useOfColumn(mapping, column)
    expect(roleOf(NO_MAPPING, 'external_id')).toEqual({ role: 'externalId' })
    expect(roleOf(NO_MAPPING, 'email')).toEqual({ role: 'email' })
    expect(roleOf(NO_MAPPING, 'display_ts')).toEqual({ role: 'timestamp' })
    const named = { ...NO_MAPPING, externalId: 'Ticket' }
    expect(roleOf(named, 'Ticket')).toEqual({ role: 'externalId' })
    expect(roleOf(named, 'external_id')).toMatchObject({ rule: { name: 'external_id' } })
  })

  test('is read from a file; the command line takes precedence', () => {
    const file = parseMappingFile({
      external_id: 'Ticket',
      columns: { Comment: 'content:string:text', Internal: '-' },
    })
    const merged = mergeMappings(file, {
      ...NO_MAPPING,
      email: 'Mail',
      columns: new Map([parseColumnMap('Comment=metadata')]),
    })
    expect(merged).toEqual({
      externalId: 'Ticket',
      email: 'Mail',
      timestamp: null,
      columns: new Map([
        ['Comment', { category: 'metadata', type: null, name: 'comment' }],
        ['Internal', null],
      ]),
    })
    expect(() => parseMappingFile({ externalId: 'Ticket' })).toThrow('is not a member')
  })

  test.each(['Comment', 'two\r\nlines', 'one\u2028two'])(
    'gives the column %j a text and nothing else',
    (column) => {
      const refusal = expect.objectContaining({ code: 'validation_failed' })
      expect(() => parseMappingFile({ columns: { [column]: 2147483648 } })).toThrow(refusal)
    },
  )

  test.each([
    [['a', 'a'], {}, '"a": occurs twice'],
    [['a'], { email: 'Mail' }, '"Mail": is not in the file, which has a'],
    [['a'], { columns: new Map([['b', null]]) }, '"b": is not in the file'],
    [['?'], {}, 'cannot become a name in snake_case'],
  ])('must fit the header: %j', (header, mapping, message) => {
    expect(() => checkHeader({ ...NO_MAPPING, ...mapping }, header)).toThrow(message)
  })
})

describe('a row of text', () => {
  const judge = (maps: readonly string[], cells: Record<string, string>) =>
    createJudge({ ...NO_MAPPING, columns: new Map(maps.map(parseColumnMap)) })({
      columns: Object.keys(cells),
      values: Object.values(cells),
      isText: true,
    })

  test.each([
    ['boolean', 'TRUE', true],
    ['boolean', 'no', false],
    ['boolean', '0', false],
    ['integer', ' -7 ', -7],
    ['float', '1.5e3', 1500],
    ['float', '.5', 0.5],
    ['date', ' 2026-01-02 ', '2026-01-02'],
    ['datetime', '2026-01-02T03:04:05Z', '2026-01-02T03:04:05Z'],
    ['json', '{"a":[1]}', { a: [1] }],
    ['string', ' as it is ', ' as it is '],
  ])('is converted to %s: %j', (type, text, value) => {
    expect(judge([`a=metadata:${type}`], { a: text })).toMatchObject({ fields: [{ type, name: 'a', value }] })
  })

  test.each([
    ['boolean', 'maybe', 'column "a": must be of the type boolean'],
    ['boolean', 'constructor', 'column "a": must be of the type boolean'],
    ['integer', '7.0', 'column "a": must be of the type integer'],
    ['integer', '9007199254740993', 'safe integer'],
    ['integer', '0x10', 'must be of the type integer'],
    ['float', '1,5', 'must be of the type float'],
    ['float', 'Infinity', 'must be of the type float'],
    ['float', '1e999', 'finite'],
    ['date', '2026-02-29', 'full-date'],
    ['datetime', '2026-01-02 03:04:05', 'date-time with offset'],
    ['json', '{a:1}', 'must be JSON'],
    ['json', 'null', 'any JSON value but null'],
    ['json', '"\\u0000"', 'must be JSON'],
    ['string', 'a\0', 'must not contain U+0000'],
    ['string', 'x'.repeat(10_241), 'at most 10240 bytes'],
  ])('is refused with its column and reason: %s %j', (type, text, reason) => {
    expect(judge([`a=metadata:${type}`], { a: text })).toContain(reason)
  })

  test('an empty cell is not a field; a row of empty cells has no record', () => {
    expect(judge([], { a: '', b: 'x' })).toMatchObject({ fields: [{ name: 'b' }] })
    expect(judge([], { a: '', b: '' })).toBe('no field has a value')
    expect(judge([], { external_id: 'e1' })).toBe('no field has a value')
  })

  test('has its id, person and time', () => {
    const cells = {
      external_id: 'e1',
      email: ' a@x.example ',
      display_ts: '2026-01-02T01:00:00+01:00',
      a: 'x',
    }
    expect(judge([], cells)).toEqual({
      externalId: 'e1',
      email: 'a@x.example',
      displayTs: '2026-01-02T00:00:00Z',
      fields: [{ category: 'metadata', type: 'string', name: 'a', value: 'x' }],
    })
    expect(judge([], { ...cells, email: 'nobody' })).toBe('column "email": must be an e-mail address')
    expect(judge([], { ...cells, display_ts: '2026' })).toContain(
      'column "display_ts": must be a time such as',
    )
    expect(judge([], { ...cells, external_id: 'x'.repeat(256) })).toContain('1 to 255 characters')
  })

  test('of JSON has the types of JSON', () => {
    const values = { a: 1, b: 1.5, c: true, d: 'x', e: [null], f: null, g: {}, external_id: 7 }
    const record = createJudge(NO_MAPPING)({
      columns: Object.keys(values),
      values: Object.values(values),
      isText: false,
    })
    expect(record).toMatchObject({
      externalId: '7',
      fields: [
        { name: 'a', type: 'integer' },
        { name: 'b', type: 'float' },
        { name: 'c', type: 'boolean' },
        { name: 'd', type: 'string' },
        { name: 'e', type: 'json' },
        { name: 'g', type: 'json' },
      ],
    })
  })

  test('has at most 200 fields', () => {
    const cells = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`f${n}`, 'x']))
    expect(judge([], cells(200))).toMatchObject({ fields: expect.any(Array) })
    expect(judge([], cells(201))).toBe('has more than 200 fields')
  })
})
