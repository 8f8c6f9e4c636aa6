/** Turns of many sessions in one transaction: long sessions, deleted sessions, and one session that fails. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { send } from '../../src/actors/mailbox.ts'
import { sessionActor } from '../../src/hear/agents/sessions/actor.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { newId } from '../../src/platform/ids.ts'
import { NO_SWEEP, startWorker, testDeps } from '../support/actors.ts'
import {
  assistant,
  createApplication,
  createSession,
  creditsOf,
  feedback,
  ledger,
  runSession,
  runSessions,
  sessionRow,
  signalRows,
  storeEvents,
  type TestApplication,
  user,
} from '../support/agent-sessions.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'

let database: TestDatabase
const actor = sessionActor({ newId })

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

async function sessionsOf(applications: readonly TestApplication[], events = 3): Promise<readonly string[]> {
  const kinds = [user, assistant, (sequence: number) => feedback(sequence, `a${sequence - 1}`)]
  const made = Array.from({ length: events }, (_, sequence) => (kinds[sequence % 3] ?? user)(sequence))
  return Promise.all(
    applications.map(async (application) => {
      const id = await createSession(database.sql, application)
      await storeEvents(database.sql, id, made)
      return id
    }),
  )
}

test('sessions of different organizations and applications, with and without credits, share a turn', async () => {
  const { sql } = database
  const paying = await createApplication(sql, { credits: 1 })
  const free = await createApplication(sql)
  const silent = await createApplication(sql, { settings: { captureContent: false } })
  const ids = await sessionsOf([paying, paying, free, silent, free])
  const { turns, newMessages } = await runSessions(sql, actor, ids)
  expect(turns).toBe(1)
  const statuses = await Promise.all(ids.map(async (id) => (await sessionRow(sql, id)).processingStatus))
  expect(statuses.slice(0, 2).toSorted()).toEqual(['billing_blocked', 'processing'])
  expect(statuses.slice(2)).toEqual(['processing', 'capture_disabled', 'processing'])
  expect(newMessages.filter(({ key }) => key.startsWith('analysis:'))).toHaveLength(3)
  expect(await creditsOf(sql, paying)).toBe(0)
  const units = await Promise.all(ids.map((id) => ledger(sql, id)))
  expect(units.map(({ length }) => length).slice(2)).toEqual([1, 0, 1])
  for (const id of ids) expect(await signalRows(sql, id)).toHaveLength(1)
})

test('a long session takes several turns, and the short sessions beside it take one', async () => {
  const { sql } = database
  const application = await createApplication(sql)
  const [long = ''] = await sessionsOf([application], 2_500)
  const short = await sessionsOf(Array.from({ length: 7 }, () => application))
  const gone = crypto.randomUUID()
  const { turns, newMessages } = await runSessions(sql, actor, [long, ...short, gone])
  expect(turns).toBeGreaterThan(2)
  expect((await sessionRow(sql, long)).watermark).toBe(2_499)
  expect(await ledger(sql, long)).toHaveLength(833)
  expect(await signalRows(sql, long)).toHaveLength(833)
  for (const id of short) {
    expect((await sessionRow(sql, id)).watermark).toBe(2)
    expect(newMessages.filter(({ key }) => key === `analysis:${id}`)).toHaveLength(1)
  }
})

test('more late events than fit into a page are processed in several turns', async () => {
  const { sql } = database
  const application = await createApplication(sql)
  const [id = ''] = await sessionsOf([application], 2)
  const late = Array.from({ length: 1_200 }, (_, index) => user(index + 2))
  await storeEvents(sql, id, late)
  await runSession(sql, actor, id)
  await storeEvents(
    sql,
    id,
    late.map((event) => ({ ...event, revision: 2 })),
  )
  expect((await runSession(sql, actor, id)).turns).toBe(2)
  expect(await sql`select 1 from agent_late_event where session_id = ${id}`).toHaveLength(0)
})

test('one failing session among many fails alone, and the others take their turn once', async () => {
  const { sql } = database
  const application = await createApplication(sql, { credits: 100 })
  const ids = await sessionsOf(Array.from({ length: 12 }, () => application))
  const [poisoned = '', ...others] = ids
  await sql`create table commit_of_turn (session_id uuid not null)`
  await sql.unsafe(`
    create function on_turn() returns trigger language plpgsql as $$
      begin
        if new.id = '${poisoned}' and not exists (select from commit_of_turn where session_id = new.id) then
          raise exception 'poison';
        end if;
        insert into commit_of_turn values (new.id);
        return new;
      end
    $$;
    create trigger on_turn before update of watermark on agent_session for each row execute function on_turn()`)
  const worker = await startWorker(testDeps(database.url, null), [actor], NO_SWEEP)
  try {
    const newMessages = ids.map((id) => ({ key: `session:${id}` as const, type: 'events_stored' }))
    worker.deps.notifier.notify(await transaction(sql, (tx) => send(tx, newMessages)))
    const attempts = async () =>
      (await sql`select attempts from actor_message where key = ${`session:${poisoned}`}`)[0]?.attempts
    await eventually(async () => (await attempts()) >= 2)
    await eventually(async () => {
      const failing = await sql`select key from actor_message where key like 'session:%'`
      return failing.length === 1 && failing[0]?.key === `session:${poisoned}`
    })
    expect((await sessionRow(sql, poisoned)).watermark).toBe(-1)
    // From here on its turn succeeds.
    await sql`insert into commit_of_turn values (${poisoned})`
    await eventually(async () => (await attempts()) === undefined)
  } finally {
    await worker.close()
  }
  const commits = await sql<{ id: string; count: number }[]>`
    select session_id as id, count(*)::int as count from commit_of_turn group by 1`
  expect(commits.filter(({ id }) => others.includes(id)).map(({ count }) => count)).toEqual(
    others.map(() => 1),
  )
  for (const id of ids) expect(await ledger(sql, id)).toEqual(['a1'])
  expect(await creditsOf(sql, application)).toBe(100 - ids.length)
})

test('each session has the processing status of its own responses', async () => {
  const { sql } = database
  const application = await createApplication(sql)
  const ids = await sessionsOf(Array.from({ length: 4 }, () => application))
  await runSessions(sql, actor, ids)
  const [analyzed = '', failed = '', both = '', waiting = ''] = ids
  const set = (id: string, state: string) =>
    sql`update agent_response set state = ${state} where session_id = ${id} and external_event_id = 'a1'`
  await set(analyzed, 'analyzed')
  for (const id of [failed, both, waiting]) await set(id, 'failed')
  await storeEvents(sql, both, [assistant(3)])
  await storeEvents(sql, waiting, [user(9)])
  await runSessions(sql, actor, ids)
  const statuses = await Promise.all(ids.map(async (id) => (await sessionRow(sql, id)).processingStatus))
  expect(statuses).toEqual(['completed', 'failed', 'processing', 'pending'])
})
