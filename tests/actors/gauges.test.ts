/** The gauges of the actors, under load and afterwards. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { registerActorGauges } from '../../src/actors/gauges.ts'
import { send } from '../../src/actors/mailbox.ts'
import type { ActorDefinition, ActorKey } from '../../src/actors/types.ts'
import { sessions, startWorker, type TestDeps, type TestWorker, testDeps } from '../support/actors.ts'
import { createTestDatabase, type TestDatabase, testServer } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'

let database: TestDatabase
let sender: TestDeps
const workers: TestWorker[] = []

beforeAll(async () => {
  database = await createTestDatabase()
  sender = testDeps(database.url, testServer('TEST_REDIS_URL'))
  registerActorGauges(sender)
})
afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.close()))
  await sender.close()
  await database.drop()
})

const readingOf = (text: string, name: string) =>
  [...text.matchAll(new RegExp(`^${name.replace(/[{}]/g, '\\$&')} (.*)$`, 'gm'))].reduce(
    (sum, [, value]) => sum + Number(value),
    0,
  )
const gauge = async (name: string) =>
  readingOf(await sender.metrics.registry.metrics(), `earshot_actor_${name}`)
/** The sum over all workers. */
const active = async (pool: string) => {
  const texts = await Promise.all(workers.map(({ deps }) => deps.metrics.registry.metrics()))
  return texts.reduce((sum, text) => sum + readingOf(text, `earshot_actors_active{pool="${pool}"}`), 0)
}

async function post(kind: string, type: string, count: number): Promise<void> {
  const keys = Array.from({ length: count }, (): ActorKey => `${kind}:${crypto.randomUUID()}`)
  sender.notifier.notify(
    await send(
      sender.sql,
      keys.map((key) => ({ key, type })),
    ),
  )
}

test('under load the gauges show what waits, what is in hand and what was given up; afterwards they are zero', async () => {
  const proceed = Promise.withResolvers<void>()
  const recordings: ActorDefinition = {
    kind: 'recording',
    pool: 'media',
    maxAttempts: 3,
    handlers: {
      async encode(turn) {
        await proceed.promise
        await turn.finish(async () => {})
      },
    },
  }
  const short = sessions({
    tick: async () => 'done',
    async bad() {
      throw new Error('bad')
    },
  })
  for (let index = 0; index < 2; index++)
    workers.push(await startWorker(testDeps(database.url, testServer('TEST_REDIS_URL')), [recordings, short]))

  await post('recording', 'encode', 4)
  await eventually(async () => (await active('media')) === 4)
  // A worker counts an actor as active before its claim is committed.
  await eventually(
    async () => (await database.sql`select from actor_mailbox where owner is not null`).length === 4,
  )
  await database.sql`update actor_message set available_at = now() - interval '3 hours'`
  // A turn that encodes for hours is not a backlog.
  expect(await gauge('oldest_due_seconds')).toBeLessThan(60)
  expect(await gauge('due_messages')).toBe(4)

  await post('recording', 'encode', 20)
  await database.sql`
    update actor_message m set available_at = now() - interval '2 minutes'
    from actor_mailbox a where a.key = m.key and a.owner is null`
  expect(await gauge('due_messages')).toBe(24)
  expect(await gauge('oldest_due_seconds')).toBeWithin(120, 180)
  expect(await active('media')).toBe(4)

  await post('session', 'bad', 3)
  await post('session', 'tick', 2_000)
  await eventually(async () => (await gauge('dead_letters')) === 3)
  await eventually(async () => (await gauge('due_messages')) === 24)

  proceed.resolve()
  await eventually(async () => (await gauge('due_messages')) === 0)
  await eventually(async () => (await active('media')) + (await active('short')) === 0)
  expect(await gauge('oldest_due_seconds')).toBe(0)
  expect(await gauge('dead_letters')).toBe(3)
}, 300_000)
