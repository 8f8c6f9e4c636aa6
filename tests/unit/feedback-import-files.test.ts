/** CSV files as spreadsheets, help desks and programs write them: the same rows, whatever the line ends, delimiters, headers and times. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { notesOf } from '../../src/hear/feedback/import-jobs/guess.rules.ts'
import { type Head, readHead } from '../../src/hear/feedback/import-jobs/head.ts'
import { NO_MAPPING, parseMappingFile } from '../../src/hear/feedback/row-import/mapping.rules.ts'
import { momentOf } from '../../src/hear/feedback/row-import/moment.rules.ts'
import { readCsv } from '../../src/hear/feedback/row-import/reader.ts'
import { createJudge, type ImportRecord } from '../../src/hear/feedback/row-import/row.rules.ts'

const bytesOf = (text: string) => new TextEncoder().encode(text)

/** In pieces of some bytes, in memory that is used again. */
async function* pieces(text: string, size = 7) {
  const bytes = bytesOf(text)
  const memory = new Uint8Array(size)
  for (let at = 0; at < bytes.length; at += size) {
    const part = bytes.subarray(at, at + size)
    memory.set(part)
    yield memory.subarray(0, part.length)
  }
}

/** The records with the mapping that is suggested, and the reasons of refused rows. */
async function imported(text: string) {
  const head = await readHead(bytesOf(text), true, null)
  const judge = createJudge(parseMappingFile(head.suggestion))
  const { rows } = await readCsv(pieces(text), head.delimiter)
  const out: (ImportRecord | string)[] = []
  const lines: number[] = []
  for await (const { line, content } of rows) {
    out.push('refused' in content ? content.refused : judge(content))
    lines.push(line)
  }
  return { head, records: out, lines }
}

/** The notes about times, of a mapping that names nothing. */
const timesOf = ({ header, suggestion }: Head) =>
  notesOf(header, suggestion, NO_MAPPING).flatMap(({ about, text }) => (about === 'timestamp' ? [text] : []))

const commentsOf = (records: readonly (ImportRecord | string)[]) =>
  records.map((one) =>
    typeof one === 'string' ? one : one.fields.find(({ category }) => category === 'content')?.value,
  )

const ROWS = [
  ['1', 'ada@example.com', 'The export is slow today'],
  ['2', 'bob@example.com', 'The import is quick today'],
]
const table = (
  header: readonly string[],
  rows: readonly (readonly string[])[],
  delimiter: string,
  end: string,
) => [header, ...rows].map((row) => row.join(delimiter)).join(end) + end

describe.each(['\n', '\r\n', '\r'])('lines that end with %j', (end) => {
  test.each([',', ';', '\t', '|'])('and cells with %j between them', async (delimiter) => {
    const file = table(['Ticket', 'Requester', 'Comment'], ROWS, delimiter, end)
    const { records, lines } = await imported(file)
    expect(commentsOf(records)).toEqual(['The export is slow today', 'The import is quick today'])
    expect(records[0]).toMatchObject({ externalId: '1', email: 'ada@example.com' })
    expect(lines).toEqual([2, 3])
  })

  test('behind a byte order mark and a line that names the delimiter', async () => {
    const file = `\ufeffsep=;${end}${table(['Ticket', 'Requester', 'Comment'], ROWS, ';', end)}`
    const { head, records, lines } = await imported(file)
    expect(head.header).toEqual(['Ticket', 'Requester', 'Comment'])
    expect(commentsOf(records)).toHaveLength(2)
    expect(lines).toEqual([3, 4])
  })

  test.each(['"sep=,"', 'sep=,', '"sep=,",,', 'sep=,,,', 'SEP=,', '\ufeff"sep=,"'])(
    'behind a byte order mark and %j',
    async (line) => {
      const file = `\ufeff${line}${end}${table(['Ticket', 'Requester', 'Comment'], ROWS, ',', end)}`
      const { head, records, lines } = await imported(file)
      expect(head.header).toEqual(['Ticket', 'Requester', 'Comment'])
      expect(commentsOf(records)).toHaveLength(2)
      expect(lines).toEqual([3, 4])
    },
  )

  test('blank rows are neither rows nor refusals', async () => {
    const file = table(
      ['Ticket', 'Requester', 'Comment'],
      [ROWS[0]!, ['', '', ''], [' ', ''], ROWS[1]!, [''], [',,']],
      ',',
      end,
    )
    const { records } = await imported(file)
    expect(commentsOf(records)).toEqual(['The export is slow today', 'The import is quick today'])
  })
})

test('a carriage return within a cell of a file with other line ends stays', async () => {
  const { records } = await imported('Ticket,Comment\n1,The export\ris slow today\n')
  expect(commentsOf(records)).toEqual(['The export\ris slow today'])
})

test('columns without a name get one', async () => {
  const index = await imported(
    table(['', 'Ticket', 'Comment'], [['0', '7', 'The export is slow today']], ',', '\n'),
  )
  expect(index.head.header).toEqual(['column_1', 'Ticket', 'Comment'])
  expect(index.records[0]).toMatchObject({ externalId: '7' })
  const ends = await imported(
    table(['Ticket', 'Comment', '', 'column_3', ''], [['7', 'Slow', '', 'x', '']], ',', '\n'),
  )
  expect(ends.head.header).toEqual(['Ticket', 'Comment', 'column_3_', 'column_3', 'column_5'])
  expect(ends.records[0]).toMatchObject({ fields: [{ name: 'comment' }, { name: 'column_3', value: 'x' }] })
})

test.each([
  ['Russian', ['Номер', 'Почта', 'Комментарий'], 'Экспорт очень медленный сегодня', 'kommentariy'],
  ['Japanese', ['番号', 'メール', 'コメント'], 'エクスポートが遅いです', 'komento'],
  ['Greek', ['id', 'Διεύθυνση', 'Σχόλιο'], 'Η εξαγωγή είναι πολύ αργή', 'scholio'],
])('a header in %s is imported as it is', async (_, header, said, name) => {
  const { records } = await imported(table(header, [['1', 'ada@example.com', said]], ',', '\n'))
  expect(records).toEqual([
    {
      externalId: '1',
      email: 'ada@example.com',
      displayTs: null,
      fields: [{ category: 'content', type: 'string', name, value: said }],
    },
  ])
})

describe('times', () => {
  test.each([
    ['2026-01-02T09:00:00.000+0000', '2026-01-02T09:00:00Z'],
    ['2026-01-02T09:00:00.5+01', '2026-01-02T08:00:00.5Z'],
    ['2026-01-02 09:00:00', '2026-01-02T09:00:00Z'],
    ['2026-03-29 02:30', '2026-03-29T02:30:00Z'],
    ['2026-01-02 09:00:00 UTC', '2026-01-02T09:00:00Z'],
    ['2026-01-03 09:00:00 +0100', '2026-01-03T08:00:00Z'],
    ['02.01.2026 09:00', '2026-01-02T09:00:00Z'],
    ['13.1.2026, 9:05:07', '2026-01-13T09:05:07Z'],
    ['2026-01-02', '2026-01-02T00:00:00Z'],
    ['13.01.2026', '2026-01-13T00:00:00Z'],
    ['45292.375', '2024-01-01T09:00:00Z'],
    ['45293,5', '2024-01-02T12:00:00Z'],
    ['2026年1月5日', '2026-01-05T00:00:00Z'],
    ['2026年01月05日 13:05', '2026-01-05T13:05:00Z'],
    ['2026年1月5日(月) 13時05分07秒', '2026-01-05T13:05:07Z'],
    ['２０２６年１月５日　１３：０５', '2026-01-05T13:05:00Z'],
    ['2026年1月5日 星期一 下午1:05', '2026-01-05T13:05:00Z'],
    ['2026年1月5日 午前12時5分', '2026-01-05T00:05:00Z'],
    ['2026年1月5号 9点', '2026-01-05T09:00:00Z'],
    ['令和8年1月5日', '2026-01-05T00:00:00Z'],
    ['令和元年5月1日', '2019-05-01T00:00:00Z'],
    ['民國115年1月5日', '2026-01-05T00:00:00Z'],
    ['2026년 1월 5일 월요일 오후 1:05', '2026-01-05T13:05:00Z'],
    ['2026년 1월 5일 오전 11시 5분'.normalize('NFD'), '2026-01-05T11:05:00Z'],
    ['2026. 1. 5. 오후 1:05:07', '2026-01-05T13:05:07Z'],
    ['2026.01.05', '2026-01-05T00:00:00Z'],
    ['2026/1/5 9:05', '2026-01-05T09:05:00Z'],
    ['2026/01/05', '2026-01-05T00:00:00Z'],
    ['٢٠٢٦-٠١-٠٥ ٠٩:٠٥', '2026-01-05T09:05:00Z'],
    ['२०२६-०१-०५', '2026-01-05T00:00:00Z'],
    ['2026年2月30日', null],
    ['2026年13月1日', null],
    ['2026年1月5日 25時', null],
    ['2026年1月5日 下午13:05', null],
    ['2026年1月5日ごろ', null],
    ['115年1月5日', null],
    ['1404/10/15', null],
    ['01/02/2026', null],
    ['2026-02-30', null],
    ['31.04.2026 09:00', null],
    ['yesterday', null],
    ['12', null],
    ['1767344400', null],
    ['', null],
  ])('%s is %p', (text, moment) => expect(momentOf(text)).toBe(moment))

  test('a moment is read the same in every notation', () => {
    const moment = fc.date({ min: new Date('1960-01-01'), max: new Date('2100-01-01'), noInvalidDate: true })
    fc.assert(
      fc.property(moment, (date) => {
        const iso = `${date.toISOString().slice(0, 19)}Z`
        const [day, time] = [iso.slice(0, 10), iso.slice(11, 19)]
        const dotted = day.split('-').toReversed().join('.')
        for (const text of [
          iso,
          `${day} ${time}`,
          `${day}T${time}.000+0000`,
          `${day} ${time} UTC`,
          `${dotted} ${time}`,
        ])
          expect(momentOf(text)).toBe(iso)
        const serial = String((Date.parse(iso) - Date.UTC(1899, 11, 30)) / 86_400_000)
        expect(momentOf(serial.slice(0, 17))).toBe(iso)
      }),
    )
  })

  test.each([
    '2026-01-02 09:00:00',
    '2026-01-02T09:00:00.000+0000',
    '02.01.2026 09:00',
    '2026-01-02',
    '45292.375',
  ])('a column of %s is suggested as the time and used', async (text) => {
    const { head, records } = await imported(
      table(['Ticket', 'Created', 'Comment'], [['1', text, 'It is slow']], ',', '\n'),
    )
    expect(head.suggestion.timestamp).toBe('Created')
    expect(records[0]).toMatchObject({ displayTs: momentOf(text) })
  })

  test('that are not used are said', async () => {
    const { head } = await imported(
      table(['Ticket', 'Created', 'Comment'], [['1', '2026-01-02 09:00', 'Slow']], ',', '\n'),
    )
    expect(notesOf(head.header, head.suggestion, parseMappingFile(head.suggestion))).toEqual([])
    expect(timesOf(head)).toEqual([expect.stringContaining('"Created" looks like the time')])
  })

  test.each([
    ['日付', '2026年1月5日'],
    ['回答日', '2026年1月5日'],
    ['登録', '2026年1月5日'],
    ['x', '2026年1月5日 13時05分'],
    ['日期', '2026/1/5'],
    ['提交时间', '2026年1月5日 下午1:05'],
    ['날짜', '2026년 1월 5일'],
    ['날짜'.normalize('NFD'), '2026. 1. 5.'],
    ['등록일', '2026.01.05'],
    ['Дата', '05.01.2026'],
    ['Ημερομηνία', '5.1.2026'],
    ['تاريخ', '٢٠٢٦-٠١-٠٥'],
    ['תאריך', '2026-01-05'],
    ['दिनांक', '२०२६-०१-०५'],
    ['วันที่', '2026-01-05'],
  ])('a column %s of %s is suggested, and said if it is not used', async (name, text) => {
    const { head, records } = await imported(
      table(['番号', name, 'コメント'], [['1', text, 'エクスポートが遅いです']], ',', '\n'),
    )
    expect(head.suggestion.timestamp).toBe(name)
    expect(records[0]).toMatchObject({ displayTs: momentOf(text) })
    expect(notesOf(head.header, head.suggestion, parseMappingFile(head.suggestion))).toEqual([])
    expect(timesOf(head)).toEqual([expect.stringContaining(`${JSON.stringify(name)} looks like the time`)])
  })

  test.each([
    ['Created', '01/02/2026'],
    ['Submitted on', '2 Jan'],
    ['Дата создания', '5 января 2026 г.'],
    ['受付日時', '先週の月曜日'],
    ['วันที่', '5 มกราคม 2569'],
    ['تاريخ الإنشاء', '1447/07/16'],
  ])('a column %s whose times are not understood, such as %s, is said as well', async (name, text) => {
    const { head } = await imported(table(['id', name, 'Comment'], [['1', text, 'It is slow']], ',', '\n'))
    expect(head.suggestion.timestamp).toBeUndefined()
    expect(timesOf(head)).toEqual([expect.stringContaining(`${JSON.stringify(name)} looks like the time`)])
  })

  test.each([
    ['生年月日', '1990年1月5日'],
    ['생년월일', '1990년 1월 5일'],
    ['Date of birth', '1990-01-05'],
    ['Sent by', 'Ann'],
  ])('a column %s of %s is no time', async (name, text) => {
    const { head } = await imported(table(['id', name, 'Comment'], [['1', text, 'It is slow']], ',', '\n'))
    expect(head.suggestion.timestamp).toBeUndefined()
    expect(timesOf(head)).toEqual([])
  })

  test('a number or a day in another column is none', async () => {
    const { head } = await imported(
      table(['Ticket', 'Postcode', 'Comment'], [['1', '45292', 'It is slow']], ',', '\n'),
    )
    expect(head.suggestion).toMatchObject({ columns: { Postcode: 'metadata:integer' } })
    expect(head.suggestion.timestamp).toBeUndefined()
  })
})

describe('what the customer said', () => {
  const TICKETS = table(['Ticket', 'Comment'], [['1', 'It is slow']], ',', '\n')

  test('is said to be missing if a mapping reads no column so', async () => {
    const { head } = await imported(TICKETS)
    expect(notesOf(head.header, head.suggestion, parseMappingFile(head.suggestion))).toEqual([])
    expect(notesOf(head.header, head.suggestion, NO_MAPPING)).toEqual([
      {
        about: 'content',
        column: 'Comment',
        text: 'No column is read as what the customer said, so the records are not analysed. The column "Comment" looks like it.',
      },
    ])
  })

  test('is missing also where no column looks like it, and where there is no header', () => {
    const notes = [expect.objectContaining({ about: 'content', column: null })]
    expect(notesOf(['Score'], { columns: { Score: 'metadata:integer' } }, NO_MAPPING)).toEqual(notes)
    expect(notesOf([], {}, NO_MAPPING)).toEqual(notes)
  })
})

describe('addresses', () => {
  const people = (values: readonly string[], name: string) =>
    table(
      ['external_id', name, 'comment'],
      values.map((value, index) => [`${index + 1}`, value, 'It is slow']),
      ',',
      '\n',
    )
  const address = (index: number) => `ada${index}@example.com`
  const nine = Array.from({ length: 9 }, (_, index) => address(index))

  test.each([
    ['email', [address(1), address(2), 'none']],
    ['E-Mail-Adresse', [address(1), 'none', '']],
    ['Requester', [...nine, 'none', '']],
  ])(
    'in a column %s link persons although a value is none, which refuses its row alone',
    async (name, values) => {
      const { head, records } = await imported(people(values, name))
      expect(head.suggestion.email).toBe(name)
      expect(records.map((one) => (typeof one === 'string' ? one : one.email))).toEqual(
        values.map((value) =>
          value === 'none' ? `column ${JSON.stringify(name)}: must be an e-mail address` : value || null,
        ),
      )
    },
  )

  test('in most values of another column do not', async () => {
    const { head } = await imported(people([...nine.slice(1), 'none'], 'Requester'))
    expect(head.suggestion.email).toBeUndefined()
  })

  test('in a column that has all of them come first', async () => {
    const rows = [...nine, 'none'].map((value, index) => [`${index}`, value, address(index)])
    const { head } = await imported(table(['id', 'email', 'Requester'], rows, ',', '\n'))
    expect(head.suggestion.email).toBe('Requester')
  })

  test('that are too few are said, and every row is stored', async () => {
    const { head, records } = await imported(people([address(1), 'none', 'nobody'], 'email'))
    expect(records.filter((one) => typeof one === 'string')).toEqual([])
    expect(notesOf(head.header, head.suggestion, parseMappingFile(head.suggestion))).toEqual([
      {
        about: 'email',
        column: 'email',
        text: 'The column "email" looks like the address of the person, but is not used as such: the records are linked to no person.',
      },
    ])
  })
})

test.each([
  ['a mark', '\ufeffid,text\n'],
  ['no mark', 'id,text\n'],
])('UTF-16 with %s is refused by its name', async (_, text) => {
  const file = Buffer.from(text, 'utf16le')
  for (const bytes of [file, Buffer.from(file).swap16()])
    expect(await readHead(bytes, true, null).catch((error: Error) => error.message)).toBe(
      'The file is UTF-16: save it as UTF-8.',
    )
})
