/** A busy worker lets wake-ups gather, so that their turns share a transaction. Lone wake-ups and backlogs wait for nothing. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import { send } from '../../src/actors/mailbox.ts'
import type { RuntimeOptions } from '../../src/actors/options.ts'
import type { ActorKey } from '../../src/actors/types.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { NO_SWEEP, sessions, startWorker, type TestWorker, testDeps } from '../support/actors.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'

/** Longer than any test. */
const FOREVER_MS = 600_000

let database: TestDatabase
let worker: TestWorker
/** The actors of each transaction. */
let transactions: Map<string, number>
let turns = 0

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())
beforeEach(() => {
  transactions = new Map()
  turns = 0
})
afterEach(() => worker.close())

async function start(options: Partial<RuntimeOptions>) {
  const handlers = {
    async tick(_, tx) {
      const [row] = await tx<{ id: string }[]>`select pg_current_xact_id()::text as id`
      transactions.set(row!.id, (transactions.get(row!.id) ?? 0) + 1)
      turns += 1
      return 'done'
    },
  } satisfies Parameters<typeof sessions>[0]
  worker = await startWorker(testDeps(database.url, null), [sessions(handlers)], { ...NO_SWEEP, ...options })
}

/** Sends a message to each of `count` new actors, and all wake-ups at once. */
async function post(count: number): Promise<void> {
  const keys = Array.from({ length: count }, (): ActorKey => `session:${crypto.randomUUID()}`)
  const wakeUps = await transaction(database.sql, (tx) =>
    send(
      tx,
      keys.map((key) => ({ key, type: 'tick' })),
    ),
  )
  worker.deps.notifier.notify(wakeUps)
}

const done = (count: number) => eventually(() => turns === count)

test('after several wake-ups at once, the next ones gather and share a transaction', async () => {
  await start({ gatherMs: 2_000 })
  await post(4)
  await done(4)
  for (let count = 0; count < 6; count++) await post(1)
  await done(10)
  expect([...transactions.values()]).toEqual([4, 6])
})

test('a wake-up that follows a lone one waits for nothing', async () => {
  await start({ gatherMs: FOREVER_MS })
  for (let count = 1; count <= 3; count++) {
    await post(1)
    await done(count)
  }
})

test('a backlog waits for nothing', async () => {
  await start({ gatherMs: FOREVER_MS, batchKeys: 4 })
  await post(8)
  await done(8)
})

test('a worker that lets wake-ups gather stops at once', async () => {
  await start({ gatherMs: FOREVER_MS })
  await post(4)
  await done(4)
  await worker.stop(5_000)
})
