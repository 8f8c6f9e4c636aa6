/**
 * Filters without an index: however rare the matches are, a request reads a bounded number of rows, and a client that follows the
 * cursor finds every match. The rows that each statement reads are counted.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { SCAN_ROWS } from '../../src/platform/db/bounded-scan.ts'
import { connect, type Sql } from '../../src/platform/db/pool.ts'
import { noting, prepare, reading, type Statement } from '../support/plans.ts'
import { type Client, startTestServer, type TestServer, type TestTenant } from '../support/server.ts'

const AMOUNT = 3 * SCAN_ROWS
/** Rare matches: the newest row, one in the middle, the oldest. */
const RARE = [AMOUNT, AMOUNT / 2, 1]
/** A page, its related rows, and the margin of a scan. */
const MOST_ROWS = 1.2 * SCAN_ROWS
/** The visibility check of a recording reads its folders, too. */
const MOST_WITH_FOLDERS = 3 * MOST_ROWS

const SESSIONS = '/v3/rest/agent-conversations/sessions'
const SIGNALS = '/v3/rest/signals'
const RECORDINGS = '/v3/rest/recordings'
const PEOPLE = '/v3/rest/people'

let server: TestServer
let planner: Sql
let tenant: TestTenant
let applicationId: string
const noted: (() => Statement | null)[] = []

beforeAll(async () => {
  server = await startTestServer({ reads: (reads) => noting(reads, (statement) => noted.push(statement)) })
  planner = connect({ url: server.database.url }, { max: 1, applicationName: 'planner', readOnly: true })
  tenant = await server.createTenant()
  const settings = { conversationAccess: { type: 'workspace' as const } }
  const application = await server.createApplication(tenant.organizationId, { agentKey: 'busy', settings })
  applicationId = application.applicationId
  await server.createApplication(tenant.organizationId, { agentKey: 'idle', settings })
  await load()
}, 300_000)
afterAll(async () => {
  await planner?.end({ timeout: 5 })
  await server?.stop()
})

async function load(): Promise<void> {
  const { sql } = server.database
  const { organizationId, userId } = tenant
  const rare = sql`n = any(${RARE}::int[])`
  const moments = sql`(
    select n, '2026-03-01T00:00:00Z'::timestamptz + n * interval '1 second' as at
    from generate_series(1, ${AMOUNT}::int) as n
  ) as moment`
  await sql`
    insert into agent_session (
      id, organization_id, application_id, external_session_id, status, processing_status, environment, created_at
    )
    select gen_random_uuid(), ${organizationId}, ${applicationId}, 'chat-' || n,
      case when ${rare} then 'abandoned' else 'ended' end, case when ${rare} then 'failed' else 'completed' end,
      case when ${rare} then 'staging' else 'production' end, at
    from ${moments}`
  await sql`
    insert into agent_signal (
      id, organization_id, application_id, session_id, source, kind, rating, external_event_id, sequence, revision,
      occurred_at, created_at
    )
    select gen_random_uuid(), ${organizationId}, ${applicationId}, s.id,
      case when ${rare} then 'qualitative_inference' else 'explicit_feedback' end,
      case when ${rare} then 'complaint' else 'message_feedback' end,
      case when ${rare} then 'negative' else 'positive' end, 'e', 1, 1, at, at
    from ${moments}
    join agent_session s on s.organization_id = ${organizationId} and s.external_session_id = 'chat-' || n`
  const [folder] = await sql<{ id: string }[]>`
    insert into folder (id, organization_id, owner_user_id, name)
    values (gen_random_uuid(), ${organizationId}, ${userId}, 'Mine')
    returning id`
  await sql`
    insert into recording (id, organization_id, source, started_at, created_at, transcript_status, asset_status)
    select gen_random_uuid(), ${organizationId}, case when ${rare} then 'crm' else 'api' end, at, at,
      case when ${rare} then 'failed' else 'completed' end, case when ${rare} then 'failed' else 'completed' end
    from ${moments}`
  await sql`
    insert into recording_folder (organization_id, recording_id, folder_id)
    select organization_id, id, ${folder?.id ?? ''}
    from recording
    where organization_id = ${organizationId}
      and source = 'api'`
  await sql`
    insert into person (public_id, organization_id, email, created_at)
    select gen_random_uuid(), ${organizationId}, 'p' || n || '@example.com', at
    from ${moments}`
}

const callers = (): readonly (readonly [string, Client])[] => [
  ['key', server.as(tenant)],
  ['user', server.as({ userToken: tenant.userToken })],
]

/** The most rows that one of the statements recorded since then reads. */
async function mostRows(name: string): Promise<number> {
  const statements = noted.splice(0).flatMap((statement) => statement() ?? [])
  let most = 0
  for (const [index, statement] of statements.entries()) {
    await prepare(planner, `${name}_${index}`, statement)
    most = Math.max(most, (await reading(planner, `${name}_${index}`, statement)).rows)
  }
  return most
}

let names = 0

/** Follows the cursor. @returns the items, and the most rows that one statement read */
async function readAll(client: Client, path: string) {
  const items: unknown[] = []
  let rows = 0
  for (let cursor = ''; ; ) {
    noted.length = 0
    const { status, body } = await client.get(`${path}${cursor}`)
    if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`)
    items.push(...body.data)
    rows = Math.max(rows, await mostRows(`w${names++}`))
    if (!body.has_more) return { items, rows }
    cursor = `&cursor=${body.next_cursor}`
  }
}

describe.each([
  [`${SESSIONS}?status=abandoned`],
  [`${SESSIONS}?processingStatus=failed`],
  [`${SESSIONS}?environment=staging`],
  [`${SESSIONS}?environment=staging&agentKey=busy`],
  [`${SESSIONS}?environment=staging&since=2026-01-01T00:00:00Z`],
  [`${SIGNALS}?source=qualitative_inference`],
  [`${SIGNALS}?kind=complaint`],
  [`${SIGNALS}?rating=negative&agentKey=busy`],
  [`${SIGNALS}?rating=negative&since=2026-01-01T00:00:00Z`],
  [`${RECORDINGS}?source=crm`],
  [`${RECORDINGS}?transcript_status=failed`],
  [`${RECORDINGS}?asset_status=failed`],
  [`${RECORDINGS}?source=crm&started_after=2026-01-01T00:00:00Z`],
])('%s', (path) => {
  test('reads a bounded number of rows and finds all three matches', async () => {
    for (const [caller, client] of callers()) {
      const { items, rows } = await readAll(client, path)
      expect([caller, items.length]).toEqual([caller, RARE.length])
      expect(rows).toBeLessThan(MOST_ROWS)
    }
  }, 300_000)
})

test('the limit includes recordings that the caller cannot see', async () => {
  const { items, rows } = await readAll(server.as(tenant), `${RECORDINGS}?limit=10`)
  expect(items).toHaveLength(RARE.length)
  expect(rows).toBeLessThan(MOST_WITH_FOLDERS)
}, 300_000)

describe('a page by number', () => {
  const user = () => server.as({ userToken: tenant.userToken })

  test.each([`${RECORDINGS}?limit=100`, `${PEOPLE}?limit=100`])(
    '%s is served as far as the scan reaches, and refused beyond',
    async (path) => {
      noted.length = 0
      const last = await user().get(`${path}&page=${SCAN_ROWS / 100}`)
      expect([last.status, last.body.data.length]).toEqual([200, 100])
      const further = await user().get(`${path}&cursor=${last.body.next_cursor}`)
      expect([further.status, further.body.data.length]).toEqual([200, 100])
      const deep = await user().get(`${path}&page=${(2 * SCAN_ROWS) / 100}`)
      expect([deep.status, deep.body.details]).toMatchObject([400, [{ path: 'page', code: 'too_deep' }]])
      expect(await mostRows(`w${names++}`)).toBeLessThan(MOST_WITH_FOLDERS)
    },
    60_000,
  )

  test('beyond a scan that found less than a page is refused, not empty', async () => {
    const first = await user().get(`${RECORDINGS}?source=crm`)
    expect([first.body.data.length, first.body.has_more]).toEqual([1, true])
    const second = await user().get(`${RECORDINGS}?source=crm&page=2`)
    expect([second.status, second.body.details]).toMatchObject([400, [{ path: 'page', code: 'too_deep' }]])
  })
})
