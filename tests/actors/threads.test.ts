/** Worker threads: one that breaks is replaced, alone, and its work goes on without waiting for the lease. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import { send } from '../../src/actors/mailbox.ts'
import { startThreads, type Threads, type ThreadsOptions } from '../../src/actors/threads.ts'
import type { ActorKey } from '../../src/actors/types.ts'
import { loadConfig } from '../../src/config.ts'
import { createLog } from '../../src/platform/log.ts'
import { createTestDatabase, type TestDatabase, testServer } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'

const newKey = (): ActorKey => `session:${crypto.randomUUID()}`
const ENTRY = new URL('../support/thread.worker.ts', import.meta.url).href

let database: TestDatabase
let threads: Threads | null = null

beforeAll(async () => {
  database = await createTestDatabase()
  await database.sql`create table applied (key text not null, seq bigint not null)`
})
afterAll(() => database.drop())
beforeEach(async () => {
  await database.sql`truncate applied, actor, actor_message, actor_dead_letter, worker`
})
afterEach(async () => {
  await threads?.stop(5_000)
  threads = null
})

async function start(workerThreads: number, options: Partial<ThreadsOptions> = { entry: ENTRY }) {
  const servers = { database: { url: database.url }, redis: testServer('TEST_REDIS_URL') }
  const config = { ...loadConfig({ LOG_LEVEL: 'silent' }), workerThreads }
  const deps = { config, servers, sql: database.sql, log: createLog('silent', 'test') }
  threads = await startThreads(deps, { respawnMs: 20, ...options })
  await threads.ready()
  return threads
}

const workers = async () => {
  const rows = await database.sql<{ id: string }[]>`select id from worker order by id`
  return rows.map((row) => row.id)
}
const empty = () => eventually(async () => (await database.sql`select 1 from actor_message`).length === 0)

test.each(['explode', 'reject', 'spin'])(
  'a thread that dies of %s is replaced, and the others go on',
  async (type) => {
    await start(2, { entry: ENTRY, pingMs: 100 })
    const before = await workers()
    expect(before).toHaveLength(2)
    await send(database.sql, [{ key: newKey(), type }])
    await empty()
    await eventually(async () => (await workers()).length === 2)
    const after = await workers()
    expect(after.filter((id) => before.includes(id))).toHaveLength(1)
    const keys = Array.from({ length: 20 }, newKey)
    await send(
      database.sql,
      keys.map((key) => ({ key, type: 'tick' })),
    )
    await empty()
    expect(await database.sql`select 1 from applied`).toHaveLength(20)
  },
  20_000,
)

test('threads tell their metrics, and stop in order', async () => {
  const running = await start(2)
  await send(database.sql, [{ key: newKey(), type: 'tick' }])
  await empty()
  const registries = await running.metricsJson()
  expect(registries).toHaveLength(2)
  expect(JSON.stringify(registries)).toContain('earshot_actor_turns_total')
  await running.stop(5_000)
  threads = null
  expect(await workers()).toEqual([])
  expect(await running.metricsJson()).toEqual([])
})

test('the threads of the service start and stop', async () => {
  await start(1, {})
  expect(await workers()).toHaveLength(1)
  await threads?.stop(5_000)
  expect(await workers()).toEqual([])
})
