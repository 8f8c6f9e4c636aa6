/** Turns that share a transaction: what those that fail or are fenced off leave behind, where they go on, and who shares. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import { send } from '../../src/actors/mailbox.ts'
import type { RuntimeOptions } from '../../src/actors/options.ts'
import type { ActorDefinition, ActorKey, NewMessage, WakeUp } from '../../src/actors/types.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { NO_SWEEP, sessions, startWorker, type TestWorker, testDeps } from '../support/actors.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startPrivateRedis } from '../support/private-redis.ts'

const newKey = (): ActorKey => `session:${crypto.randomUUID()}`

let database: TestDatabase
let worker: TestWorker

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())
beforeEach(async () => {
  await database.sql`truncate actor_mailbox, actor_message, actor_dead_letter, worker`
})
afterEach(() => worker.close())

async function start(definition: ActorDefinition, options: Partial<RuntimeOptions> = {}) {
  worker = await startWorker(testDeps(database.url, null), [definition], { ...NO_SWEEP, ...options })
}

/** @returns what has to be notified of */
const post = (newMessages: readonly NewMessage[]): Promise<readonly WakeUp[]> =>
  transaction(database.sql, (tx) => send(tx, newMessages))

test('messages of a turn that was fenced off do not leave, however many are for one actor', async () => {
  const receiver = newKey()
  const lost = new Set<ActorKey>()
  const tell = {
    async tell({ key, seq }, _, sending) {
      for (let count = 0; count < 4; count++) await sending([{ key: receiver, type: 'told' }])
      if (seq === 1) return 'done'
      await database.sql`update actor_mailbox set epoch = epoch + 1 where key = ${key}`
      lost.add(key)
      return 'done'
    },
    told: async () => 'done',
  } satisfies Parameters<typeof sessions>[0]
  await start(sessions(tell), { batchMessages: 1 })
  // The first turn of each commits: from then on the connection knows the statements, and sends them without asking back.
  const keys = Array.from({ length: 8 }, newKey)
  for (const key of keys) {
    await post([{ key, type: 'tell' }])
    worker.deps.notifier.notify(await post([{ key, type: 'tell' }]))
    await eventually(() => lost.has(key))
  }
  await worker.stop(5_000)
  const [actor] = await database.sql`select last_seq as "lastSeq" from actor_mailbox where key = ${receiver}`
  expect(actor?.lastSeq).toBe(4 * keys.length)
})

test('an actor that always fails is given up although its notifier never stops', async () => {
  const [poison, ...others] = Array.from({ length: 10 }, newKey) as [ActorKey, ...ActorKey[]]
  let ringing = true
  const handlers = {
    async bad(_, tx) {
      await tx`select pg_sleep(0.01)`
      throw new Error('bad')
    },
    async good(_, tx) {
      await tx`select 1`
      return 'done'
    },
  } satisfies Parameters<typeof sessions>[0]
  await start(sessions(handlers, { maxAttempts: 1 }))
  worker.deps.notifier.notify(
    await post([{ key: poison, type: 'bad' }, ...others.map((key) => ({ key, type: 'good' }))]),
  )
  const notifier = (async () => {
    for (; ringing; await Bun.sleep(1)) worker.deps.notifier.notify([{ key: poison, seq: 1, type: 'bad' }])
  })()
  try {
    await eventually(
      async () => (await database.sql`select 1 from actor_dead_letter where key = ${poison}`).length === 1,
    )
    await eventually(async () => (await database.sql`select 1 from actor_message`).length === 0)
  } finally {
    ringing = false
    await notifier
  }
})

test('what wake-ups at one moment is shared with a worker that has nothing to do', async () => {
  const redis = await startPrivateRedis()
  const ticked = [new Set<ActorKey>(), new Set<ActorKey>()]
  const [first, second] = await Promise.all(
    ticked.map((mine) => {
      const handlers = {
        async tick({ key }, tx) {
          mine.add(key)
          await tx`select 1`
          return 'done'
        },
      } satisfies Parameters<typeof sessions>[0]
      const options = { ...NO_SWEEP, batchKeys: 8, batchSlots: 2 }
      return startWorker(testDeps(database.url, redis.url), [sessions(handlers)], options)
    }),
  )
  worker = first!
  try {
    await eventually(async () =>
      String(await redis.command('INFO', 'clients')).includes('blocked_clients:2\r'),
    )
    // As many as one worker has places for.
    const keys = Array.from({ length: 16 }, newKey)
    worker.deps.notifier.notify(await post(keys.map((key) => ({ key, type: 'tick' }))))
    await eventually(() => ticked.reduce((sum, { size }) => sum + size, 0) === keys.length)
    expect(ticked.map(({ size }) => size)).toEqual([8, 8])
  } finally {
    await second!.close()
    await worker.stop(5_000)
    await redis.stop()
  }
})
