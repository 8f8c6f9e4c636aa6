/** If Redis is killed, frozen or emptied, messages are late but never lost. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import { send } from '../../src/actors/mailbox.ts'
import type { ActorKey } from '../../src/actors/types.ts'
import {
  NO_SWEEP,
  sessions,
  startWorker,
  type TestDeps,
  type TestWorker,
  testDeps,
} from '../support/actors.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { type PrivateRedis, startPrivateRedis } from '../support/private-redis.ts'

const newKey = (): ActorKey => `session:${crypto.randomUUID()}`
const definition = sessions({ tick: async () => 'done' })

let database: TestDatabase
let redis: PrivateRedis
let sender: TestDeps
const workers: TestWorker[] = []

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())
beforeEach(async () => {
  redis = await startPrivateRedis()
  sender = testDeps(database.url, redis.url)
})
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.close()))
  await sender.close()
  await redis.stop()
}, 300_000)

async function start(options = {}) {
  workers.push(await startWorker(testDeps(database.url, redis.url), [definition], options))
}

async function post(...keys: readonly ActorKey[]) {
  sender.notifier.notify(
    await send(
      database.sql,
      keys.map((key) => ({ key, type: 'tick' })),
    ),
  )
}

const isEmpty = async () => (await database.sql`select 1 from actor_message`).length === 0
const empty = () => eventually(isEmpty)

/** Sends messages until the wake-up of one arrives; earlier ones have to wait for the sweep. */
async function untilHeard() {
  await eventually(async () => {
    const key = newKey()
    await post(key)
    const gone = async () => (await database.sql`select 1 from actor_message where key = ${key}`).length === 0
    await eventually(gone, { deadlineMs: 300 })
  })
}

test('while Redis is away the sweep finds the messages, and lost wake-ups are counted', async () => {
  await start({ batchKeys: 2, batchSlots: 1, sweepMs: 50 })
  await redis.kill()
  await eventually(() => sender.redis?.status !== 'ready')
  await post(...Array.from({ length: 30 }, newKey))
  await empty()
  await eventually(async () => ((await sender.metrics.lostWakeUps.get()).values[0]?.value ?? 0) === 30)
})

test('when Redis is back, empty, wake-ups arrive again', async () => {
  await start(NO_SWEEP)
  await post(newKey())
  await empty()
  await redis.restart()
  await untilHeard()
})

test('after everything was flushed, wake-ups arrive again', async () => {
  await start(NO_SWEEP)
  await redis.command('FLUSHALL')
  await untilHeard()
})

async function consumers(stream: string): Promise<readonly unknown[]> {
  return (await redis.command('XINFO', 'CONSUMERS', stream, 'workers')) as unknown[]
}

test('a stopping worker leaves no consumer behind', async () => {
  await start()
  await post(newKey())
  const [stream] = (await eventually(async () => {
    const keys = (await redis.command('KEYS', '*:actors:short')) as string[]
    return keys.length === 1 && keys
  })) as string[]
  await eventually(async () => (await consumers(stream!)).length === 1)
  await Promise.all(workers.splice(0).map((worker) => worker.close()))
  expect(await consumers(stream!)).toEqual([])
})
