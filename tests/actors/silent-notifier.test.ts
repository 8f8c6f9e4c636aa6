/** Without Redis, a worker whose listening connection went silent receives wake-ups again, without a sweep. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { transactionWithOutbox } from '../../src/actors/mailbox.ts'
import { NO_SWEEP, sessions, startWorker, type TestWorker, testDeps } from '../support/actors.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'

let database: TestDatabase
let proxy: TcpProxy
let worker: TestWorker
beforeAll(async () => {
  database = await createTestDatabase()
  const url = new URL(database.url)
  proxy = await startTcpProxy(Number(url.port))
  url.port = String(proxy.port)
  const deps = testDeps(database.url, null)
  // Only the notifier uses the broken connection.
  const listening = { ...deps, servers: { ...deps.servers, database: { url: url.href } } }
  worker = await startWorker(listening, [sessions({ work: async () => 'done' })], NO_SWEEP)
})
afterAll(async () => {
  await worker.close()
  await proxy.stop()
  await database.drop()
})

/** Sends messages to new actors until one of them is handled. */
async function isHeard(): Promise<void> {
  const { sql, notifier } = worker.deps
  await eventually(async () => {
    const key = `session:${crypto.randomUUID()}` as const
    await transactionWithOutbox({ sql, notifier }, (_, outbox) => outbox.send([{ key, type: 'work' }]))
    return eventually(async () => (await sql`select 1 from actor_message where key = ${key}`).length === 0, {
      deadlineMs: 500,
    }).then(
      () => true,
      () => false,
    )
  })
}

test('wake-ups arrive again after the connection was silent', async () => {
  await isHeard()
  expect(proxy.connections).toBe(1)
  proxy.setLine('silent')
  proxy.setLine('good')
  await isHeard()
}, 300_000)
