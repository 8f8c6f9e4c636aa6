/** Without Redis, a worker whose listening connection was cut without a word hears notifiers again, and needs no sweep for it. */
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
  // The notifier alone is on the bad line.
  const listening = { ...deps, servers: { ...deps.servers, database: { url: url.href } } }
  worker = await startWorker(listening, [sessions({ work: async () => 'done' })], NO_SWEEP)
})
afterAll(async () => {
  await worker.close()
  await proxy.stop()
  await database.drop()
})

/** Sends messages to new actors until one of them is dealt with. */
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

test('notifiers are heard again after the line was silent', async () => {
  await isHeard()
  expect(proxy.connections).toBe(1)
  proxy.setLine('silent')
  proxy.setLine('good')
  await isHeard()
}, 40_000)
