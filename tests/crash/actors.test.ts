/**
 * Worker processes are killed and paused, Redis is wiped, connections are cut: no message
 * is lost, applied twice or applied out of order.
 *
 * The choices are drawn from a printed seed; `CRASH_SEED` repeats them (not the timing of the processes).
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { send } from '../../src/actors/mailbox.ts'
import type { ActorKey } from '../../src/actors/types.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { type TestDeps, testDeps } from '../support/actors.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { type PrivateRedis, startPrivateRedis } from '../support/private-redis.ts'
import { CRASH_OPTIONS } from './support/options.ts'
import { createRandom } from './support/random.ts'

const WORKERS = 4
const KEYS = 40
/** Grouped turns, single long turns, and grouped long turns. */
const KINDS = ['session', 'session', 'form', 'analysis'] as const
const MESSAGES = 3_000
const TROUBLE_MS = 9_000
const PAUSE_MS = CRASH_OPTIONS.leaseMs! * 1.5

const seed = Number(process.env.CRASH_SEED ?? Math.floor(Math.random() * 2 ** 32))
const random = createRandom(seed)

type Child = ReturnType<typeof spawnWorker>

let database: TestDatabase
let redis: PrivateRedis
let sender: TestDeps
const children: Child[] = []

beforeAll(async () => {
  console.log(`CRASH_SEED=${seed}`)
  database = await createTestDatabase()
  redis = await startPrivateRedis()
  await database.sql`create table state (key text primary key, last bigint not null)`
  await database.sql`
    create table applied (
      id bigserial primary key, key text not null, seq bigint not null, after bigint not null
    )`
  sender = testDeps(database.url, redis.url, 'sender')
  for (let i = 0; i < WORKERS; i++) children.push(spawnWorker())
}, 300_000)

afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  await Promise.all(children.map((child) => child.exited))
  await sender.close()
  await redis.stop()
  await database.drop()
}, 300_000)

function spawnWorker() {
  const script = new URL('support/worker.ts', import.meta.url).pathname
  return Bun.spawn([process.execPath, script, database.url, redis.url], {
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'inherit',
  })
}

test('nothing is lost, doubled or out of order', async () => {
  const deadline = performance.now() + TROUBLE_MS
  const [events, sent] = await Promise.all([makeTrouble(deadline), sendMessages(deadline)])
  console.log(JSON.stringify({ ...events, sent }))
  await eventually(async () => (await database.sql`select 1 from actor_message limit 1`).length === 0, {
    deadlineMs: 100_000,
  })
  // Every paused worker resumed before the end; the writes of its lost turns must have been refused.
  const [result] = await database.sql`
    select
      (select count(*) from applied) as applied,
      (select sum(last_seq) from actor_mailbox)::int8 as sent,
      (select count(*) from applied where after <> seq - 1) as out_of_order,
      (select count(*) from (select from applied group by key, seq having count(*) > 1) twice) as doubled,
      (select count(*) from actor_dead_letter where type <> 'poison') as innocent_dead_letters`
  expect(result).toEqual({
    applied: sent,
    sent,
    out_of_order: 0,
    doubled: 0,
    innocent_dead_letters: 0,
  })
  expect(Math.min(...Object.values(events))).toBeGreaterThan(0)
}, 300_000)

/** Every kind of trouble at least once, then at random until the deadline. */
async function makeTrouble(deadline: number) {
  const events = { kill: 0, pause: 0, flush: 0, cut: 0 }
  const pauses: Promise<void>[] = []
  const kinds = Object.keys(events) as (keyof typeof events)[]
  for (let round = 0; performance.now() < deadline; round++) {
    const kind = kinds[round] ?? random.pick(kinds)
    const victim = random.integer(WORKERS)
    if (kind === 'kill') {
      children[victim]!.kill('SIGKILL')
      children[victim] = spawnWorker()
      events.kill += 1
    } else if (kind === 'pause') {
      pauses.push(pause(children[victim]!))
      events.pause += 1
    } else if (kind === 'flush') {
      await redis.command('FLUSHALL')
      events.flush += 1
    } else {
      events.cut += await eventually(cutConnections)
    }
    await Bun.sleep(200 + random.integer(400))
  }
  await Promise.all(pauses)
  return events
}

/** Pauses a worker past the end of its lease, then resumes it. */
async function pause(child: Child): Promise<void> {
  child.kill('SIGSTOP')
  await Bun.sleep(PAUSE_MS)
  child.kill('SIGCONT')
}

/** Up to two busy workers. */
async function cutConnections(): Promise<number | false> {
  const cut = await database.sql`
    select pg_terminate_backend(pid)
    from (
      select pid
      from pg_stat_activity
      where application_name = 'test-worker' and datname = current_database() and xact_start is not null
      order by random()
      limit 2
    ) victim`
  return cut.length > 0 && cut.length
}

/** Several senders with random keys and message types. A few messages fail until they are dead-lettered. */
async function sendMessages(deadline: number): Promise<number> {
  const keys = Array.from(
    { length: KEYS },
    (_, i): ActorKey => `${KINDS[i % KINDS.length]!}:${crypto.randomUUID()}`,
  )
  let started = 0
  let sent = 0
  const pace = TROUBLE_MS / MESSAGES
  await Promise.all(
    Array.from({ length: 6 }, async () => {
      while (started < MESSAGES) {
        started += 1
        // Towards the front of the list, so that some keys are hot.
        const key = keys[Math.floor(random.next() ** 2 * KEYS)]!
        const type = key.startsWith('session') && random.next() < 0.002 ? 'poison' : 'tick'
        sender.notifier.notify(await transaction(sender.sql, (tx) => send(tx, [{ key, type }])))
        sent += 1
        const due = deadline - TROUBLE_MS + started * pace
        if (performance.now() < due) await Bun.sleep(due - performance.now())
      }
    }),
  )
  return sent
}
