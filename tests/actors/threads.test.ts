/** Worker threads: only a broken thread is replaced, and its work continues without waiting for the lease. */
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  setDefaultTimeout,
  test,
} from 'bun:test'
import { send } from '../../src/actors/mailbox.ts'
import {
  startThreads,
  type Threads,
  type ThreadsDeps,
  type ThreadsOptions,
} from '../../src/actors/threads.ts'
import type { ActorKey } from '../../src/actors/types.ts'
import { serveTextPort } from '../../src/analysis/analyze/text-port.ts'
import { createTextProcesses, TEXT_PROCESS } from '../../src/analysis/analyze/text-process.ts'
import { loadConfig } from '../../src/app/config.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import { createTestDatabase, type TestDatabase, testServer } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'

setDefaultTimeout(300_000)

const newKey = (): ActorKey => `session:${crypto.randomUUID()}`
const ENTRY = new URL('../support/thread.worker.ts', import.meta.url).href

let database: TestDatabase
let threads: Threads | null = null
const logged: object[] = []

beforeAll(async () => {
  database = await createTestDatabase()
  await database.sql`create table applied (key text not null, seq bigint not null, attempts int)`
})
afterAll(() => database.drop())
beforeEach(async () => {
  await database.sql`truncate applied, actor_mailbox, actor_message, actor_dead_letter`
})
afterEach(async () => {
  await threads?.stop(5_000)
  threads = null
  logged.length = 0
})

async function start(
  workerThreads: number,
  options: Partial<ThreadsOptions> = { entry: ENTRY },
  more: Partial<ThreadsDeps> = {},
) {
  await database.sql`truncate worker`
  const servers = { database: { url: database.url }, redis: testServer('TEST_REDIS_URL') }
  const config = { ...loadConfig({ LOG_LEVEL: 'silent' }), workerThreads }
  const log = createLog('silent', 'test')
  log.error = ((details: object) => void logged.push(details)) as typeof log.error
  const deps = { config, servers, sql: database.sql, log, ...more }
  threads = await startThreads(deps, { respawnMs: 20, ...options })
  await threads.ready()
  return threads
}

const workers = async () => {
  const rows = await database.sql<
    { id: string }[]
  >`select id from worker where not is_accounted_for order by id`
  return rows.map((row) => row.id)
}
const empty = () =>
  eventually(async () => (await database.sql`select 1 from actor_message`).length === 0, {
    deadlineMs: 80_000,
  })

test.each([
  // It is unknown which message threw. The first end is only noted, so the message ends a second thread: the other one, or the
  // replacement of the first.
  ['explode', [0, 1]],
  ['reject', [1]],
  ['spin', [1]],
] as const)('a thread that dies of %s is replaced, and the others continue', async (type, survivors) => {
  // A busy machine may keep the other thread from answering for longer than three short pings.
  await start(2, { entry: ENTRY, pingMs: type === 'spin' ? 500 : 2_000 })
  const before = await workers()
  expect(before).toHaveLength(2)
  await send(database.sql, [{ key: newKey(), type }])
  await empty()
  await eventually(async () => (await workers()).length === 2)
  const after = await workers()
  const left = after.filter((id) => before.includes(id)).length
  expect(survivors.some((count) => count === left)).toBe(true)
  const keys = Array.from({ length: 20 }, newKey)
  await send(
    database.sql,
    keys.map((key) => ({ key, type: 'tick' })),
  )
  await empty()
  expect(await database.sql`select 1 from applied where key = any(${keys})`).toHaveLength(20)
})

describe('of the messages in hand only the one that ended the thread is blamed', () => {
  const RESPAWN_MS = 20
  /** One thread for all cases: one that started successfully is replaced at once, however often it ends. */
  let replaced: Threads
  beforeAll(async () => {
    replaced = await start(1, { entry: ENTRY, pingMs: 150, respawnMs: RESPAWN_MS })
    threads = null
  })
  afterAll(() => replaced.stop(5_000))

  test.each([
    ['session', 'spin', 1],
    ['session', 'spin thrice', 3],
    ['analysis', 'spin', 1],
  ] as const)('%s, %s', async (kind, type, ends) => {
    const culprit: ActorKey = `${kind}:${crypto.randomUUID()}`
    const innocent: ActorKey[] = [newKey(), `analysis:${crypto.randomUUID()}`]
    // In one transaction each: some share a turn of their thread with the culprit.
    await send(
      database.sql,
      innocent.map((key) => ({ key, type: 'wait' })),
    )
    await eventually(
      async () => (await database.sql`select 1 from actor_mailbox where owner is not null`).length === 2,
    )
    await send(database.sql, [{ key: culprit, type }])
    await empty()
    const attempts = await database.sql`select key, attempts from applied`
    expect(attempts).toHaveLength(2)
    for (const one of attempts) expect(one.attempts).toBe(0)
    expect(await database.sql`select 1 from actor_dead_letter`).toHaveLength(0)
    expect(logged).toContainEqual(expect.objectContaining({ running: { key: culprit, seq: 1 } }))
    const pauses = logged.flatMap((details) => ('waitMs' in details ? [details.waitMs] : []))
    expect(pauses).toEqual(Array.from({ length: ends }, () => RESPAWN_MS))
  })
})

describe('an error that nothing handles is blamed on the message in whose name it is thrown', () => {
  // Runs in its own process: in the test process, a thread does not learn of its last error.
  let child: Bun.Subprocess
  beforeAll(() => {
    const script = new URL('../support/threads-process.ts', import.meta.url).pathname
    child = Bun.spawn([process.execPath, script, database.url], { stdin: 'pipe' })
  })
  afterAll(async () => {
    child.kill()
    await child.exited
  })

  test.each(['analysis', 'session'] as const)('%s', async (kind) => {
    const keys: ActorKey[] = [`analysis:${crypto.randomUUID()}`, `${kind}:${crypto.randomUUID()}`]
    await send(database.sql, [
      { key: keys[0]!, type: 'wait' },
      { key: keys[1]!, type: 'explode' },
    ])
    await empty()
    expect([...(await database.sql`select key, attempts from applied order by attempts`)]).toEqual([
      { key: keys[0], attempts: 0 },
      { key: keys[1], attempts: 1 },
    ])
  })
})

test('threads report their metrics, and stop in order', async () => {
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

/** Child processes of this process that run text jobs. Some may be those of other files. */
function textProcesses(): Set<string> {
  const { stdout } = Bun.spawnSync(['ps', '-o', 'pid=,args=', '--ppid', String(process.pid)])
  const lines = stdout.toString().split('\n')
  return new Set(lines.filter((line) => line.includes(TEXT_PROCESS)).map((line) => line.trim()))
}

test('the threads of the service start and stop, and share the text processes', async () => {
  const textWork = createTextProcesses()
  try {
    await start(2, {}, { serve: (port) => serveTextPort(port, textWork) })
    expect(await workers()).toHaveLength(2)
    const before = textProcesses()
    await eventually(() => textProcesses().difference(before).size === 1)
    await threads?.stop(5_000)
    expect(await workers()).toEqual([])
  } finally {
    textWork.close()
  }
})
