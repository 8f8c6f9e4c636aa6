/** Import of CSV files over REST: upload, mapping, judged first rows, import, refused rows, repetition, limits and erasure. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { feedbackImportMaintenance } from '../../src/hear/feedback/import-jobs/maintenance.ts'
import { lockImport, startImport } from '../../src/hear/feedback/import-jobs/store.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { eventually } from '../support/eventually.ts'
import { createSource, recordsOf } from '../support/feedback.ts'
import { importIn, importsOf, uploadCsv } from '../support/feedback-imports.ts'
import { blockedBy, waitUntilBlockedBy } from '../support/mailboxes.ts'
import { createTenant, type Tenant } from '../support/metadata.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
let tenant: Tenant
let sourceId: number
beforeAll(async () => {
  server = await startTestServer({ actors: true })
  tenant = await createTenant(server)
  sourceId = await createSource(tenant.key)
})
afterAll(() => server.stop())

const CSV =
  'Ticket,Requester,Created,Comment,Score\n' +
  't1,ada@imports.example,2026-01-02T09:00:00Z,"The import is quick, the export is not.",7\n' +
  't2,grace@imports.example,2026-01-03T10:30:00Z,I cannot find the invoice.,many\n' +
  't3,not an address,2026-01-04T10:30:00Z,Fine so far.,3\n' +
  't4,,2026-01-05T10:30:00Z,Short row\n'
const MAPPING = {
  external_id: 'Ticket',
  email: 'Requester',
  timestamp: 'Created',
  columns: { Comment: 'content:string', Score: 'metadata:integer' },
}

const at = (id: string, rest = '', source = sourceId) => `${importsOf(source)}/${id}${rest}`

async function mappable(content: string | Uint8Array, source = sourceId, members = {}) {
  const id = await uploadCsv(tenant.user, source, content, members)
  return importIn(tenant.user, source, id, 'mapping')
}

async function imported(content: string | Uint8Array, mapping: object, source = sourceId) {
  const { id } = await mappable(content, source)
  const started = await tenant.user.post(at(id, '/start', source), { mapping })
  expect([started.status, started.body.code]).toEqual([202, undefined])
  return importIn(tenant.user, source, id, 'imported')
}

const text = async (path: string) =>
  (
    await fetch(`${server.baseUrl}${path}`, { headers: { authorization: `Bearer ${tenant.userToken}` } })
  ).text()

describe('a CSV file', () => {
  test('is uploaded, mapped, judged, imported; refused rows are CSV with the reason', async () => {
    const source = await createSource(tenant.key)
    const state = await mappable(CSV, source)
    expect(state).toMatchObject({
      columns: ['Ticket', 'Requester', 'Created', 'Comment', 'Score'],
      suggested_mapping: { external_id: 'Ticket', timestamp: 'Created' },
      mapping: null,
      received_bytes: CSV.length,
      rows: 0,
    })
    const preview = await tenant.user.post(at(state.id, '/preview', source), { mapping: MAPPING })
    expect(preview.body.data).toEqual([
      {
        line: 2,
        refused: null,
        record: {
          external_id: 't1',
          email: 'ada@imports.example',
          display_ts: '2026-01-02T09:00:00Z',
          fields: [
            {
              category: 'content',
              type: 'string',
              name: 'comment',
              value: 'The import is quick, the export is not.',
            },
            { category: 'metadata', type: 'integer', name: 'score', value: 7 },
          ],
        },
      },
      { line: 3, refused: 'column "Score": must be of the type integer', record: null },
      { line: 4, refused: 'column "Requester": must be an e-mail address', record: null },
      { line: 5, refused: 'has 4 columns, but the header has 5', record: null },
    ])
    expect((await tenant.key.get(recordsOf(source))).body.data).toEqual([])

    const started = await tenant.user.post(at(state.id, '/start', source), { mapping: MAPPING })
    expect(started.status).toBe(202)
    const done = await importIn(tenant.user, source, state.id, 'imported')
    expect(done).toMatchObject({ rows: 4, imported: 1, duplicates: 0, refused: 3, refused_kept: 3 })
    expect(done.processed_bytes).toBe(CSV.length)
    const { data } = (await tenant.key.get(recordsOf(source))).body
    expect(data).toMatchObject([{ external_id: 't1', display_ts: '2026-01-02T09:00:00.000Z' }])

    const refused = await text(at(state.id, '/refused-rows', source))
    expect(refused).toBe(
      'import_line,import_reason,Ticket,Requester,Created,Comment,Score\r\n' +
        '3,"column ""Score"": must be of the type integer",t2,grace@imports.example,2026-01-03T10:30:00Z,I cannot find the invoice.,many\r\n' +
        '4,"column ""Requester"": must be an e-mail address",t3,not an address,2026-01-04T10:30:00Z,Fine so far.,3\r\n' +
        '5,"has 4 columns, but the header has 5",t4,,2026-01-05T10:30:00Z,Short row\r\n',
    )
    const listed = await tenant.user.get(importsOf(source))
    expect(listed.body.data.map(({ id }: { id: string }) => id)).toEqual([state.id])

    // Mended, the refused rows are imported; their added columns are left out by the guess.
    const mended = refused.replace(',many', ',4').replace('not an address', 'alan@imports.example')
    const again = await mappable(mended, source)
    expect(again.suggested_mapping.columns).toMatchObject({ import_line: '-', import_reason: '-' })
    await tenant.user.post(at(again.id, '/start', source), { mapping: again.suggested_mapping })
    expect(await importIn(tenant.user, source, again.id, 'imported')).toMatchObject({
      imported: 2,
      refused: 1,
    })
  })

  test('has refused rows that are no formulas, and numbers with a sign survive them', async () => {
    const source = await createSource(tenant.key)
    const mapping = {
      external_id: 'Ticket',
      email: 'Requester',
      columns: { Score: 'metadata:integer', Comment: 'content:string' },
    }
    const csv = 'Ticket,Requester,Score,Comment\nt1,nobody,-2,=1+1\nt2,nobody,+1,@home\n'
    const { id } = await imported(csv, mapping, source)
    const refused = await text(at(id, '/refused-rows', source))
    expect(refused).toContain(",t1,nobody,'-2,'=1+1\r\n")
    expect(refused).toContain(",t2,nobody,'+1,'@home\r\n")
    const columns = { ...mapping.columns, import_line: '-', import_reason: '-' }
    const mended = refused.replaceAll('nobody', 'ada@imports.example')
    expect(await imported(mended, { ...mapping, columns }, source)).toMatchObject({ imported: 2, refused: 0 })
    const { data } = (await tenant.key.get(recordsOf(source))).body
    const values = data.map((record: { fields: { value: unknown }[] }) =>
      record.fields.map(({ value }) => value),
    )
    expect(values.map((pair: unknown[]) => pair.map(String).sort()).sort()).toEqual([
      ['-2', '=1+1'],
      ['1', '@home'],
    ])
  })

  test('imported again is refused, or skips what it knows', async () => {
    const source = await createSource(tenant.key)
    const first = await imported('Ticket,Comment\na,one\nb,two\n', { external_id: 'Ticket' }, source)
    const state = await mappable('Ticket,Comment\na,one\nb,two\n', source)
    const path = at(state.id, '/start', source)
    const mapping = { external_id: 'Ticket' }
    const refused = await tenant.user.post(path, { mapping })
    expect(refused).toMatchObject({
      status: 409,
      body: { code: 'feedback_import_repeated', importId: first.id },
    })
    expect((await tenant.user.post(path, { mapping, repeat: true })).status).toBe(202)
    const done = await importIn(tenant.user, source, state.id, 'imported')
    expect(done).toMatchObject({ imported: 0, duplicates: 2 })
    // Started again with the same mapping, nothing changes; with another one it is refused.
    expect((await tenant.user.post(path, { mapping })).body).toEqual(done)
    const other = await tenant.user.post(path, { mapping: { external_id: 'Comment' } })
    expect(other).toMatchObject({ status: 409, body: { code: 'feedback_import_started' } })
    expect((await tenant.key.get(recordsOf(source))).body.data).toHaveLength(2)
  })

  test('in two imports that are started at once is imported by one of them', async () => {
    const { sql } = server.database
    const source = await createSource(tenant.key)
    const csv = 'Ticket,Comment\na,one\n'
    const [one, two] = [await mappable(csv, source), await mappable(csv, source)]
    const body = { mapping: { columns: { Comment: 'content' } } }
    // Of another process, because one process handles requests about one object in turn.
    const other = await startTestServer({ beside: server })
    const start = ({ id }: { id: string }, { as }: TestServer) =>
      as({ apiKey: tenant.apiKey }).post(at(id, '/start', source), body)
    let isAnswered = false
    const starts = await transaction(sql, async (tx) => {
      // The first start waits here to send its message. It has not committed when the second one looks for a repetition.
      const [own] = await tx<{ pid: number }[]>`
        select pg_backend_pid() as pid from actor_mailbox where key = ${`feedback-import:${one.id}`} for update`
      const first = start(one, server)
      const pid = await waitUntilBlockedBy(sql, own?.pid ?? 0)
      const second = start(two, other).finally(() => {
        isAnswered = true
      })
      await eventually(async () => isAnswered || (await blockedBy(sql, pid)) !== null)
      return [first, second]
    })
    const [first, second] = await Promise.all(starts)
    await other.stop()
    expect(first?.status).toBe(202)
    expect(second).toMatchObject({
      status: 409,
      body: { code: 'feedback_import_repeated', importId: one.id },
    })
  })

  test('is analysed and searchable like records that come one by one', async () => {
    const source = await createSource(tenant.key)
    await imported(
      'Comment\nThe zebra export is broken again and nobody answers.\n',
      { columns: { Comment: 'content' } },
      source,
    )
    await eventually(async () => {
      const { body } = await tenant.key.get('/v3/rest/search?q=zebra')
      expect(body.data).toHaveLength(1)
    })
  })

  test('with another delimiter, a byte order mark and Windows line ends is read', async () => {
    const state = await mappable('\ufeffId;Text\r\n1;"a; b"\r\n')
    expect(state.columns).toEqual(['Id', 'Text'])
    const given = await mappable('Id;Text\n1;2\n', sourceId, { delimiter: ',' })
    expect(given.columns).toEqual(['Id;Text'])
  })

  test.each([
    ['is empty', new Uint8Array([0x0a]), 'not_a_csv_file'],
    ['is not UTF-8', new Uint8Array([0xff, 0x41, 0x0a]), 'not_a_csv_file'],
    ['is UTF-16', Buffer.from('\ufeffid,text\n', 'utf16le'), 'utf_16_file'],
  ])('that %s fails', async (_, bytes, code) => {
    const id = await uploadCsv(tenant.user, sourceId, bytes)
    expect(await importIn(tenant.user, sourceId, id, 'failed')).toMatchObject({
      error_code: code,
    })
  })
})

describe('a mapping', () => {
  test.each([
    ['a column that is missing', { external_id: 'Nothing' }, 'column "Nothing"'],
    ['a category that is unknown', { columns: { Comment: 'colour' } }, 'column "Comment"'],
    ['a type that is unknown', { columns: { Comment: 'content:number' } }, 'column "Comment"'],
  ])('with %s is refused by preview and start', async (_, mapping, path) => {
    const { id } = await mappable(CSV)
    for (const step of ['/preview', '/start']) {
      const { status, body } = await tenant.user.post(at(id, step), { mapping })
      expect([status, body.details[0].path]).toEqual([400, path])
    }
  })

  test('is not taken before the bytes are there, nor after a cancellation', async () => {
    const file = { file_name: 'a.csv', file_size: 10 }
    const { body } = await tenant.user.post(importsOf(sourceId), file)
    const early = await tenant.user.post(at(body.id, '/start'), { mapping: {} })
    expect(early).toMatchObject({ status: 409, body: { code: 'feedback_import_not_ready' } })
    for (let times = 0; times < 2; times++) {
      const cancelled = await tenant.user.delete(at(body.id))
      expect(cancelled).toMatchObject({ status: 200, body: { phase: 'cancelled', error_code: null } })
    }
    const late = await tenant.user.post(at(body.id, '/preview'), { mapping: {} })
    expect(late).toMatchObject({ status: 409, body: { code: 'feedback_import_not_ready' } })
  })
})

describe('limits', () => {
  test('a file of more than 1 GiB is refused', async () => {
    const { status } = await tenant.user.post(importsOf(sourceId), {
      file_name: 'a.csv',
      file_size: 2 ** 30 + 1,
    })
    expect(status).toBe(400)
  })

  test('the same upload_key is the same import, with the same URL', async () => {
    const file = { file_name: 'a.csv', file_size: 10, upload_key: 'mine' }
    const [one, two] = [
      await tenant.key.post(importsOf(sourceId), file),
      await tenant.key.post(importsOf(sourceId), file),
    ]
    expect([two.body.id, two.body.upload_url]).toEqual([one.body.id, one.body.upload_url])
  })

  test('an organization has at most 20 imports that have not ended; failed uploads do not count', async () => {
    const own = await createTenant(server)
    const source = await createSource(own.key)
    const create = () => own.key.post(importsOf(source), { file_name: 'a.csv', file_size: 10 })
    for (let index = 0; index < 20; index++) expect((await create()).status).toBe(201)
    expect(await create()).toMatchObject({ status: 429, body: { code: 'too_many_uploads' } })
    await server.database.sql`
      update upload set phase = 'failed', error_code = 'upload_expired'
      where organization_id = ${own.organizationId}`
    expect((await create()).status).toBe(201)
  })

  test('only administrators import', async () => {
    const { userToken } = await server.createUser(tenant.organizationId, 'analyst')
    const analyst = server.as({ userToken })
    const answer = await analyst.post(importsOf(sourceId), { file_name: 'a.csv', file_size: 10 })
    expect(answer).toMatchObject({ status: 403, body: { code: 'role_required' } })
  })
})

describe('what is kept', () => {
  const run = () => feedbackImportMaintenance(server.deps)[0]?.run(new AbortController().signal)
  const age = (id: string) => server.database.sql`
    update feedback_import set forget_after = now() - interval '1 second' where upload_id = ${id}`

  test('refused rows are forgotten after 7 days; the counts stay', async () => {
    const source = await createSource(tenant.key)
    const { id } = await imported('Ticket,Score\na,x\n', { columns: { Score: 'metadata:integer' } }, source)
    await run()
    expect((await text(at(id, '/refused-rows', source))).split('\r\n')).toHaveLength(3)
    await age(id)
    await run()
    expect(await text(at(id, '/refused-rows', source))).toBe('import_line,import_reason,Ticket,Score\r\n')
    const { body } = await tenant.user.get(at(id, '', source))
    expect(body).toMatchObject({ phase: 'imported', refused: 1, refused_kept: 0 })
  })

  test('an import that nobody starts ends, and its file is deleted', async () => {
    const { id } = await mappable(CSV)
    await age(id)
    await run()
    expect((await tenant.user.get(at(id))).body).toMatchObject({
      phase: 'failed',
      error_code: 'import_expired',
    })
    const [garbage] = await server.database.sql`
      select g.object_key from upload_garbage g join upload u on u.object_key = g.object_key where u.id = ${id}`
    expect(garbage).toBeDefined()
  })

  test('an import that is started while it expires goes on', async () => {
    const { sql } = server.database
    const { id } = await mappable(CSV)
    await age(id)
    const place = { organizationId: tenant.organizationId, uploadId: id }
    let expiring: Promise<void> | undefined
    await transaction(sql, async (tx) => {
      await lockImport(tx, place)
      const [own] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`
      expiring = run()
      await waitUntilBlockedBy(sql, own?.pid ?? 0)
      await startImport(tx, place, MAPPING)
    })
    await expiring
    expect((await tenant.user.get(at(id))).body).toMatchObject({ phase: 'importing', error_code: null })
    expect(await sql`select phase from upload where id = ${id}`).toMatchObject([{ phase: 'processing' }])
  })

  test('deleting the source ends its imports', async () => {
    const source = await createSource(tenant.key)
    const { id } = await mappable(CSV, source)
    expect((await tenant.key.delete(`/v3/rest/feedback-sources/${source}`)).status).toBe(204)
    const [upload] = await server.database.sql`select phase from upload where id = ${id}`
    expect(upload).toEqual({ phase: 'failed' })
  })

  test('erasing a person deletes refused rows and first rows with the address', async () => {
    const source = await createSource(tenant.key)
    const csv = 'Email,Score\neve@imports.example,many\nfay@imports.example,several\n'
    const done = await imported(csv, { email: 'Email', columns: { Score: 'metadata:integer' } }, source)
    const open = await mappable(csv, source)
    const person = await tenant.key.put('/v3/rest/people', { email: 'eve@imports.example' })
    await tenant.key.delete(`/v3/rest/people/${person.body.id}`)
    await eventually(async () => {
      const refused = await text(at(done.id, '/refused-rows', source))
      expect([refused.includes('eve@'), refused.includes('fay@')]).toEqual([false, true])
      const preview = await tenant.user.post(at(open.id, '/preview', source), { mapping: {} })
      expect(preview.body.data).toEqual([])
    })
  })
})
