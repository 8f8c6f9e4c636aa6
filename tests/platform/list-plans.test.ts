/**
 * The reads of lists on a database without statistics. It was empty when the statements were prepared and planned, and then got a
 * burst of rows. Plans are judged by the rows and pages that they read, not by time.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { keyset } from '../../src/http/paging.ts'
import { connect, type Sql } from '../../src/platform/db/pool.ts'
import { type BurstOwner, burstId, loadBurst } from '../support/burst.ts'
import { noting, prepare, type Reading, reading, type Statement } from '../support/plans.ts'
import { type Client, startTestServer, type TestServer, type TestTenant } from '../support/server.ts'

const AMOUNT = 2_500
const LIMIT = 20
/** Rows of a page: each item, its related rows (application, session, folders, values), and the extra item. */
const ROWS_A_ROW = 8
/** An index look-up reads its depth and the row, and one page more if the row has moved. */
const PAGES_A_ROW = 4 * ROWS_A_ROW
/** The applications that a user may read, and the matches of a rare word. */
const OTHER_ROWS = 250

/** In the middle of the burst. */
const MIDDLE = '2026-03-01T00:20:00.000000Z'
const LAST_ID = 'ffffffff-ffff-7fff-8fff-ffffffffffff'
const microseconds = Date.parse(MIDDLE) * 1_000

const timeCursor = (list: string) => keyset(list, ['integer', 'uuid']).encode([microseconds, LAST_ID])
const momentCursor = (list: string) => keyset(list, ['moment', 'uuid']).encode([MIDDLE, LAST_ID])
const numberCursor = (list: string) => keyset(list, ['moment', 'integer']).encode([MIDDLE, 1_000_000_000])

const SESSIONS = '/v3/rest/agent-conversations/sessions'
const SIGNALS = '/v3/rest/signals'
const RECORDINGS = '/v3/rest/recordings'
const hour = (from: string, until: string) => `${from}=2026-03-01T00:20:00Z&${until}=2026-03-01T00:20:05Z`

/** Queries by path. */
function listsOf(owner: BurstOwner): Lists {
  const session = burstId(owner, 'session', 70)
  return {
    [SESSIONS]: [
      '',
      `cursor=${momentCursor('agent_sessions_by_beginning')}`,
      'agentKey=rare',
      `agentKey=rare&cursor=${momentCursor('agent_sessions_by_beginning')}`,
      'externalSessionId=chat-70',
      'externalSessionId=chat-70&agentKey=busy',
      hour('since', 'until'),
      hour('createdAfter', 'createdBefore'),
      `agentKey=rare&${hour('createdAfter', 'createdBefore')}`,
    ],
    [`${SESSIONS}/${session}`]: ['', `cursor=${keyset('agent_events', ['integer']).encode([2])}`],
    [`${SESSIONS}/${session}/events/e3/revisions`]: [''],
    [SIGNALS]: [
      '',
      `cursor=${momentCursor('signals')}`,
      'agentKey=rare',
      'rating=positive',
      hour('since', 'until'),
      `agentKey=rare&${hour('since', 'until')}`,
      `since=2026-01-01T00:00:00Z&cursor=${momentCursor('signals_by_occurrence')}`,
      hour('createdAfter', 'createdBefore'),
      `sessionId=${session}`,
      'channel=conversation',
      'channel=feedback',
      `channel=feedback&cursor=${momentCursor('signals')}`,
      'channel=recording',
      `channel=recording&${hour('since', 'until')}`,
      'personId=20',
      'recordId=70',
      `recordingId=${burstId(owner, 'recording', 70)}`,
    ],
    [RECORDINGS]: [
      '',
      `cursor=${momentCursor('recordings')}`,
      'external_id=call-70',
      `folder_id=${burstId(owner, 'folder', 1)}`,
      `folder_id=${burstId(owner, 'folder', 2)}`,
      `folder_id=${burstId(owner, 'folder', 2)}&cursor=${momentCursor('recordings')}`,
      hour('started_after', 'started_before'),
      'q=zebra',
      'q=%22zebras%22+customer2000',
    ],
    [`${RECORDINGS}/${burstId(owner, 'recording', 70)}`]: [''],
    [`${SIGNALS}/${burstId(owner, 'signal 1', 70)}`]: [''],
    [`/v3/rest/folders/${burstId(owner, 'folder', 70)}`]: [''],
    '/v3/rest/feedback-records': [
      '',
      `cursor=${numberCursor('feedback-records-by-display')}`,
      'external_id=ticket-70',
      'person_id=70',
      hour('since', 'until'),
      hour('created_after', 'created_before'),
    ],
    '/v3/rest/folders': ['', `cursor=${timeCursor('folders')}`],
  }
}

/** Only for the API key of the organization. */
function keyListsOf(owner: BurstOwner): Lists {
  return {
    '/v3/rest/agent-applications': ['', 'agentKey=busy', `cursor=${timeCursor('agent_applications')}`],
    [`/v3/rest/agent-applications/${owner.applicationIds[1]}/usage`]: [
      'since=2026-03-01T00:00:00Z&until=2026-03-08T00:00:00Z',
    ],
    '/v3/rest/metadata/sources': ['', 'page=3'],
    [`/v3/rest/metadata/sources/${owner.metadataSourceId}/fields`]: [''],
    '/v3/rest/feedback-sources': ['', `cursor=${numberCursor('feedback-sources')}`],
    [`/v3/rest/feedback-sources/${owner.feedbackSourceId}/records`]: [
      '',
      `cursor=${numberCursor('feedback-records')}`,
      'external_id=ticket-70',
      'person_id=70',
      hour('since', 'until'),
      hour('created_after', 'created_before'),
    ],
    '/v3/rest/people': [
      '',
      'email=P70@example.com',
      hour('since', 'until'),
      `cursor=${keyset('people', ['integer', 'integer']).encode([microseconds, 1_000_000_000])}`,
    ],
  }
}

let server: TestServer
/** Prepares every statement while the database is empty and keeps these plans. */
let planner: Sql
/** Statements by request. */
const sent = new Map<string, readonly (Statement & { readonly name: string })[]>()
const noted: (() => Statement | null)[] = []

beforeAll(async () => {
  server = await startTestServer({ reads: (reads) => noting(reads, (statement) => noted.push(statement)) })
  const { sql, url } = server.database
  await withoutStatistics(sql)
  planner = connect({ url }, { max: 1, applicationName: 'planner', readOnly: true })
  const tenant = await server.createTenant()
  const owner = await createOwner(tenant)
  const neighbour = await createOwner(await server.createTenant())
  // The objects in the paths exist, so that their lists are read; the burst adds more.
  await loadBurst(sql, owner, 70)
  await noteAll('key', server.as(tenant), { ...listsOf(owner), ...keyListsOf(owner) })
  await noteAll('user', server.as({ userToken: tenant.userToken }), listsOf(owner))
  await sql`delete from agent_signal`
  for (const table of BURST_TABLES) await sql`delete from ${sql(table)}`
  await sql`delete from agent_application where agent_key like 'agent-%'`
  await sql`delete from feedback_source where id <> all(${[owner, neighbour].map((one) => one.feedbackSourceId)})`
  await sql`delete from metadata_source where id <> all(${[owner, neighbour].map((one) => one.metadataSourceId)}::uuid[])`
  await loadBurst(sql, owner, AMOUNT)
  await loadBurst(sql, neighbour, AMOUNT)
}, 300_000)
afterAll(async () => {
  await planner?.end({ timeout: 5 })
  await server?.stop()
})

const BURST_TABLES = [
  'agent_session',
  'agent_event',
  'agent_usage',
  'recording_folder',
  'recording',
  'folder',
  'feedback_record',
  'person',
  'metadata_field',
]

/** Adds an application that users may not read to those of the burst. */
async function createOwner({ organizationId, userId, apiKey }: TestTenant): Promise<BurstOwner> {
  const key = server.as({ apiKey })
  const application = async (agentKey: string, settings = {}) =>
    (await server.createApplication(organizationId, { agentKey, settings })).applicationId
  const everybody = { conversationAccess: { type: 'workspace' as const } }
  const [busy, rare] = [await application('busy', everybody), await application('rare', everybody)]
  await application('closed')
  const source = await key.post('/v3/rest/feedback-sources', { name: 'Help desk' })
  const metadata = await key.get('/v3/rest/metadata/sources')
  return {
    organizationId,
    userId,
    applicationIds: [busy, rare],
    feedbackSourceId: source.body.id,
    metadataSourceId: metadata.body[0].id,
  }
}

/** No statistics, neither manual nor automatic. */
async function withoutStatistics(sql: Sql): Promise<void> {
  const tables = await sql<{ name: string }[]>`
    select relname as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`
  for (const { name } of tables) await sql`alter table ${sql(name)} set (autovacuum_enabled = false)`
}

type Lists = Readonly<Record<string, readonly string[]>>

async function noteAll(caller: string, client: Client, lists: Lists): Promise<void> {
  for (const [path, queries] of Object.entries(lists))
    for (const query of queries) await note(caller, client, path, query)
}

async function note(caller: string, client: Client, path: string, query: string): Promise<void> {
  noted.length = 0
  const paged =
    /\/(?:revisions|usage)$/.test(path) || /-[0-9a-f]{12}$/.test(path) ? query : `limit=${LIMIT}&${query}`
  const { status, body } = await client.get(`${path}?${paged}`)
  if (status !== 200) throw new Error(`${path}?${query}: ${status} ${JSON.stringify(body)}`)
  const statements = noted.flatMap((statement) => statement() ?? [])
  const named = statements.map((statement, index) => ({ ...statement, name: `s${sent.size}_${index}` }))
  for (const statement of named) await prepare(planner, statement.name, statement)
  sent.set(`${caller} ${path}?${query}`, named)
}

/** A newer connection, which plans each statement for the present tables. */
async function reconnect(): Promise<void> {
  await planner.end({ timeout: 5 })
  planner = connect({ url: server.database.url }, { max: 1, applicationName: 'planner', readOnly: true })
  for (const statements of sent.values())
    for (const statement of statements) await prepare(planner, statement.name, statement)
}

const changes: readonly (readonly [when: string, change: () => Promise<unknown>])[] = [
  ['before statistics, as planned while there was nothing', async () => {}],
  ['before statistics, as planned since', reconnect],
  ['with statistics', () => server.database.sql`analyze`],
  ['with statistics, as planned since', reconnect],
]

describe.each(changes)('%s', (_when, change) => {
  beforeAll(async () => {
    await change()
  })

  test('no list reads more than its page', async () => {
    const readings: [string, Reading][] = []
    for (const [request, statements] of sent)
      for (const statement of statements)
        readings.push([request, await reading(planner, statement.name, statement)])
    const excessive = readings.filter(
      ([, { rows, pages, scanned }]) =>
        scanned.length > 0 ||
        rows > ROWS_A_ROW * (LIMIT + 1) + OTHER_ROWS ||
        pages > PAGES_A_ROW * (LIMIT + 1) + OTHER_ROWS,
    )
    expect(excessive).toEqual([])
  }, 300_000)
})

test('statements of every list were recorded', () => {
  expect([...sent].filter(([, statements]) => statements.length === 0)).toEqual([])
})
