/** The usage of an application: exact beside writes and folds, and as fast with a large ledger as with a small one. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { foldUsage } from '../../src/access/quotas/fold.ts'
import { usageByDay } from '../../src/hear/agents/applications/usage.store.ts'
import { usageChange } from '../../src/hear/agents/applications/usage.ts'
import { runDataChange } from '../../src/platform/db/data-change.ts'
import { connect } from '../../src/platform/db/pool.ts'
import { newId } from '../../src/platform/ids.ts'
import { noting, prepare, reading, type Statement } from '../support/plans.ts'
import { rounds } from '../support/rounds.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

setDefaultTimeout(300_000)

const UNIT = 'agent_response_processed'
const never = new AbortController().signal

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.stop())

interface Ledger {
  readonly organizationId: string
  readonly applicationId: string
  /** Adds `units`, spread over the 30 days before `now`. `counted` null: as before the counts. */
  add(units: number, counted?: boolean | null): Promise<unknown>
  /** In the period, by the rows of the ledger. */
  counted(from: Date, until: Date): Promise<number>
  usage(from: Date, until: Date): Promise<number>
}

const NOW = new Date('2026-05-04T10:20:30.456Z')
const DAY_MS = 86_400_000

async function openLedger(): Promise<Ledger> {
  const { sql } = server.database
  const { organizationId } = await server.createTenant()
  const { applicationId } = await server.createApplication(organizationId)
  return {
    organizationId,
    applicationId,
    add: (units, counted = true) => sql`
      insert into agent_usage (organization_id, application_id, session_id, external_event_id, unit, created_at, counted)
      select ${organizationId}, ${applicationId}, gen_random_uuid(), 'e', ${UNIT},
        ${NOW}::timestamptz - random() * interval '30 days', ${counted}
      from generate_series(1, ${units}::int)`,
    async counted(from, until) {
      const [row] = await sql`
        select count(*)::int as count from agent_usage
        where application_id = ${applicationId} and created_at >= ${from} and created_at < ${until}`
      return row?.count
    },
    async usage(from, until) {
      const days = await usageByDay(sql, organizationId, applicationId, UNIT, { from, until })
      return days.reduce((sum, { count }) => sum + count, 0)
    },
  }
}

/** Rows of the ledger that stand before the migration did: no trigger counted them. */
async function addOlder(ledger: Ledger, units: number): Promise<void> {
  const { sql } = server.database
  await sql`alter table agent_usage disable trigger count_units`
  await ledger.add(units, null)
  await sql`alter table agent_usage enable trigger count_units`
  await sql`update agent_application set usage_counted = null where id = ${ledger.applicationId}`
}

/** Periods that begin and end within an hour, at its border, and in the same hour. */
const PERIODS = [
  [new Date(NOW.getTime() - 30 * DAY_MS), NOW],
  [new Date('2026-04-10T00:00:00Z'), new Date('2026-04-20T00:00:00Z')],
  [new Date('2026-04-10T05:59:59.999Z'), new Date('2026-04-20T06:00:00.001Z')],
  [new Date('2026-04-11T05:10:00Z'), new Date('2026-04-11T05:50:00Z')],
  [new Date('2026-04-11T05:10:00Z'), new Date('2026-04-11T06:05:00Z')],
  [new Date('2026-04-11T05:00:00Z'), new Date('2026-04-11T06:00:00Z')],
] as const

async function expectExact(ledger: Ledger): Promise<void> {
  for (const [from, until] of PERIODS)
    expect([from, until, await ledger.usage(from, until)]).toEqual([
      from,
      until,
      await ledger.counted(from, until),
    ])
}

describe('usage of an application', () => {
  test('is that of the ledger for any period: before a fold, after it, and of units older than the counts', async () => {
    const { sql } = server.database
    const ledger = await openLedger()
    await ledger.add(4_000)
    await expectExact(ledger)
    await foldUsage(sql, never)
    await ledger.add(1_000)
    await expectExact(ledger)
    await addOlder(ledger, 3_000)
    await expectExact(ledger)
    await sql`delete from data_change where name = ${usageChange.name}`
    expect(await runDataChange(sql, usageChange, { runner: newId(), stopping: never })).toBe('finished')
    await expectExact(ledger)
    await foldUsage(sql, never, 7)
    await expectExact(ledger)
    expect([...(await sql`select * from usage_change`)]).toEqual([])
  })

  test('grows beside concurrent writes, folds and the data change, and is exact at their end', async () => {
    const { sql } = server.database
    const ledger = await openLedger()
    await addOlder(ledger, 2_000)
    await sql`delete from data_change where name = ${usageChange.name}`
    let isWriting = true
    const [from, until] = PERIODS[0]
    const write = async () => {
      for (let round = 0; round < rounds(25, 250); round += 1) await ledger.add(7)
    }
    const fold = async () => {
      while (isWriting) await foldUsage(sql, never, 10)
    }
    const read = async () => {
      let last = 2_000
      while (isWriting) {
        const now = await ledger.usage(from, until)
        expect(now).toBeGreaterThanOrEqual(last)
        last = now
      }
    }
    const beside = [
      fold(),
      fold(),
      read(),
      runDataChange(sql, usageChange, { runner: newId(), stopping: never }),
    ]
    await Promise.all([write(), write(), write()])
    isWriting = false
    await Promise.all(beside)
    await expectExact(ledger)
  })

  test('reads as little of a large ledger as of a small one', async () => {
    const { sql } = server.database
    const ledger = await openLedger()
    const [from, until] = PERIODS[0]
    const rowsRead = async () => {
      await foldUsage(sql, never)
      await sql`vacuum analyze agent_usage, usage_count, usage_change`
      let sent: () => Statement | null = () => null
      const query = noting(sql, (statement) => {
        const before = sent
        sent = () => statement() ?? before()
      })
      await usageByDay(query, ledger.organizationId, ledger.applicationId, UNIT, { from, until })
      const statement = sent()
      if (statement === null) throw new Error('nothing was sent')
      const planner = connect({ url: server.database.url }, { max: 1, applicationName: 'planner' })
      try {
        await prepare(planner, 'usage', statement)
        return (await reading(planner, 'usage', statement)).rows
      } finally {
        await planner.end()
      }
    }
    await ledger.add(2_000)
    const few = await rowsRead()
    // Every hour of the 30 days has a unit by now; the parts of an hour at both ends grow with the ledger.
    await ledger.add(38_000)
    expect(await rowsRead()).toBeLessThan(few + 1_000)
  })
})
