/** Tasks that become due by time: gap time-outs, credits that arrived, retention. Also deletion, which leaves no rows of the session. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { WakeUp } from '../../src/actors/types.ts'
import { NO_TOKEN_LIMIT } from '../../src/analysis/analyze/token-budget.ts'
import { loadConfig } from '../../src/app/config.ts'
import { analysisActor } from '../../src/hear/agents/analysis/actor.ts'
import { sessionActor } from '../../src/hear/agents/sessions/actor.ts'
import { deleteSessions } from '../../src/hear/agents/sessions/deletion.store.ts'
import { agentMaintenance } from '../../src/hear/agents/sessions/maintenance.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { newId } from '../../src/platform/ids.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import {
  assistant,
  createApplication,
  createSession,
  feedback,
  ledger,
  runAnalysis,
  runSession,
  sendMessages,
  storeEvents,
  type TestApplication,
  user,
} from '../support/agent-sessions.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { textWorkHere } from '../support/text-work.ts'

let database: TestDatabase
const deps = {
  newId,
  config: loadConfig({}),
  modelServer: null,
  textWork: textWorkHere,
  tokenBudget: NO_TOKEN_LIMIT,
}
const ofSessions = sessionActor(deps)

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

/** Runs one task and returns the wake-ups that it sent. */
async function runTask(name: string): Promise<readonly WakeUp[]> {
  const notified: WakeUp[] = []
  const tasks = agentMaintenance({
    sql: database.sql,
    notifier: {
      name: 'postgres',
      notify: (wakeUps) => void notified.push(...wakeUps),
      close: async () => {},
    },
    log: createLog('silent', 'test'),
  })
  await tasks.find((task) => task.name === name)!.run(new AbortController().signal)
  return notified
}

const age = (id: string, days: number) =>
  database.sql`
    update agent_session set
      created_at = now() - make_interval(days => ${days}::int),
      last_activity_at = now() - make_interval(days => ${days}::int),
      gap_deadline = case when gap_deadline is not null then now() - interval '1 second' end
    where id = ${id}`

/** A session with a row in every table that can have one. */
async function fullSession(application: TestApplication): Promise<string> {
  const { sql } = database
  const { organizationId } = application
  const id = await createSession(sql, application)
  await storeEvents(sql, id, [user(0), assistant(1), user(2, 'That does not work.'), feedback(3, 'a1')])
  await runSession(sql, ofSessions, id)
  await runAnalysis(sql, analysisActor(deps), id)
  await storeEvents(sql, id, [{ ...assistant(1), revision: 2 }])
  await sql`
    insert into agent_event_revision (
      organization_id, session_id, external_event_id, revision, final, occurred_at, body, fingerprint,
      settings_version, created_at
    ) values (${organizationId}, ${id}, 'a1', 1, true, now(), '{}', '', 1, now())`
  await sendMessages(sql, [
    { key: `session:${id}`, type: 'events_stored' },
    { key: `analysis:${id}`, type: 'analyze' },
  ])
  await sql`
    insert into actor_dead_letter (key, seq, type, payload, attempts)
    values (${`session:${id}`}, 9, 'events_stored', '{}', 10)`
  return id
}

/** The number of rows with the session's id, by table. It reads the catalogue, so that it includes new tables. */
async function rowsOf(id: string): Promise<Record<string, number>> {
  const { sql } = database
  const columns = await sql<{ table: string; column: string }[]>`
    select table_name as table, column_name as column
    from information_schema.columns
    join information_schema.tables using (table_schema, table_name)
    where table_schema = 'public'
      and table_type = 'BASE TABLE'
      and (column_name = 'session_id' or (table_name, column_name) = ('agent_session', 'id')
        or (table_name like 'actor%' and column_name = 'key'))`
  const found: Record<string, number> = {}
  for (const { table, column } of columns) {
    const [row] = await sql<{ count: number }[]>`
      select count(*) as count from ${sql(table)} where ${sql(column)}::text like ${`%${id}`}`
    if (row!.count > 0) found[table] = row!.count
  }
  return found
}

test('deleting a session leaves only its units in the ledger', async () => {
  const { sql } = database
  const application = await createApplication(sql)
  const [id, other] = [await fullSession(application), await fullSession(application)]
  expect(Object.keys(await rowsOf(id)).sort()).toEqual([
    'actor_dead_letter',
    'actor_mailbox',
    'actor_message',
    'agent_event',
    'agent_event_revision',
    'agent_late_event',
    'agent_response',
    'agent_session',
    'agent_signal',
    'agent_usage',
    'insight_subject',
  ])
  const before = await rowsOf(other)
  const deleted = await transaction(sql, (tx) => deleteSessions(tx, application.organizationId, [id]))
  expect(deleted).toEqual([id])
  expect(await rowsOf(id)).toEqual({ agent_usage: 1 })
  expect(await rowsOf(other)).toEqual(before)
})

test("another organization's session is not deleted", async () => {
  const { sql } = database
  const [mine, theirs] = [await createApplication(sql), await createApplication(sql)]
  const id = await fullSession(theirs)
  const before = await rowsOf(id)
  expect(await transaction(sql, (tx) => deleteSessions(tx, mine.organizationId, [id]))).toEqual([])
  expect(await rowsOf(id)).toEqual(before)
})

test('retention deletes sessions by their last activity, and keeps those of applications without a limit', async () => {
  const { sql } = database
  const limited = await createApplication(sql, { settings: { retentionDays: 30 } })
  const unlimited = await createApplication(sql)
  const [old, active, kept] = [
    await fullSession(limited),
    await fullSession(limited),
    await fullSession(unlimited),
  ]
  await age(old, 31)
  await age(active, 31)
  await sql`update agent_session set last_activity_at = now() - interval '29 days' where id = ${active}`
  await age(kept, 4_000)
  const [activeRows, keptRows] = [await rowsOf(active), await rowsOf(kept)]
  await runTask('agent_retention')
  expect(await rowsOf(old)).toEqual({ agent_usage: 1 })
  expect(await rowsOf(active)).toEqual(activeRows)
  expect(await rowsOf(kept)).toEqual(keptRows)
})

test('retention deletes more sessions than fit into one batch', async () => {
  const { sql } = database
  const application = await createApplication(sql, { settings: { retentionDays: 1 } })
  await sql`
    insert into agent_session (
      id, organization_id, application_id, external_session_id, status, processing_status, created_at, last_activity_at
    )
    select gen_random_uuid(), ${application.organizationId}, ${application.applicationId}, n::text, 'ended',
      'completed', now() - interval '2 days', now() - interval '2 days'
    from generate_series(1, 450) n`
  await runTask('agent_retention')
  const left = await sql`select 1 from agent_session where application_id = ${application.applicationId}`
  expect(left).toHaveLength(0)
})

test('a session whose wait at a gap is over gets one message, however often the task runs', async () => {
  const { sql } = database
  const application = await createApplication(sql)
  const [due, waiting] = [await createSession(sql, application), await createSession(sql, application)]
  for (const id of [due, waiting]) {
    await storeEvents(sql, id, [user(0), user(5)])
    await runSession(sql, ofSessions, id)
  }
  await age(due, 2)
  expect((await runTask('agent_gap_timeouts')).map(({ key, type }) => [key, type])).toEqual([
    [`session:${due}`, 'gap_timeout'],
  ])
  expect(await runTask('agent_gap_timeouts')).toEqual([])
  await runSession(sql, ofSessions, due, 'gap_timeout')
  await sql`delete from actor_message where key = ${`session:${due}`}`
  expect(await runTask('agent_gap_timeouts')).toEqual([])
})

test('sessions whose responses wait for credits get a message once there are credits', async () => {
  const { sql } = database
  const application = await createApplication(sql, { credits: 0 })
  const id = await createSession(sql, application)
  await storeEvents(sql, id, [user(0), assistant(1)])
  await runSession(sql, ofSessions, id)
  expect(await runTask('agent_credits')).toEqual([])
  await sql`update organization set response_credits = 5 where id = ${application.organizationId}`
  expect((await runTask('agent_credits')).map(({ key, type }) => [key, type])).toEqual([
    [`session:${id}`, 'credits_added'],
  ])
  await runSession(sql, ofSessions, id, 'credits_added')
  expect(await ledger(sql, id)).toEqual(['a1'])
})
