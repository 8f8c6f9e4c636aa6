/**
 * Counts equal what a plain count of the rows gives, at every moment: with random writes of several connections, folds, backfills, and
 * connections that are cut in the middle. Both are read in one snapshot.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { hiddenRecordings, visibleRecording } from '../../src/calls/folders/store.ts'
import { readableApplications } from '../../src/hear/agents/reads/visible.store.ts'
import type { Viewer } from '../../src/kernel/principal.ts'
import { runDataChange } from '../../src/platform/db/data-change.ts'
import { connect, type Sql, type Tx } from '../../src/platform/db/pool.ts'
import { newId } from '../../src/platform/ids.ts'
import { createLog, type Log } from '../../src/platform/observability/log.ts'
import { COUNT_CHANGES, COVERAGE_CHANGES } from '../../src/understand/counts/backfill.ts'
import { type CountedRequest, countRows } from '../../src/understand/counts/counts.store.ts'
import { deleteZeros, foldChanges, lockFold } from '../../src/understand/counts/fold.store.ts'
import { foldAll } from '../../src/understand/counts/fold.ts'
import { recountAll } from '../../src/understand/counts/recount.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

const WRITERS = 4
const ROUNDS = 60
/** By whose days everything is counted, after a change. */
let timeZone = 'UTC'
const days = () => ({ timeZone, from: '2026-01-01', to: '2026-03-01' })
const NEVER = new AbortController().signal

let database: TestDatabase
let sql: Sql
let deps: { readonly sql: Sql; readonly log: Log }
const organizationId = newId()
const users = [newId(), newId()]
const applications = [newId(), newId()]
const folders = [newId(), newId(), newId()]
let sourceId = 0

const any = <T>(values: readonly T[]): T => values[Math.floor(Math.random() * values.length)] as T
const moment = () =>
  new Date(Date.UTC(2026, 0, 1) + Math.floor(Math.random() * 59 * 86_400_000)).toISOString()

beforeAll(async () => {
  database = await createTestDatabase()
  sql = connect({ url: database.url }, { max: 8, applicationName: 'counts-test' })
  deps = { sql, log: createLog('silent', 'test') }
  await sql`insert into organization (id, name) values (${organizationId}, 'Counted')`
  for (const id of users)
    await sql`insert into app_user (id, email, name) values (${id}, ${`${id}@example.com`}, 'U')`
  for (const [index, id] of applications.entries()) {
    await sql`insert into agent_application (id, organization_id, agent_key, name) values (${id}, ${organizationId}, ${id}, 'A')`
    const access = index === 0 ? { type: 'workspace' } : { type: 'restricted', userIds: [users[0] as string] }
    await sql`
      insert into agent_application_settings (organization_id, application_id, version, settings)
      values (${organizationId}, ${id}, 1, ${sql.json({ conversationAccess: access })})`
  }
  for (const [index, id] of folders.entries())
    await sql`
      insert into folder (id, organization_id, owner_user_id, name)
      values (${id}, ${organizationId}, ${index === 2 ? null : (users[index] ?? null)}, 'F')`
  const [source] = await sql<{ id: number }[]>`
    insert into feedback_source (organization_id, name, type) values (${organizationId}, 'S', 'api') returning id`
  sourceId = source?.id ?? 0
}, 300_000)
afterAll(async () => {
  await sql?.end({ timeout: 5 })
  await database?.drop()
})

/** `null` as an older process left it, before there were counts. */
const counted = () => any([true, true, true, null])

const PROCESSING = ['pending', 'completed', 'capture_disabled', 'billing_blocked'] as const
const STATES = ['pending', 'analyzed', 'failed', 'not_supported', 'no_words'] as const

async function addSession(tx: Tx) {
  const id = newId()
  await tx`
    insert into agent_session (
      id, organization_id, application_id, external_session_id, status, processing_status, agent_version, context, created_at,
      started_at, counted
    )
    values (
      ${id}, ${organizationId}, ${any(applications)}, ${id}, 'open', ${any(PROCESSING)}, ${any(['1', '2', null])},
      ${tx.json({ productArea: any(['billing', 'export']) })}, ${moment()}, ${any([moment(), null])}, ${counted()}
    )`
}

async function addSignals(tx: Tx) {
  await tx`
    insert into agent_signal (
      id, organization_id, application_id, session_id, source, kind, rating, external_event_id, sequence, revision, occurred_at,
      product_area, shown, counted
    )
    select
      gen_random_uuid(), s.organization_id, s.application_id, s.id, 'explicit_feedback', ${any(['praise', 'complaint'])},
      ${any(['positive', 'negative', null])}, gen_random_uuid()::text, 1, 1, ${moment()}, ${any(['billing', null])}, random() > 0.2,
      ${counted()}
    from (
      select * from agent_session where organization_id = ${organizationId} order by random() limit 1 for key share
    ) s, generate_series(1, ${any([1, 3])}::int)`
}

async function addRecording(tx: Tx) {
  const id = newId()
  await tx`
    insert into recording (id, organization_id, source, started_at, transcript_status, created_at, counted)
    values (${id}, ${organizationId}, ${any(['api', 'meeting'])}, ${any([moment(), null])}, 'waiting', ${moment()}, ${counted()})`
  for (const folder of folders.filter(() => Math.random() < 0.4))
    await tx`insert into recording_folder (organization_id, recording_id, folder_id) values (${organizationId}, ${id}, ${folder})`
  await tx`
    insert into insight_subject (id, organization_id, channel, recording_id, occurred_at, state, outcome, counted)
    values (${newId()}, ${organizationId}, 'recording', ${id}, ${moment()}, 'analyzed', ${any(['resolved', 'unclear', null])}, ${counted()})`
  await tx`
    insert into agent_signal (id, organization_id, recording_id, channel, source, kind, occurred_at, counted)
    values (${newId()}, ${organizationId}, ${id}, 'recording', 'qualitative_inference', 'praise', ${moment()}, ${counted()})`
}

const one = (tx: Tx, table: string) => tx`
  select id from ${tx(table)} where organization_id = ${organizationId} order by random() limit 1 for no key update skip locked`

const OPERATIONS: readonly ((tx: Tx) => Promise<unknown>)[] = [
  addSession,
  addSession,
  addSignals,
  addSignals,
  addRecording,
  async (tx) => tx`
    insert into feedback_record (organization_id, feedback_source_id, display_ts, fields, counted)
    values (${organizationId}, ${sourceId}, ${moment()}, '[]', ${counted()})`,
  async (tx) => tx`
    insert into insight_subject (id, organization_id, channel, session_id, application_id, occurred_at, state, outcome, counted)
    select gen_random_uuid(), organization_id, 'conversation', id, application_id, ${moment()}, 'analyzed', 'unresolved', ${counted()}
    from (select * from agent_session where organization_id = ${organizationId} order by random() limit 1 for key share) s
    on conflict (session_id) do update set outcome = 'resolved', analyzer_version = excluded.analyzer_version`,
  async (tx) => tx`
    update agent_session set processing_status = ${any(PROCESSING)} where id in (${one(tx, 'agent_session')})`,
  async (tx) => tx`
    update agent_session
    set started_at = ${moment()}, processing_status = ${any(PROCESSING)}, agent_version = ${any(['1', '4'])}
    where id in (${one(tx, 'agent_session')})`,
  async (tx) => tx`
    update recording
    set transcript_status = ${any(['waiting', 'processing', 'completed', 'failed'])}, asset_status = ${any([null, 'waiting', 'completed'])}
    where id in (${one(tx, 'recording')})`,
  async (tx) =>
    tx`update insight_subject set state = ${any(STATES)} where id in (${one(tx, 'insight_subject')})`,
  async (tx) => tx`update agent_session set status = 'ended' where id in (${one(tx, 'agent_session')})`,
  async (tx) =>
    tx`update agent_session set agent_version = '3', last_activity_at = now() where id in (${one(tx, 'agent_session')})`,
  async (tx) =>
    tx`update agent_signal set rating = 'negative', shown = not shown where id in (${one(tx, 'agent_signal')})`,
  async (tx) => tx`update agent_signal set comment = 'other' where id in (${one(tx, 'agent_signal')})`,
  async (tx) => tx`update recording set started_at = ${moment()} where id in (${one(tx, 'recording')})`,
  async (tx) =>
    tx`update feedback_record set display_ts = ${moment()} where id in (${one(tx, 'feedback_record')})`,
  async (tx) => tx`delete from agent_session where id in (${one(tx, 'agent_session')})`,
  async (tx) => tx`delete from agent_signal where id in (${one(tx, 'agent_signal')})`,
  async (tx) => tx`delete from recording where id in (${one(tx, 'recording')})`,
  async (tx) => tx`delete from feedback_record where id in (${one(tx, 'feedback_record')})`,
  async (tx) => tx`update folder set owner_user_id = ${any(users)} where id = ${folders[0] as string}`,
]

class Undo extends Error {}

/** A transaction of some operations that commits, rolls back, or loses its connection. */
async function write(): Promise<void> {
  await sql
    .begin(async (tx) => {
      for (let n = any([1, 2, 5]); n > 0; n--) await any(OPERATIONS)(tx)
      const fate = Math.random()
      if (fate < 0.1) throw new Undo()
      if (fate < 0.15) await tx`select pg_terminate_backend(pg_backend_pid())`
    })
    // Also deadlocks of the writers among themselves.
    .catch(() => undefined)
}

/** A fold that may lose its connection before it commits. */
async function fold(): Promise<void> {
  await sql
    .begin(async (tx) => {
      if (!(await lockFold(tx))) return
      await foldChanges(tx, any([3, 50, 1_000]))
      await deleteZeros(tx, 1_000)
      if (Math.random() < 0.3) await tx`select pg_terminate_backend(pg_backend_pid())`
    })
    .catch(() => undefined)
}

const VIEWERS: readonly Viewer[] = [
  { kind: 'organization', organizationId },
  ...users.map((userId): Viewer => ({ kind: 'user', organizationId, userId })),
]

const KEYS: Readonly<Record<CountedRequest['metric'], readonly CountedRequest['by'][]>> = {
  coverage: [
    ['status', 'channel'],
    ['status', 'day'],
    ['productArea', 'agentVersion'],
  ],
  signals: [
    ['day', 'kind'],
    ['channel', 'rating'],
    ['productArea'],
    ['week', 'agentVersion'],
    ['week', 'day'],
    ['productArea', 'agentVersion'],
  ],
  sessions: [
    ['status', 'day'],
    ['productArea', 'agentVersion'],
  ],
  feedback: [['day']],
  recordings: [['source', 'day']],
  outcomes: [
    ['outcome', 'channel'],
    ['agentVersion', 'day'],
  ],
}

/** The same by a plain count of rows. */
function plain(tx: Tx, viewer: Viewer, { metric, by }: CountedRequest) {
  const userId = viewer.kind === 'user' ? viewer.userId : null
  const ofApplication = tx`c.application_id = any(array(${readableApplications(tx, { organizationId, userId }, undefined)}))`
  const ofRecording = tx`c.recording_id in (select r.id from recording r where ${visibleRecording(tx, viewer)})`
  const said = tx`(case c.channel when 'conversation' then ${ofApplication} when 'recording' then ${ofRecording} else true end)`
  const isUnread = tx`s.processing_status in ('capture_disabled', 'billing_blocked')`
  const hasNoWords = tx`
    (r.transcript_status = 'failed' or (r.transcript_status = 'waiting' and (r.asset_status is null or r.asset_status = 'completed')))`
  const covered = tx`
    select
      s.organization_id, coalesce(s.started_at, s.created_at) as at, 'conversation' as channel, s.application_id,
      null::uuid as recording_id, 'not_read' as status, s.context ->> 'productArea' as product_area, s.agent_version
    from agent_session s
    where ${isUnread}
    union all
    select r.organization_id, coalesce(r.started_at, r.created_at), 'recording', null, r.id, 'not_read', null, null
    from recording r
    where ${hasNoWords}
    union all
    select
      i.organization_id, i.occurred_at, i.channel, i.application_id, i.recording_id,
      case i.state when 'analyzed' then 'read' else 'not_read' end, i.product_area, i.agent_version
    from insight_subject i
    where i.state <> 'pending'
      and not exists (select from agent_session s where s.id = i.session_id and ${isUnread})
      and not exists (select from recording r where r.id = i.recording_id and ${hasNoWords})`
  const rows = {
    coverage: tx`select c.*, true as counted from (${covered}) c where ${said}`,
    signals: tx`select c.*, c.occurred_at as at from agent_signal c where c.shown and ${said}`,
    sessions: tx`select c.*, coalesce(c.started_at, c.created_at) as at, c.context ->> 'productArea' as product_area from agent_session c where ${ofApplication}`,
    feedback: tx`select c.*, c.display_ts as at from feedback_record c where true`,
    recordings: tx`select r.*, coalesce(r.started_at, r.created_at) as at from recording r where ${visibleRecording(tx, viewer)}`,
    outcomes: tx`select c.*, c.occurred_at as at from insight_subject c where c.outcome is not null and ${said}`,
  }[metric]
  const key = (name: string | undefined) => {
    if (name === undefined) return tx`null::text`
    if (name === 'day') return tx`(at at time zone ${timeZone}::text)::date::text`
    if (name === 'week')
      return tx`to_char(date_trunc('week', at at time zone ${timeZone}::text), 'YYYY-MM-DD')`
    const columns: Record<string, string> = { productArea: 'product_area', agentVersion: 'agent_version' }
    return tx`${tx(columns[name] ?? name)}`
  }
  return tx<{ first: string | null; second: string | null; count: number }[]>`
    select ${key(by[0])} as first, ${key(by[1])} as second, count(*)::float8 as count
    from (${rows}) as x
    where x.counted and x.organization_id = ${organizationId}
      and (at at time zone ${timeZone}::text)::date >= ${days().from}::text::date
      and (at at time zone ${timeZone}::text)::date < ${days().to}::text::date
    group by 1, 2`
}

const sorted = (rows: readonly { first: string | null; second: string | null; count: number }[]) =>
  rows.map(({ first, second, count }) => `${first} ${second} ${count}`).toSorted()

async function compare(): Promise<number> {
  let groups = 0
  for (const [metric, allKeys] of Object.entries(KEYS)) {
    for (const by of allKeys) {
      const viewer = any(VIEWERS)
      const request = { metric, by } as CountedRequest
      await sql.begin('isolation level repeatable read read only', async (tx) => {
        const userId = viewer.kind === 'user' ? viewer.userId : null
        const access = {
          organizationId,
          applications: readableApplications(tx, { organizationId, userId }, undefined),
          hiddenRecordings: hiddenRecordings(tx, viewer),
        }
        const found = await countRows(tx, access, request, days())
        expect({ request, viewer, rows: sorted(found) }).toEqual({
          request,
          viewer,
          rows: sorted(await plain(tx, viewer, request)),
        })
        groups += found.length
      })
    }
  }
  return groups
}

describe('counts', () => {
  test('equal a plain count at every moment', async () => {
    let groups = 0
    let isDone = false
    const folding = (async () => {
      while (!isDone) {
        await fold()
        await Bun.sleep(5)
      }
    })()
    try {
      for (let round = 0; round < ROUNDS; round++) {
        const writers = Array.from({ length: WRITERS }, write)
        if (round % 5 === 0) groups += await compare()
        await Promise.all(writers)
      }
    } finally {
      isDone = true
      await folding
    }
    expect(groups).toBeGreaterThan(100)
    await backfill()
    expect(await foldAll(sql, NEVER, 7)).toBeGreaterThan(0)
    const [rest] = await sql`
      select
        (select count(*)::int from insight_count_change) as changes,
        (select count(*)::int from insight_count where count <= 0) as zeros,
        (select count(*)::int from agent_signal where counted is null) as uncounted`
    expect(rest).toEqual({ changes: 0, zeros: 0, uncounted: 0 })
    for (let again = 0; again < 5; again++) await compare()
  }, 300_000)

  test.each(['Pacific/Apia', 'America/St_Johns', 'UTC'])(
    'are by the days of %s after a change, whatever is written meanwhile',
    async (name) => {
      await sql`update organization set time_zone = ${name} where id = ${organizationId}`
      timeZone = name
      const writers = Array.from({ length: WRITERS }, async () => {
        for (let n = 0; n < 10; n++) await write()
      })
      const isCounted = async () => (await sql`select from day_recount`).length === 0
      while (!(await isCounted())) await recountAll(deps, NEVER, 7)
      await compare()
      await Promise.all(writers)
      for (let again = 0; again < 5; again++) await compare()
    },
    300_000,
  )

  test('wait for a transaction that may know the former time zone', async () => {
    const late = newId()
    const [begun, commit] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const writing = sql.begin(async (tx) => {
      await tx`
        insert into feedback_record (organization_id, feedback_source_id, external_id, fields, display_ts)
        values (${organizationId}, ${sourceId}, ${late}, '[]', '2026-01-31T23:30:00Z')`
      begun.resolve()
      await commit.promise
    })
    await begun.promise
    await sql`update organization set time_zone = 'Europe/Berlin' where id = ${organizationId}`
    timeZone = 'Europe/Berlin'
    await recountAll(deps, NEVER)
    expect(await sql`select from day_recount`).toHaveLength(1)
    commit.resolve()
    await writing
    await recountAll(deps, NEVER)
    expect(await sql`select from day_recount`).toHaveLength(0)
    const [row] = await sql`select counted_day::text as day from feedback_record where external_id = ${late}`
    expect(row?.day).toBe('2026-02-01')
    await compare()
  })

  test('of an organization that is gone are dropped', async () => {
    const gone = newId()
    await foldAll(sql, NEVER)
    await sql`
      insert into insight_count_change (organization_id, metric, day, channel, change)
      values (${gone}, 'feedback', '2026-01-01', 'feedback', 1)`
    expect(await foldAll(sql, NEVER)).toBe(1)
    expect(await sql`select 1 from insight_count where organization_id = ${gone}`).toHaveLength(0)
  })
})

/** Counts the rows of older versions, while others are written. */
async function backfill(): Promise<void> {
  await sql`delete from data_change where name like 'count_%' or name like 'coverage_%'`
  const all = [...COUNT_CHANGES, ...COVERAGE_CHANGES].map(async (change) => {
    let outcome = ''
    while (outcome !== 'finished')
      outcome = await runDataChange(
        sql,
        { ...change, rowsPerStep: 10 },
        { runner: newId(), stopping: NEVER, leaseMs: 50, pauseRatio: 0 },
      ).catch(() => 'again')
  })
  for (let n = 0; n < 20; n++) await write()
  await Promise.all(all)
  // What older processes wrote behind the position of the change.
  for (const table of ['agent_signal', 'agent_session', 'feedback_record', 'recording', 'insight_subject'])
    await sql`update ${sql(table)} set counted = true where counted is null`
}
