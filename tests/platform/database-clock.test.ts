/** The time of the service is that of its database, whatever the clock of the machine says. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createDatabaseClock } from '../../src/platform/db/database-clock.ts'
import { connect } from '../../src/platform/db/pool.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

const HOUR_MS = 3_600_000
const log = createLog('silent', 'test')

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database?.drop())

const differenceMs = async (now: Date) => {
  const [row] = await database.sql<[{ now: Date }]>`select clock_timestamp() as now`
  return Math.abs(row.now.getTime() - now.getTime())
}

test('a machine that is two hours ahead tells the time of the database', async () => {
  const machine = { now: () => new Date(Date.now() + 2 * HOUR_MS) }
  const clock = createDatabaseClock(database.sql, log, machine)
  expect(await differenceMs(clock.now())).toBeGreaterThan(HOUR_MS)
  await clock.follow()
  clock.stop()
  expect(await differenceMs(clock.now())).toBeLessThan(5_000)
})

test('a machine whose clock is set back while it runs goes on', async () => {
  let setBackMs = 0
  const clock = createDatabaseClock(database.sql, log, { now: () => new Date(Date.now() - setBackMs) })
  await clock.follow()
  clock.stop()
  const before = clock.now()
  setBackMs = 2 * HOUR_MS
  expect(clock.now().getTime()).toBeWithin(before.getTime(), before.getTime() + 60_000)
})

test('an answer that waited for a connection moves no clock that is right', async () => {
  const sql = connect({ url: database.url }, { max: 1, applicationName: 'test' })
  const clock = createDatabaseClock(sql, log)
  await clock.follow()
  const busy = sql`select pg_sleep(3)`.execute()
  await clock.follow()
  clock.stop()
  await busy
  await sql.end({ timeout: 1 })
  expect(await differenceMs(clock.now())).toBeLessThan(1_000)
})

test('without an answer of the database, time goes on', async () => {
  const away = await createTestDatabase()
  const clock = createDatabaseClock(away.sql, log)
  await away.drop()
  await clock.follow()
  clock.stop()
  expect(await differenceMs(clock.now())).toBeLessThan(5_000)
})
