/** `earshot feedback import` as a program: files in, records stored, refused rows reported. */

import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { runCommand } from '../support/command-line.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { EARSHOT } from '../support/executable.ts'

/** Imports are processes of their own, but for those that are refused. */
setDefaultTimeout(120_000)

const ROOT = resolve(import.meta.dir, '../..')
let database: TestDatabase
let folder: string
let sourceId: number

beforeAll(async () => {
  database = await createTestDatabase()
  folder = mkdtempSync(join(tmpdir(), 'earshot-import-'))
  await run('org', 'create', 'only')
})
afterAll(async () => {
  await database?.drop()
  rmSync(folder, { recursive: true, force: true })
})
beforeEach(async () => {
  await database.sql`delete from feedback_source`
  await database.sql`delete from person`
  sourceId = (await runHere('feedback', 'source-create', 'Help desk')).json.id
})

const environment = () => ({
  PATH: process.env.PATH ?? '',
  DATA_DIR: folder,
  DATABASE_URL: database.url,
})

const start = (...args: readonly string[]) => spawn(...args, '--json')

function spawn(...args: readonly string[]) {
  return Bun.spawn([...EARSHOT, ...args], {
    cwd: ROOT,
    env: environment(),
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
}

async function run(...args: readonly string[]) {
  const child = start(...args)
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { code, err, json: JSON.parse(out) }
}

async function runHere(...args: readonly string[]) {
  const { code, out, err } = await runCommand([...args, '--json'], environment())
  return { code, err, json: JSON.parse(out) }
}

function file(name: string, content: string | Uint8Array): string {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

const importFile = (path: string, ...flags: readonly string[]) =>
  run('feedback', 'import', path, '--source', 'Help desk', ...flags)

const stored = () => database.sql`
  select r.external_id as "externalId", r.display_ts as "displayTs", p.email, r.fields
  from feedback_record r
  left join person p on p.id = r.person_id
  where r.feedback_source_id = ${sourceId}
  order by r.id`

const valuesOf = async (name: string) =>
  (await stored()).map(({ fields }) => fields.find((field: { name: string }) => field.name === name)?.value)

describe('CSV', () => {
  test('header names become metadata strings; id, person and time columns are found by name', async () => {
    const path = file(
      'plain.csv',
      'external_id,email,display_ts,Comment\ne1,Ann@x.example,2026-01-02T03:04:05Z,quick\ne2,,,slow\n',
    )
    const { code, json, err } = await importFile(path)
    expect(code).toBe(0)
    expect(err).toContain('The column "Comment" looks like it. --map \'Comment=content\' reads it so.')
    expect(json).toMatchObject({
      feedbackSourceId: sourceId,
      rows: 2,
      imported: 2,
      duplicates: 0,
      refused: 0,
    })
    const field = { category: 'metadata', type: 'string', name: 'comment' }
    expect([...(await stored())]).toEqual([
      {
        externalId: 'e1',
        displayTs: new Date('2026-01-02T03:04:05Z'),
        email: 'Ann@x.example',
        fields: [{ ...field, value: 'quick' }],
      },
      { externalId: 'e2', displayTs: expect.any(Date), email: null, fields: [{ ...field, value: 'slow' }] },
    ])
  })

  test('RFC 4180: quotes, commas, line breaks and quotes in cells, both line ends, a byte order mark', async () => {
    const path = file('quoted.csv', '\ufeffcomment,b\r\n"a ""b"", c\nd",1\r\n\r\nplain "x",2\nlast,3')
    expect((await importFile(path)).json).toMatchObject({ rows: 3, imported: 3 })
    expect(await valuesOf('comment')).toEqual(['a "b", c\nd', 'plain "x"', 'last'])
  })

  test('another delimiter', async () => {
    const path = file('semicolon.csv', 'comment;b\n"1;2";3\n')
    expect((await importFile(path, '--delimiter', ';')).json.imported).toBe(1)
    expect(await valuesOf('comment')).toEqual(['1;2'])
  })

  test('--map gives columns their fields, or leaves them out', async () => {
    const path = file(
      'mapped.csv',
      'Ticket,Mail,When,Text,Score,Secret\nT1,a@x.example,2026-01-02T00:00:00Z,t,7,s\n',
    )
    const flags = ['--external-id', 'Ticket', '--email', 'Mail', '--timestamp', 'When']
    const maps = ['Text=content:string:comment', 'Score=metadata:integer', 'Secret=-'].flatMap((map) => [
      '--map',
      map,
    ])
    expect((await importFile(path, ...flags, ...maps)).json.imported).toBe(1)
    expect((await stored())[0]).toMatchObject({
      externalId: 'T1',
      email: 'a@x.example',
      fields: [
        { category: 'content', type: 'string', name: 'comment', value: 't' },
        { category: 'metadata', type: 'integer', name: 'score', value: 7 },
      ],
    })
  })

  test('--mapping reads the same from a JSON file', async () => {
    const mapping = { external_id: 'Ticket', columns: { Text: 'content:string:comment' } }
    const path = file('by-file.csv', 'Ticket,Text\nT1,t\n')
    await importFile(path, '--mapping', file('mapping.json', JSON.stringify(mapping)))
    expect((await stored())[0]).toMatchObject({ externalId: 'T1', fields: [{ name: 'comment', value: 't' }] })
  })

  test('reports refused rows by line and reason, stores the others, and exits with code 1', async () => {
    const report = join(folder, 'report.csv')
    const path = file(
      'refused.csv',
      Buffer.concat([
        Buffer.from('comment,score\nfine,1\n"two\nlines",x\nthree,1,2\n'),
        Buffer.from([0xff]),
        Buffer.from(',1\nfine,2\n'),
      ]),
    )
    const { code, json } = await importFile(path, '--map', 'score=metadata:integer', '--report', report)
    expect(code).toBe(1)
    expect(json).toMatchObject({ rows: 5, imported: 2, refused: 3 })
    expect(json.refusedRows).toEqual([
      { line: 3, reason: 'column "score": must be of the type integer' },
      { line: 5, reason: 'has 3 columns, but the header has 2' },
      { line: 6, reason: 'is not UTF-8' },
    ])
    expect(readFileSync(report, 'utf8').split('\r\n')).toEqual([
      'line,reason',
      '3,"column ""score"": must be of the type integer"',
      '5,"has 3 columns, but the header has 2"',
      '6,"is not UTF-8"',
      '',
    ])
    expect(await valuesOf('score')).toEqual([1, 2])
  })

  test('an unclosed quote ends the reading and is reported', async () => {
    const { code, json } = await importFile(file('open.csv', 'comment\nfine\n"open\nlost\n'))
    expect(code).toBe(1)
    expect(json).toMatchObject({ imported: 1, refused: 1 })
    expect(json.refusedRows).toEqual([
      { line: 3, reason: 'a quote is never closed: nothing after it was read' },
    ])
  })
})

describe('JSON Lines', () => {
  test('members become fields of their own type; bad lines are reported by number', async () => {
    const lines = [
      '\ufeff{"external_id":"e1","comment":"quick","score":7,"tags":["a"],"ok":true,"none":null}',
      '',
      '{"comment":',
      '[1]',
      '{"score":1e400}',
      '{"comment":"\\u0000"}',
      '{"comment":"last"}\r',
    ]
    const { code, json } = await importFile(file('a.jsonl', lines.join('\n')))
    expect(code).toBe(1)
    expect(json).toMatchObject({ rows: 6, imported: 2, refused: 4 })
    expect(json.refusedRows.map(({ line }: { line: number }) => line)).toEqual([3, 4, 5, 6])
    expect((await stored())[0]).toMatchObject({
      externalId: 'e1',
      fields: [
        { type: 'string', name: 'comment', value: 'quick' },
        { type: 'integer', name: 'score', value: 7 },
        { type: 'json', name: 'tags', value: ['a'] },
        { type: 'boolean', name: 'ok', value: true },
      ],
    })
  })
})

describe('again', () => {
  const rows = (count: number) =>
    `external_id,email,comment\n${Array.from({ length: count }, (_, n) => `e${n},p${n % 7}@x.example,row ${n}\n`).join('')}`

  test('counts rows with a known external id as duplicates, within a file and across files', async () => {
    const path = file('twice.csv', `${rows(5)}e0,,changed\n`)
    expect((await importFile(path)).json).toMatchObject({ rows: 6, imported: 5, duplicates: 1, refused: 0 })
    const again = await importFile(path)
    expect(again.code).toBe(0)
    expect(again.json).toMatchObject({ imported: 0, duplicates: 6 })
    expect(await valuesOf('comment')).toEqual(['row 0', 'row 1', 'row 2', 'row 3', 'row 4'])
  })

  test('a killed import resumes and stores every row once', async () => {
    const path = file('killed.csv', rows(12_000))
    const child = start('feedback', 'import', path, '--source', String(sourceId))
    await eventually(async () => (await database.sql`select from feedback_record limit 1`).length > 0)
    child.kill('SIGKILL')
    await child.exited
    const before = await eventually(async () => {
      const [busy] = await database.sql`
        select 1 from pg_stat_activity
        where datname = current_database() and application_name = 'earshot-cli'`
      return busy === undefined && (await stored()).length
    })
    expect(before).toBeWithin(1000, 12_000)
    expect((await importFile(path)).json).toMatchObject({
      rows: 12_000,
      imported: 12_000 - before,
      duplicates: before,
    })
    expect((await stored()).length).toBe(12_000)
    const [people] = await database.sql`select count(*)::int as count from person`
    expect(people?.count).toBe(7)
  })

  test('--dry-run checks every row and stores nothing', async () => {
    expect((await importFile(file('dry.csv', rows(3)), '--dry-run')).json).toMatchObject({
      rows: 3,
      imported: 3,
    })
    expect((await stored()).length).toBe(0)
    const path = file('dry.csv', rows(3))
    const child = spawn('feedback', 'import', path, '--source', 'Help desk', '--dry-run')
    const out = await new Response(child.stdout).text()
    expect(out).toMatch(/^would import +3$/m)
    expect(out).not.toContain('imported')
  })
})

describe('a mistake is one line and exit code 2', () => {
  test.each([
    [['missing.csv'], 'there is no file'],
    [['FILE.txt'], '--format csv or --format jsonl'],
    [['FILE.csv', '--map', 'comment=text'], 'must have a category of content'],
    [['FILE.csv', '--email', 'Mail'], 'column "Mail": is not in the file, which has comment'],
    [['FILE.csv', '--delimiter', '::'], '--delimiter must be one character'],
    [['FILE.csv', '--mapping', 'nothing.json'], 'is not a JSON file'],
    [['EMPTY.csv'], 'The file is empty'],
  ])('%p', async (args, message) => {
    for (const name of ['FILE.csv', 'FILE.txt']) file(name, 'comment\nx\n')
    file('EMPTY.csv', '')
    const [name = '', ...flags] = args
    const path = join(folder, name)
    const { code, err } = await runHere('feedback', 'import', path, '--source', 'Help desk', ...flags)
    expect(code).toBe(2)
    expect(err).toContain(message)
    expect(err.trim().split('\n')).toHaveLength(1)
    expect((await stored()).length).toBe(0)
  })

  test('an unknown source, or a name that several sources share', async () => {
    const path = file('FILE.csv', 'comment\nx\n')
    const missing = await runHere('feedback', 'import', path, '--source', 'Nobody')
    expect([missing.code, missing.err]).toEqual([2, expect.stringContaining('there is no source "Nobody"')])
    // Of an older version: names have to differ now.
    await database.sql`
      insert into feedback_source (organization_id, name, type)
      select organization_id, name, type from feedback_source`
    const several = await runHere('feedback', 'import', path, '--source', 'Help desk')
    expect([several.code, several.err]).toEqual([2, expect.stringContaining('give the id')])
    const byId = await run('feedback', 'import', path, '--source', String(sourceId))
    expect(byId.json.imported).toBe(1)
    expect((await run('feedback', 'source-list')).json.feedbackSources).toHaveLength(2)
  })
})
