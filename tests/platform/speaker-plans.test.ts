/** Who said something is looked up by its session, however many other people there are. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { connect, type Sql } from '../../src/platform/db/pool.ts'
import { newId } from '../../src/platform/ids.ts'
import { noting, prepare, reading, type Statement } from '../support/plans.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

const SESSIONS = 10_000
const ITEMS = 50
/** Index look-ups of an item: itself, its signal, session and person, with what they belong to. */
const PAGES = 20 * ITEMS

let server: TestServer
let planner: Sql
const noted: (() => Statement | null)[] = []

beforeAll(async () => {
  server = await startTestServer({ reads: (reads) => noting(reads, (statement) => noted.push(statement)) })
  planner = connect({ url: server.database.url }, { max: 1, applicationName: 'planner', readOnly: true })
})
afterAll(async () => {
  await planner?.end({ timeout: 5 })
  await server?.stop()
})

/** A theme of which each item was said in a session of its own, by a person of its own. Many others are older than these. */
async function insertTheme(organizationId: string, applicationId: string): Promise<string> {
  const { sql } = server.database
  const themeId = newId()
  await sql`
    insert into person (public_id, organization_id, email)
    select gen_random_uuid(), ${organizationId}, 'p' || n || '@example.com' from generate_series(1, ${SESSIONS}::int) n`
  await sql`
    insert into agent_session (id, organization_id, application_id, external_session_id, status, processing_status, participants)
    select gen_random_uuid(), ${organizationId}, ${applicationId}, 'chat-' || n, 'ended', 'completed', '[]'
    from generate_series(1, ${SESSIONS}::int) n`
  await sql`
    insert into agent_session_person (organization_id, session_id, participant_external_id, person_id, sole, occurred_at)
    select ${organizationId}, s.id, 'p', p.id, true, now()
    from agent_session s
    join person p on p.organization_id = ${organizationId} and p.email = replace(s.external_session_id, 'chat-', 'p') || '@example.com'
    where s.organization_id = ${organizationId}`
  await sql`
    insert into theme (id, organization_id, title, centroid, weight, count)
    values (${themeId}, ${organizationId}, 'export', ${Buffer.alloc(2_048)}, ${ITEMS}, ${ITEMS})`
  await sql`
    with said as (
      insert into agent_signal (
        id, organization_id, application_id, session_id, source, kind, comment, external_event_id, sequence, revision, occurred_at,
        confidence, tier, analyzer_name, analyzer_version, language
      )
      select gen_random_uuid(), ${organizationId}, ${applicationId}, s.id, 'qualitative_inference', 'bug_report', 'The export crashes',
        'e1', 1, 1, now(), 0.9, 'sure', 'builtin', '1', 'en'
      from agent_session s
      where s.organization_id = ${organizationId} and substr(s.external_session_id, 6)::int > ${SESSIONS - ITEMS}
      returning id, session_id
    )
    insert into theme_item (organization_id, channel, subject_id, passage, signal_id, occurred_at, theme_id, vector, terms)
    select ${organizationId}, 'conversation', said.session_id::text, 'x', said.id, now(), ${themeId}, ${Buffer.alloc(512)}, '{export}'
    from said`
  await sql`analyze`
  return themeId
}

test('a theme reads the people of its items, not all people', async () => {
  const tenant = await server.createTenant()
  const { applicationId } = await server.createApplication(tenant.organizationId, { agentKey: 'bot' })
  const themeId = await insertTheme(tenant.organizationId, applicationId)
  noted.length = 0
  const { status, body } = await server.as(tenant).get(`/v3/rest/themes/${themeId}`)
  expect([status, body.people.length]).toEqual([200, 10])
  const statements = noted.flatMap((statement) => statement() ?? [])
  const pages: number[] = []
  for (const [index, statement] of statements.entries()) {
    await prepare(planner, `s${index}`, statement)
    pages.push((await reading(planner, `s${index}`, statement)).pages)
  }
  expect(pages.length).toBeGreaterThan(2)
  expect(Math.max(...pages)).toBeLessThan(PAGES)
})
