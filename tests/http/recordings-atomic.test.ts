/**
 * A recording is created completely or not at all (specification, "Create", rule 1). After every kind of failure all tables are
 * unchanged, and the same `record.externalId` can be used.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { Sql } from '../../src/platform/db/pool.ts'
import { newId } from '../../src/platform/ids.ts'
import { eventually } from '../support/eventually.ts'
import { createField, createSource, createTenant, type Tenant } from '../support/metadata.ts'
import { useServices } from '../support/process.ts'
import {
  countRows,
  createCanonicalField,
  createFolder,
  createRecording,
  NOTHING,
  RECORDING_TABLES,
  RECORDINGS,
  utterance,
} from '../support/recordings.ts'
import { type Client, clientOf, startTestServer, type TestServer } from '../support/server.ts'

const services = useServices()
let server: TestServer
let sql: Sql
let acme: Tenant
let folderId: string
let fieldId: string
beforeAll(async () => {
  server = await startTestServer()
  sql = server.database.sql
  acme = await createTenant(server)
  folderId = await createFolder(acme.key)
  fieldId = await createCanonicalField(acme.key, 'integer')
})
afterAll(() => server?.stop())
beforeEach(async () => {
  await sql.unsafe(`truncate ${RECORDING_TABLES.join(', ')} cascade`)
})

const EXTERNAL_ID = 'call-1'

/** Has everything that a create can write. */
const whole = () => ({
  displayName: 'Call',
  record: { externalId: EXTERNAL_ID, values: [{ fieldId, value: 5 }] },
  folderIds: [folderId],
  assetUrl: 'https://media.example.com/a.mp3',
  transcript: [utterance(0, 1, 0), utterance(1, 2, 1)],
  participants: [
    { speaker: 0, email: 'ada@example.com', firstName: 'Ada' },
    { speaker: 1, email: 'bob@example.com' },
  ],
  summary: 'Short.',
})

/** The same request without the fault succeeds, and writes one recording with everything. */
async function succeeds(client: Client = acme.key) {
  const answer = await client.post(RECORDINGS, whole())
  expect(answer.status).toBe(201)
  expect(answer.body.record.externalId).toBe(EXTERNAL_ID)
  expect(await countRows(sql)).toMatchObject({
    recording: 1,
    recording_folder: 1,
    recording_participant: 2,
    metadata_record: 1,
    metadata_value: 1,
    transcript_utterance: 2,
    actor_mailbox: 1,
    actor_message: 2,
  })
}

/** Ways to spoil the request: a name, what is wrong, and the answer. */
const FAULTS: readonly (readonly [string, () => object | Promise<object>, number, string])[] = [
  ['a member of the wrong type', () => ({ completedAt: 'later' }), 400, 'validation_failed'],
  ['a URL that is not allowed', () => ({ assetUrl: 'http://localhost/' }), 400, 'url_not_allowed'],
  [
    'an utterance that ends before it starts',
    () => ({ transcript: [utterance(0, 1, 0), utterance(3, 2, 1)] }),
    400,
    'validation_failed',
  ],
  [
    'too many utterances',
    () => ({ transcript: Array.from({ length: 10_001 }, (_, at) => utterance(at, at + 1)) }),
    400,
    'transcript_utterance_limit_exceeded',
  ],
  [
    'a participant who does not speak',
    () => ({ participants: [{ speaker: 9, email: 'eve@example.com' }] }),
    400,
    'validation_failed',
  ],
  ['an unknown folder', () => ({ folderIds: [folderId, newId()] }), 404, 'folder_not_found'],
  [
    'an unknown person beside a new one',
    () => ({
      participants: [
        { speaker: 0, email: 'new@example.com' },
        { speaker: 1, personId: newId() },
      ],
    }),
    404,
    'person_not_found',
  ],
  [
    'a value of the wrong type',
    () => ({ record: { externalId: EXTERNAL_ID, values: [{ fieldId, value: 'five' }] } }),
    422,
    'metadata_value_type_mismatch',
  ],
  [
    'a field of another source',
    async () => ({
      record: {
        externalId: EXTERNAL_ID,
        values: [{ fieldId: await createField(acme.key, await createSource(acme.key)), value: 'x' }],
      },
    }),
    422,
    'metadata_field_not_canonical',
  ],
]

describe('nothing exists after', () => {
  test.each(FAULTS)('%s', async (_, fault, status, code) => {
    const answer = await acme.key.post(RECORDINGS, { ...whole(), ...(await fault()) })
    expect([answer.status, answer.body.code]).toEqual([status, code])
    expect(await countRows(sql)).toEqual(NOTHING)
    await succeeds()
  })

  test('an id and an address of the same person, with a new name for the person', async () => {
    const { id, participants } = await createRecording(acme.key, {
      participants: [{ speaker: 0, email: 'ada@example.com', firstName: 'Augusta' }],
    })
    await acme.key.delete(`${RECORDINGS}/${id}`)
    const people = await sql`select * from person`
    const twice = [
      { speaker: 0, personId: participants[0].personId },
      { speaker: 1, email: 'ADA@example.com', firstName: 'Ada' },
    ]
    const answer = await acme.key.post(RECORDINGS, { ...whole(), participants: twice })
    expect([answer.status, answer.body.details[0].code]).toEqual([400, 'same_person'])
    expect(await countRows(sql)).toEqual({ ...NOTHING, person: 1 })
    expect(await sql`select * from person`).toEqual(people)
    await succeeds()
  })

  test('an external id of another recording, which is deleted later', async () => {
    const holder = await createRecording(acme.key, { record: { externalId: EXTERNAL_ID } })
    const before = await countRows(sql)
    const answer = await acme.key.post(RECORDINGS, whole())
    expect([answer.status, answer.body.recordingId]).toEqual([409, holder.id])
    expect(await countRows(sql)).toEqual(before)
    await acme.key.delete(`${RECORDINGS}/${holder.id}`)
    expect(await countRows(sql)).toEqual(NOTHING)
    await succeeds()
  })

  test('the database refuses the last row', async () => {
    await sql.unsafe(`
      create function refuse() returns trigger language plpgsql as $$ begin raise 'no room'; end $$;
      create trigger refuse before insert on actor_message for each row execute function refuse()`)
    const answer = await acme.key.post(RECORDINGS, whole())
    await sql.unsafe('drop function refuse cascade')
    expect([answer.status, answer.body.code]).toEqual([500, 'internal_error'])
    expect(await countRows(sql)).toEqual(NOTHING)
    await succeeds()
  })
})

describe('nothing exists if, after everything was written but before the commit,', () => {
  test('the connection to the database is killed', async () => {
    await whileStuck(async () => {
      const request = acme.key.post(RECORDINGS, whole())
      await sql`select pg_terminate_backend(${await stuckBackend()})`
      const answer = await request
      expect([answer.status, answer.body.code]).toEqual([503, 'unavailable'])
    })
    expect(await countRows(sql)).toEqual(NOTHING)
    await succeeds()
  })

  test('the process is killed', async () => {
    const env = { DATABASE_URL: server.database.url, ROLE: 'api', LOG_LEVEL: 'error' }
    const service = await services.start({ env })
    await whileStuck(async () => {
      const client = clientOf(service.baseUrl, { apiKey: acme.apiKey })
      const request = client.post(RECORDINGS, whole()).catch((error: Error) => error)
      const pid = await stuckBackend()
      await service.kill('SIGKILL')
      expect(await request).toBeInstanceOf(Error)
      return pid
    }).then((pid) => eventually(async () => !(await isRunning(pid))))
    expect(await countRows(sql)).toEqual(NOTHING)
    await succeeds()
  })
})

test('a caller who disconnected before the response learns the recording id by retrying', async () => {
  const gone = new AbortController()
  await whileStuck(async () => {
    const request = acme.key.send('POST', RECORDINGS, {
      body: JSON.stringify(whole()),
      headers: { 'content-type': 'application/json' },
      signal: gone.signal,
    })
    const failure = request.catch((error: Error) => error)
    await stuckBackend()
    gone.abort()
    expect(await failure).toBeInstanceOf(Error)
  })
  // The request was whole, so it is carried out; its retry is told so.
  const answer = await eventually(async () => {
    const retry = await acme.key.post(RECORDINGS, whole())
    return retry.status === 409 && retry
  })
  const { body } = await acme.key.get(`${RECORDINGS}/${answer.body.recordingId}`)
  expect(body).toMatchObject({ record: { externalId: EXTERNAL_ID }, transcript: { status: 'completed' } })
})

/** Meanwhile a create comes as far as its last row, the message to the actor, and waits there. */
async function whileStuck<T>(work: () => Promise<T>): Promise<T> {
  const release = Promise.withResolvers<void>()
  const locked = Promise.withResolvers<void>()
  const holder = sql.begin(async (tx) => {
    await tx`lock table actor_message in share mode`
    locked.resolve()
    await release.promise
  })
  try {
    await locked.promise
    return await work()
  } finally {
    release.resolve()
    await holder
  }
}

/** The backend of the create that waits for the message's table. */
const stuckBackend = () =>
  eventually(async () => {
    const [row] = await sql<{ pid: number }[]>`
      select pid
      from pg_locks
      where relation = 'actor_message'::regclass
        and database = (select oid from pg_database where datname = current_database())
        and not granted`
    return row?.pid ?? false
  })

async function isRunning(pid: number): Promise<boolean> {
  const rows = await sql`select 1 from pg_stat_activity where pid = ${pid}`
  return rows.length > 0
}
