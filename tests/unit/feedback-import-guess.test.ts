/** What the import guesses from the header and the first rows of a CSV file, and how it writes refused rows. */
import { describe, expect, test } from 'bun:test'
import { guessMapping } from '../../src/hear/feedback/import-jobs/guess.rules.ts'
import { HEAD_BYTES, readHead } from '../../src/hear/feedback/import-jobs/head.ts'
import { refusedHeader, refusedLine } from '../../src/hear/feedback/import-jobs/refused.rules.ts'
import { guessDelimiter } from '../../src/hear/feedback/row-import/dialect.rules.ts'
import { checkHeader, parseMappingFile } from '../../src/hear/feedback/row-import/mapping.rules.ts'
import { readCsv } from '../../src/hear/feedback/row-import/reader.ts'
import { createJudge } from '../../src/hear/feedback/row-import/row.rules.ts'

test.each([
  ['a,b;c,d', ','],
  ['a;b;c', ';'],
  ['a\tb\tc', '\t'],
  ['a|b', '|'],
  ['"a,b,c";d\n1,2,3,4', ';'],
  ['one', ','],
  ['', ','],
])('the delimiter of %j is %j', (header, delimiter) => expect(guessDelimiter(header)).toBe(delimiter))

describe('the mapping', () => {
  test('is guessed from names and values', () => {
    const header = [
      'Ticket ID',
      'Requester',
      'Created',
      'Comment',
      'Score',
      'ZIP',
      'Paid',
      'Day',
      'Rate',
      'Notes',
    ]
    const rows = [
      ['1', 'ada@example.com', '2026-01-02T03:04:05Z', 'Slow', '7', '04103', 'yes', '2026-01-02', '1.5', ''],
      [
        '2',
        '',
        '2026-01-03T03:04:05+01:00',
        'Good',
        '',
        '10115',
        'no',
        '2026-01-03',
        '2',
        'The customer asked for it twice',
      ],
    ]
    expect(guessMapping(header, rows)).toEqual({
      external_id: 'Ticket ID',
      email: 'Requester',
      timestamp: 'Created',
      columns: {
        Comment: 'content:string',
        Score: 'metadata:integer',
        ZIP: 'metadata:string',
        Paid: 'metadata:boolean',
        Day: 'metadata:date',
        Rate: 'metadata:float',
        Notes: 'content:string',
      },
    })
  })

  test('has no external id if its values repeat, and leaves out columns without a name and of refused rows', () => {
    const rows = [
      ['7', 'x', '1', 'why'],
      ['7', 'y', '2', 'why'],
    ]
    expect(guessMapping(['id', ' ', 'import_line', 'import_reason'], rows)).toEqual({
      columns: { id: 'metadata:integer', ' ': '-', import_line: '-', import_reason: '-' },
    })
  })

  test('is one that the import takes, and the rows that it was guessed from are accepted', async () => {
    const csv = 'Réponse;E-Mail;Datum;Text\n1;a@x.example;2026-01-02T03:04:05Z;"Zu langsam; immer"\n2;;;Gut\n'
    const head = await readHead(Buffer.from(csv), true, null)
    const mapping = parseMappingFile(head.suggestion)
    checkHeader(mapping, head.header)
    const judge = createJudge(mapping)
    const judged = head.sample.map(({ values }) =>
      judge({ columns: head.header, values: values ?? [], isText: true }),
    )
    expect(judged).toMatchObject([{ email: 'a@x.example' }, { email: null }])
  })
})

describe('the head of a file', () => {
  const read = (text: string, isWhole = true) => readHead(Buffer.from(text), isWhole, null)

  test('has the first 20 rows, with those that cannot be read', async () => {
    const { sample } = await read(`a,b\n1,2\n3\n4,\0\n${'5,6\n'.repeat(30)}`)
    expect(sample).toHaveLength(20)
    expect(sample.slice(0, 3)).toEqual([
      { line: 2, values: ['1', '2'], refused: null },
      { line: 3, values: ['3'], refused: 'has 1 columns, but the header has 2' },
      { line: 4, values: null, refused: 'must not contain U+0000' },
    ])
  })

  test('leaves out a row that is cut off by the end of the head', async () => {
    expect((await read('a,b\n1,2\n3,"4', false)).sample).toEqual([
      { line: 2, values: ['1', '2'], refused: null },
    ])
    expect((await read('a,b\n1,2\n3,4', true)).sample).toHaveLength(2)
  })

  test('keeps only so many characters of the first rows', async () => {
    const { sample } = await read(`a\n${`${'x'.repeat(60_000)}\n`.repeat(10)}`)
    expect(sample).toHaveLength(1)
    expect(HEAD_BYTES).toBeGreaterThan(60_000 * 10)
  })

  test('keeps only so many cells of the first rows', async () => {
    const row = Array.from({ length: 200 }, (_, index) => `c${index}`).join(',')
    expect((await read(`${`${row}\n`.repeat(21)}`)).sample.length).toBeLessThan(10)
  })

  test.each([
    ['is empty', ''],
    ['has too many columns', 'a,'.repeat(1_001)],
    ['has a header with U+0000', 'a\0,b\n1,2'],
  ])('is refused if it %s', async (_, text) => {
    expect(
      await read(text).then(
        () => 'read',
        ({ code }) => code,
      ),
    ).toBe('validation_failed')
  })
})

test('refused rows are CSV that can be imported again', () => {
  expect(refusedHeader(['a', 'b "c"'])).toBe('import_line,import_reason,a,"b ""c"""\r\n')
  expect(refusedLine({ line: 3, reason: 'column "a": no', cells: ['x,y', 'two\nlines'] })).toBe(
    '3,"column ""a"": no","x,y","two\nlines"\r\n',
  )
  expect(refusedLine({ line: 4, reason: 'is not UTF-8', cells: null })).toBe('4,is not UTF-8\r\n')
})

describe('a refused cell', () => {
  const CELLS = [
    '=1+1',
    '+1',
    '-2',
    '@SUM(A1)',
    '\t=x',
    '\r=x',
    "'=x",
    "''-2",
    "'quoted'",
    "it's",
    '',
    ' =x',
    'a=b',
  ]
  const read = async (csv: string) => {
    const { header, rows } = await readCsv(new Blob([csv]).stream(), ',')
    const [row] = await Array.fromAsync(rows)
    return { header, values: row?.content.values }
  }
  const header = CELLS.map((_, index) => (index === 0 ? '=name' : `c${index}`))

  test('is no formula', async () => {
    const parsed = await read(`x\r\n${refusedLine({ line: 2, reason: '=reason', cells: CELLS })}`)
    expect(parsed.values?.filter((cell) => /^[=+\-@\t\r]/.test(String(cell)))).toEqual([])
    expect(refusedHeader(header)).toContain(",'=name,")
  })

  test('is imported again as it was, also if it is refused twice', async () => {
    let [names, cells]: [readonly string[], readonly string[]] = [header, CELLS]
    for (let times = 1; times <= 2; times++) {
      const again = await read(refusedHeader(names) + refusedLine({ line: 2, reason: 'no', cells }))
      ;[names, cells] = [again.header ?? [], again.values as readonly string[]]
      expect(names.slice(2 * times)).toEqual(header)
      expect(cells.slice(2 * times)).toEqual(CELLS)
    }
  })

  test('of another file keeps its apostrophe', async () => {
    expect((await read("a,b\n'=x,'-2\n")).values).toEqual(["'=x", "'-2"])
  })
})
