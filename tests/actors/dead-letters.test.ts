/** Operators retry and skip messages that were given up. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import { listActors, listDeadLetters, retryDeadLetter, skipMessage } from '../../src/actors/dead-letters.ts'
import { registerActorGauges } from '../../src/actors/gauges.ts'
import { send } from '../../src/actors/mailbox.ts'
import type { RuntimeOptions } from '../../src/actors/options.ts'
import type { ActorKey } from '../../src/actors/types.ts'
import { NeedsOperator } from '../../src/platform/errors.ts'
import {
  NO_SWEEP,
  sessions,
  startWorker,
  type TestDeps,
  type TestWorker,
  testDeps,
} from '../support/actors.ts'
import { createTestDatabase, type TestDatabase, testServer } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'

const newKey = (): ActorKey => `session:${crypto.randomUUID()}`

let database: TestDatabase
let deps: TestDeps
let broken = true
let tries = 0
const workers: TestWorker[] = []

beforeAll(async () => {
  database = await createTestDatabase()
  await database.sql`create table applied (id bigserial primary key, key text not null, seq bigint not null)`
  deps = testDeps(database.url, testServer('TEST_REDIS_URL'))
})
afterAll(async () => {
  await deps.close()
  await database.drop()
})
beforeEach(async () => {
  broken = true
  tries = 0
  await database.sql`truncate applied, actor_mailbox, actor_message, actor_dead_letter, worker`
})
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.close()))
})

async function start(options: Partial<RuntimeOptions> = {}, maxAttempts = 2) {
  const definition = sessions(
    {
      async tick(message, tx) {
        await tx`insert into applied (key, seq) values (${message.key}, ${message.seq})`
        return 'done'
      },
      async held(message, tx) {
        tries++
        if (broken) throw new NeedsOperator('a setting is wrong')
        await tx`insert into applied (key, seq) values (${message.key}, ${message.seq})`
        return 'done'
      },
      async fragile(message, tx) {
        if (broken) throw new Error('broken')
        await tx`insert into applied (key, seq) values (${message.key}, ${message.seq})`
        return 'done'
      },
    },
    { maxAttempts },
  )
  workers.push(await startWorker(testDeps(database.url, testServer('TEST_REDIS_URL')), [definition], options))
}

async function post(key: ActorKey, type: string) {
  deps.notifier.notify(await send(database.sql, [{ key, type }]))
}

const empty = () => eventually(async () => (await database.sql`select 1 from actor_message`).length === 0)

async function appliedSeqs(): Promise<number[]> {
  const rows = await database.sql<{ seq: number }[]>`select seq from applied order by id`
  return rows.map((row) => row.seq)
}

test('retry puts a dead letter back in its place, before all waiting messages', async () => {
  const key = newKey()
  await start()
  await post(key, 'fragile')
  await empty()
  await Promise.all(workers.splice(0).map((worker) => worker.close()))
  await post(key, 'tick')
  await post(key, 'tick')
  const [newMessage] = await listDeadLetters(database.sql)
  expect(newMessage).toMatchObject({ key, seq: 1, type: 'fragile', attempts: 2, lastError: 'Error: broken' })
  broken = false
  expect(await retryDeadLetter(deps, key, 1)).toBe(true)
  expect(await retryDeadLetter(deps, key, 1)).toBe(false)
  await start()
  await empty()
  expect(await appliedSeqs()).toEqual([1, 2, 3])
  expect(await listDeadLetters(database.sql)).toEqual([])
})

test('retry resets the attempts and sends a wake-up, so no sweep is needed', async () => {
  const key = newKey()
  await start(NO_SWEEP)
  await post(key, 'fragile')
  await eventually(async () => (await listDeadLetters(database.sql, { key })).length === 1)
  await retryDeadLetter(deps, key, 1)
  const [again] = await eventually(async () => {
    const newMessages = await listDeadLetters(database.sql, { key })
    return newMessages.length === 1 && newMessages
  })
  expect(again?.attempts).toBe(2)
})

test('skip drops a dead letter', async () => {
  const key = newKey()
  await start()
  await post(key, 'fragile')
  await empty()
  expect(await skipMessage(deps, key, 1)).toBe(true)
  expect(await skipMessage(deps, key, 1)).toBe(false)
  expect(await listDeadLetters(database.sql)).toEqual([])
})

test('skip drops a message that keeps failing, and its actor continues at once', async () => {
  const key = newKey()
  await start({ ...NO_SWEEP, retryBaseMs: 3_600_000, retryCapMs: 3_600_000 }, 100)
  await post(key, 'fragile')
  await post(key, 'tick')
  const [stuck] = await eventually(async () => {
    const actors = await listActors(database.sql)
    return actors[0]?.headAttempts === 1 && actors
  })
  expect(stuck).toMatchObject({
    key,
    waiting: 2,
    headSeq: 1,
    headType: 'fragile',
    headError: 'Error: broken',
  })
  expect(stuck?.headDueSeconds).toBeLessThan(0)
  expect(await skipMessage(deps, key, 1)).toBe(true)
  await empty()
  expect(await appliedSeqs()).toEqual([2])
})

test('the gauges show the oldest due message, dead letters and the lag of the stream', async () => {
  registerActorGauges(deps)
  const key = newKey()
  await post(key, 'tick')
  await database.sql`update actor_message set available_at = now() - interval '90 seconds'`
  await eventually(async () => {
    const text = await deps.metrics.registry.metrics()
    expect(text).toMatch(/^earshot_actor_oldest_due_seconds 9\d/m)
    expect(text).toMatch(/^earshot_actor_due_messages 1$/m)
    expect(text).toMatch(/^earshot_actor_dead_letters 0$/m)
    expect(text).toMatch(/^earshot_stream_lag\{pool="short"\} \d+$/m)
  })
})

test('the oldest due message is not one in hand, but may be one whose worker has died', async () => {
  const fresh = testDeps(database.url, null)
  try {
    registerActorGauges(fresh)
    const gauge = async () => {
      const text = await fresh.metrics.registry.metrics()
      return Number(/^earshot_actor_oldest_due_seconds (.*)$/m.exec(text)?.[1])
    }
    const [inHand, waiting] = [newKey(), newKey()]
    const { sql } = database
    await send(
      sql,
      [inHand, waiting].map((key) => ({ key, type: 'nobody_knows' })),
    )
    await sql`insert into worker (id) values ('encoding')`
    await sql`update actor_mailbox set owner = 'encoding' where key = ${inHand}`
    await sql`update actor_message set available_at = now() - interval '1 hour' where key = ${inHand}`
    await sql`update actor_message set available_at = now() - interval '20 seconds' where key = ${waiting}`
    expect(await gauge()).toBeWithin(20, 60)
    await sql`update worker set heartbeat_at = now() - interval '1 minute' where id = 'encoding'`
    expect(await gauge()).toBeWithin(3_600, 3_700)
    await sql`delete from actor_mailbox`
    expect(await gauge()).toBe(0)
  } finally {
    await fresh.close()
  }
})

test('what an operator must mend waits, however often it is tried', async () => {
  const key = newKey()
  await start({ retryCapMs: 10 })
  await post(key, 'held')
  await eventually(() => tries > 6)
  expect(await database.sql`select 1 from actor_dead_letter`).toHaveLength(0)
  const [row] = await database.sql`select attempts, last_error from actor_message where attempts > 0`
  expect(row).toEqual({ attempts: 1, last_error: 'NeedsOperator: a setting is wrong' })
  broken = false
  await empty()
  expect(await appliedSeqs()).toEqual([1])
})
