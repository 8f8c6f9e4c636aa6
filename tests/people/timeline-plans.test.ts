/** A page of a timeline of 100,000 entries reads its page, at any depth, whatever the planner knew when it made the plan. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { keyset } from '../../src/http/paging.ts'
import { SCAN_ROWS } from '../../src/platform/db/bounded-scan.ts'
import { connect, type Sql } from '../../src/platform/db/pool.ts'
import { noting, prepare, type Reading, reading, type Statement } from '../support/plans.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

const EACH = 33_400
const LIMIT = 20
/** Of each entry: its row, the rows that access depends on, its passages and signals, and the extra entry of each channel. */
const ROWS = 60 * LIMIT
const PAGES = 4 * ROWS

let server: TestServer
let planner: Sql
const noted: (() => Statement | null)[] = []
const sent = new Map<string, readonly (Statement & { readonly name: string })[]>()

beforeAll(async () => {
  server = await startTestServer({ reads: (reads) => noting(reads, (statement) => noted.push(statement)) })
  const { sql, url } = server.database
  planner = connect({ url }, { max: 1, applicationName: 'planner', readOnly: true })
  const tables = [
    'agent_session',
    'agent_session_person',
    'recording',
    'recording_participant',
    'feedback_record',
  ]
  for (const table of tables) await sql`alter table ${sql(table)} set (autovacuum_enabled = false)`
  const tenant = await server.createTenant()
  const { organizationId } = tenant
  const { applicationId } = await server.createApplication(organizationId, {
    settings: { conversationAccess: { type: 'workspace' } },
  })
  const key = server.as({ apiKey: tenant.apiKey })
  const user = server.as({ userToken: tenant.userToken })
  const { id: sourceId } = (await key.post('/v3/rest/feedback-sources', { name: 'Help desk' })).body
  const { id: personId } = (await key.put('/v3/rest/people', { email: 'busy@example.com' })).body
  const at = (place: string) => `${place}T00:00:00.000000Z`
  const cursor = (moment: string, channel: string, id: string) =>
    `cursor=${keyset('person_timeline', ['moment', 'text', 'text']).encode([moment, channel, id])}`
  const middle = 'ffffffff-ffff-7fff-8fff-ffffffffffff'
  const queries = [
    '',
    cursor(at('2026-01-05'), 'conversation', middle),
    cursor(at('2026-01-05'), 'feedback', '5'),
    cursor(at('2026-01-01'), 'recording', middle),
    'channel=recording',
    'since=2026-01-03T00:00:00Z&until=2026-01-04T00:00:00Z',
  ]
  // Few rows, so that each statement is sent; then many.
  await load(sql, { organizationId, applicationId, sourceId, personId }, 30)
  for (const [caller, client] of [
    ['key', key],
    ['user', user],
  ] as const)
    for (const query of queries) {
      noted.length = 0
      const { status } = await client.get(`/v3/rest/people/${personId}/timeline?limit=${LIMIT}&${query}`)
      expect(status).toBe(200)
      const statements = noted.flatMap((statement) => statement() ?? [])
      const named = statements.map((one, index) => ({ ...one, name: `t${sent.size}_${index}` }))
      for (const one of named) await prepare(planner, one.name, one)
      sent.set(`${caller} ${query}`, named)
    }
  for (const table of [
    'recording_participant',
    'recording',
    'agent_session_person',
    'agent_session',
    'feedback_record',
    'agent_event',
    'transcript_utterance',
  ])
    await sql`delete from ${sql(table)}`
  await load(sql, { organizationId, applicationId, sourceId, personId }, EACH)
  // Another busy person of the organization.
  const { id: other } = (await key.put('/v3/rest/people', { email: 'other@example.com' })).body
  await load(sql, { organizationId, applicationId, sourceId, personId: other }, 2_000)
}, 300_000)
afterAll(async () => {
  await planner?.end({ timeout: 5 })
  await server?.stop()
})

interface Owner {
  readonly organizationId: string
  readonly applicationId: string
  readonly sourceId: number
  readonly personId: number
}

/** So many entries on each channel, over ten days. */
async function load(sql: Sql, { organizationId, applicationId, sourceId, personId }: Owner, each: number) {
  const at = sql`timestamptz '2026-01-01' + n * interval '10 days' / ${each}::int`
  const moments = sql`generate_series(1, ${each}::int) n`
  await sql`
    insert into feedback_record (organization_id, feedback_source_id, person_id, display_ts, fields)
    select ${organizationId}, ${sourceId}, ${personId}, ${at}, '[]' from ${moments}`
  await sql`
    with session as (
      insert into agent_session (id, organization_id, application_id, external_session_id, status, processing_status, created_at)
      select gen_random_uuid(), ${organizationId}, ${applicationId}, ${personId} || '-' || n, 'ended', 'completed', ${at} from ${moments}
      returning id, organization_id, created_at
    )
    insert into agent_session_person (organization_id, session_id, participant_external_id, person_id, sole, occurred_at)
    select organization_id, id, 'p', ${personId}, true, created_at from session`
  await sql`
    insert into agent_event (organization_id, session_id, external_event_id, sequence, revision, type, final, occurred_at, body,
      fingerprint, settings_version)
    select organization_id, id, 'u1', 1, 1, 'user_message', true, created_at, '{"content": "x"}', '', 1
    from agent_session where external_session_id like ${`${personId}-%`}`
  await sql`
    with r as (
      insert into recording (id, organization_id, source, transcript_status, started_at)
      select gen_random_uuid(), ${organizationId}, 'api', 'waiting', ${at} from ${moments}
      returning id, organization_id
    )
    insert into recording_participant (organization_id, recording_id, speaker, person_id)
    select organization_id, id, 0, ${personId} from r`
  await sql`
    insert into transcript_utterance (organization_id, recording_id, ordinal, start_sec, end_sec, speaker, text)
    select organization_id, recording_id, 0, 0, 1, 0, 'x' from recording_participant where person_id = ${personId}`
}

const changes: readonly (readonly [when: string, change: () => Promise<unknown>])[] = [
  ['before statistics, as planned while there was nothing', async () => {}],
  ['with statistics', () => server.database.sql`analyze`],
]

describe.each(changes)('%s', (_, change) => {
  beforeAll(async () => {
    await change()
  })

  test('no page reads more than its entries', async () => {
    const readings: [string, string, Reading][] = []
    for (const [request, statements] of sent)
      for (const statement of statements)
        readings.push([request, statement.text, await reading(planner, statement.name, statement)])
    expect(readings.length).toBeGreaterThan(30)
    const excessive = readings.filter(([, text, { rows, pages, scanned }]) => {
      // Looks for the end of a page that is not full.
      const most = text.includes('offset') ? SCAN_ROWS + 1 : ROWS
      return scanned.length > 0 || rows > most || pages > Math.min(most * 4, PAGES)
    })
    expect(excessive).toEqual([])
  }, 300_000)
})
