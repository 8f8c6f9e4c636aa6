/** When a wake-up is lost, a turn hangs or a worker dies, no message is lost, no turn commits twice, and no other actor waits. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import { claim, WORKER_ENDED } from '../../src/actors/claim-statements.ts'
import { send } from '../../src/actors/mailbox.ts'
import type { RuntimeOptions } from '../../src/actors/options.ts'
import { type ActorDefinition, type ActorKey, failuresOf, type Message } from '../../src/actors/types.ts'
import type { Tx } from '../../src/platform/db/pool.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { NO_SWEEP, sessions, startWorker, type TestWorker, testDeps } from '../support/actors.ts'
import { createTestDatabase, type TestDatabase, testServer } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'

const newKey = (): ActorKey => `session:${crypto.randomUUID()}`
const ALONE: Partial<RuntimeOptions> = { batchKeys: 1 }

let database: TestDatabase
const workers: TestWorker[] = []

beforeAll(async () => {
  database = await createTestDatabase()
  await database.sql`
    create table applied (id bigserial primary key, key text not null, seq bigint not null, worker text)`
})
afterAll(() => database.drop())
beforeEach(async () => {
  await database.sql`truncate applied, actor_mailbox, actor_message, actor_dead_letter, worker`
})
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.close()))
})

async function start(definition: ActorDefinition, options: Partial<RuntimeOptions> = {}) {
  const worker = await startWorker(
    testDeps(database.url, testServer('TEST_REDIS_URL')),
    [definition],
    options,
  )
  workers.push(worker)
  return worker
}

/** Stores messages without wake-ups, so that the sweep has to find them. */
async function post(keys: readonly ActorKey[], type = 'tick') {
  await transaction(database.sql, (tx) =>
    send(
      tx,
      keys.map((key) => ({ key, type })),
    ),
  )
}

const empty = () => eventually(async () => (await database.sql`select 1 from actor_message`).length === 0)

/** Like `empty`, for messages that wait after a death. */
const emptyWithoutPauses = () =>
  eventually(async () => {
    await database.sql`update actor_message set available_at = now() where available_at > now()`
    return (await database.sql`select 1 from actor_message`).length === 0
  })

async function apply({ key, seq }: Message, tx: Tx): Promise<'done'> {
  await tx`insert into applied (key, seq) values (${key}, ${seq})`
  return 'done'
}

async function applied(): Promise<{ key: ActorKey; seq: number }[]> {
  return [...(await database.sql<{ key: ActorKey; seq: number }[]>`select key, seq from applied order by id`)]
}

test('the sweep finds messages whose wake-up was lost', async () => {
  const keys = Array.from({ length: 5 }, newKey)
  await start(sessions({ tick: apply }))
  await post(keys)
  await empty()
  expect((await applied()).map((row) => row.key).toSorted()).toEqual(keys.toSorted())
})

test('a backlog without wake-ups that is larger than a sweep does not wait for a second interval', async () => {
  const keys = Array.from({ length: 300 }, newKey)
  await post(keys)
  await start(sessions({ tick: apply }), { ...NO_SWEEP, sweepLimit: 40, batchKeys: 8 })
  await empty()
  expect((await applied()).map((row) => row.key).toSorted()).toEqual(keys.toSorted())
})

test('a backlog of long turns that no worker has room for hides no short turn from the sweep', async () => {
  const proceed = Promise.withResolvers<void>()
  const form: ActorDefinition = {
    kind: 'form',
    pool: 'long',
    maxAttempts: 3,
    handlers: {
      async tick(turn) {
        await proceed.promise
        await turn.finish(async () => {})
      },
    },
  }
  await post(Array.from({ length: 20 }, (): ActorKey => `form:${crypto.randomUUID()}`))
  const keys = Array.from({ length: 10 }, newKey)
  await post(keys)
  const deps = testDeps(database.url, testServer('TEST_REDIS_URL'))
  workers.push(await startWorker(deps, [form, sessions({ tick: apply })], { sweepLimit: 5 }))
  await eventually(async () => (await applied()).length === keys.length)
  expect((await applied()).map((row) => row.key).toSorted()).toEqual(keys.toSorted())
  proceed.resolve()
  await empty()
})

test('the actors of a dead worker are taken over, and their heads are not blamed for a first end', async () => {
  const key = newKey()
  await post([key])
  await database.sql`insert into worker (id, heartbeat_at) values ('dead', now() - interval '1 minute')`
  await claim(database.sql, 'dead', [key])
  const attempts: number[] = []
  await start(
    sessions({
      async tick(message, tx) {
        attempts.push(message.attempts)
        return apply(message, tx)
      },
    }),
  )
  await empty()
  expect(attempts).toEqual([0])
})

test('a message that ends every worker that runs it becomes a dead letter', async () => {
  const [poison, innocent] = [newKey(), newKey()]
  await post([poison, innocent])
  // As if two workers had died of it: it was their head, and they could not report it.
  await database.sql`
    update actor_message set attempts = 2, deaths = 2, last_error = ${WORKER_ENDED} where key = ${poison}`
  await claim(database.sql, 'a worker whose row is gone', [poison])
  await start(sessions({ tick: apply }), { maxDeaths: 3 })
  await emptyWithoutPauses()
  expect(await applied()).toEqual([{ key: innocent, seq: 1 }])
  const [newMessage] = await database.sql`select key, attempts, last_error from actor_dead_letter`
  expect(newMessage).toEqual({ key: poison, attempts: 3, last_error: WORKER_ENDED })
})

test('ends of workers do not count as failures of a message', async () => {
  const key = newKey()
  await post([key])
  // Three times the service was killed while it ran the message.
  await database.sql`
    update actor_message set attempts = 3, deaths = 3, last_error = ${WORKER_ENDED} where key = ${key}`
  const failures: number[] = []
  await start(
    sessions(
      {
        async tick(message, tx) {
          failures.push(failuresOf(message))
          if (failuresOf(message) < 2) throw new Error('it fails')
          return apply(message, tx)
        },
      },
      { maxAttempts: 3 },
    ),
  )
  await emptyWithoutPauses()
  expect(failures).toEqual([0, 1, 2])
  expect(await applied()).toEqual([{ key, seq: 1 }])
})

test('a message that ends its workers is given up long before its attempts are used up', async () => {
  const [poison, unlucky] = [newKey(), newKey()]
  await post([poison, unlucky])
  await database.sql`update actor_message set attempts = 9, deaths = 9, last_error = ${WORKER_ENDED} where key = ${poison}`
  await database.sql`update actor_message set attempts = 30, deaths = 3 where key = ${unlucky}`
  for (const key of [poison, unlucky]) await claim(database.sql, 'a worker whose row is gone', [key])
  await start(sessions({ tick: apply }, { maxAttempts: 60 }))
  await emptyWithoutPauses()
  expect(await applied()).toEqual([{ key: unlucky, seq: 1 }])
  const newMessages = await database.sql`select key, attempts, last_error from actor_dead_letter`
  expect([...newMessages]).toEqual([{ key: poison, attempts: 10, last_error: WORKER_ENDED }])
})

test('a turn that lost its actor commits nothing, and the new owner runs it again', async () => {
  const key = newKey()
  const [started, proceed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let runs = 0
  await start(
    sessions({
      async tick(message, tx) {
        runs += 1
        await apply(message, tx)
        if (runs === 1) {
          started.resolve()
          await proceed.promise
        }
        return 'done'
      },
    }),
  )
  await post([key])
  await started.promise
  // Another worker takes over while the turn is paused, handles the message, and releases the actor.
  await database.sql`update actor_mailbox set epoch = epoch + 1, owner = 'other' where key = ${key}`
  proceed.resolve()
  await eventually(
    async () => (await database.sql`select 1 from actor_mailbox where epoch >= 3`).length === 1,
  )
  await empty()
  expect(runs).toBe(2)
  expect(await applied()).toEqual([{ key, seq: 1 }])
})

test('a short turn that hangs is abandoned and counted, and can write nothing any more', async () => {
  const [hanging, other] = [newKey(), newKey()]
  const late = Promise.withResolvers<string>()
  let runs = 0
  await start(
    sessions({
      async tick(message, tx) {
        if (message.key === hanging && runs++ === 0) {
          await apply({ ...message, seq: -1 }, tx)
          await eventually(() => runs > 1) // it was abandoned and tried again
          const outcome = apply({ ...message, seq: -2 }, tx)
          outcome.then(
            () => late.resolve('accepted'),
            (error: Error) => late.resolve(error.message),
          )
          return outcome
        }
        return apply(message, tx)
      },
    }),
    { turnTimeoutMs: 300, batchTimeoutMs: 200, ...ALONE },
  )
  await post([hanging, other])
  await empty()
  expect(await late.promise).toBe('the turn is over')
  expect((await applied()).toSorted((a, b) => a.seq - b.seq)).toHaveLength(2)
})

test('turns that hang on the database hold up only themselves', async () => {
  const [stuck, ...others] = Array.from({ length: 20 }, newKey)
  await start(
    sessions({
      async tick(message, tx) {
        if (message.key === stuck) await tx`select pg_advisory_xact_lock(42)`
        return apply(message, tx)
      },
    }),
    { turnTimeoutMs: 2_000, batchTimeoutMs: 200 },
  )
  await transaction(database.sql, async (tx) => {
    await tx`select pg_advisory_xact_lock(42)`
    await post([stuck!, ...others])
    await eventually(async () => (await applied()).length === others.length)
  })
  await empty()
  expect(await applied()).toHaveLength(20)
})

test('one bad turn of a shared transaction does not cost the others an attempt', async () => {
  const keys = Array.from({ length: 20 }, newKey)
  const attempts = new Map<ActorKey, number>()
  await start(
    sessions(
      {
        async tick(message, tx) {
          attempts.set(message.key, message.attempts)
          if (message.key === keys[7]) await tx`select 1 / 0`
          return apply(message, tx)
        },
      },
      { maxAttempts: 3 },
    ),
  )
  await post(keys)
  await empty()
  expect(await applied()).toHaveLength(19)
  expect(keys.filter((key) => attempts.get(key) !== 0)).toEqual([keys[7]!])
})

test('a short turn cannot open a savepoint, which would include the statements of others', async () => {
  const key = newKey()
  await start(
    sessions(
      {
        async tick(message, tx) {
          await tx.savepoint(async (inner) => inner`select 1`)
          return apply(message, tx)
        },
      },
      { maxAttempts: 1 },
    ),
  )
  await post([key])
  await empty()
  const [newMessage] = await database.sql`select last_error from actor_dead_letter`
  expect(newMessage?.last_error).toContain('opens no savepoint')
})

test('connections that are terminated during turns do not lose, repeat or reorder messages', async () => {
  const keys = Array.from({ length: 30 }, newKey)
  for (let i = 0; i < 2; i++) {
    await start(
      sessions(
        {
          async tick(message, tx) {
            await apply(message, tx)
            await tx`select pg_sleep(0.002)`
            return 'done'
          },
        },
        { maxAttempts: 50 },
      ),
      { batchKeys: 5 },
    )
  }
  for (let i = 0; i < 10; i++) await post(keys)
  for (let kills = 0; kills < 15; ) {
    const rows = await database.sql`
      select pg_terminate_backend(pid)
      from pg_stat_activity
      where application_name = 'test-worker' and datname = current_database() and xact_start is not null
      limit 1`
    kills += rows.length
    if (rows.length === 0 && (await database.sql`select 1 from actor_message limit 1`).length === 0) break
  }
  await empty()
  expect(await database.sql`select 1 from actor_dead_letter`).toHaveLength(0)
  const perKey = Map.groupBy(await applied(), (row) => row.key)
  for (const key of keys) {
    expect(perKey.get(key)?.map((row) => row.seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  }
}, 300_000)
