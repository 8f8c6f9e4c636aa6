/** Periodic tasks run once per interval, however many processes ask. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { runIfDue } from '../../src/actors/maintenance.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

const log = createLog('silent', 'test')
const RUNNING = new AbortController().signal

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

test('if many ask at the same time, one runs the task, and it does not run again before its period is over', async () => {
  let runs = 0
  const run = async () => {
    runs += 1
  }
  const task = { name: 'once', everySeconds: 60, run }
  const asked = await Promise.all(
    Array.from({ length: 10 }, () => runIfDue({ sql: database.sql, log }, task, RUNNING)),
  )
  expect(asked.filter(Boolean)).toHaveLength(1)
  expect(await runIfDue({ sql: database.sql, log }, task, RUNNING)).toBe(false)
  await database.sql`update maintenance set started_at = started_at - interval '61 seconds'`
  expect(await runIfDue({ sql: database.sql, log }, task, RUNNING)).toBe(true)
  expect(runs).toBe(2)
})

test('a failed task runs again in its next round', async () => {
  const task = { name: 'fails', everySeconds: 0, run: () => Promise.reject(new Error('no')) }
  expect(await runIfDue({ sql: database.sql, log }, task, RUNNING)).toBe(true)
  expect(await runIfDue({ sql: database.sql, log }, task, RUNNING)).toBe(true)
})
