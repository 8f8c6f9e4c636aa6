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
import { rounds } from '../support/rounds.ts'
import { CRASH_OPTIONS } from './support/options.ts'
import { createRandom } from './support/random.ts'

const WORKERS = 4
const KEYS = 40
/** Grouped turns, single long turns, and grouped long turns. */
const KINDS = ['session', 'session', 'form', 'analysis'] as const
/** Every kind of trouble so many times, and then so many more pauses, for which the protocol exists, and this much at random. */
const [TIMES, PAUSES, MORE] = rounds([2, 3, 1], [3, 5, 2])
/** Messages at least, and the pause between two. They are sent until the trouble is over. */
const [MESSAGES, PACE_MS] = [rounds(800, 1_200), 4]
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
}, 60_000)

afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  await Promise.all(children.map((child) => child.exited))
  await sender.close()
  await redis.stop()
  await database.drop()
}, 60_000)

function spawnWorker() {
  const script = new URL('support/worker.ts', import.meta.url).pathname
  return Bun.spawn([process.execPath, script, database.url, redis.url], {
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'inherit',
  })
}

test('nothing is lost, doubled or out of order', async () => {
  const trouble = makeTrouble()
  const sending = sendMessages(trouble)
  const [events, sent] = await Promise.all([trouble, sending])
  console.log(JSON.stringify({ ...events, sent }))
  await eventually(async () => (await database.sql`select 1 from actor_message limit 1`).length === 0, {
    deadlineMs: 120_000,
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
  expect(Math.min(...Object.values(events))).toBeGreaterThanOrEqual(TIMES)
}, 240_000)

async function makeTrouble() {
  const events = { kill: 0, pause: 0, flush: 0, cut: 0 }
  const pauses: Promise<void>[] = []
  const kinds = Object.keys(events) as (keyof typeof events)[]
  const certain = [...Array.from({ length: TIMES }, () => kinds).flat(), ...Array(PAUSES).fill('pause')]
  for (let round = 0; round < certain.length + MORE; round++) {
    const kind = certain[round] ?? random.pick(kinds)
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
async function sendMessages(trouble: Promise<unknown>): Promise<number> {
  const keys = Array.from(
    { length: KEYS },
    (_, i): ActorKey => `${KINDS[i % KINDS.length]!}:${crypto.randomUUID()}`,
  )
  let isOver = false
  void trouble.finally(() => (isOver = true)).catch(() => {}) // the caller awaits it too
  const begun = performance.now()
  let started = 0
  let sent = 0
  await Promise.all(
    Array.from({ length: 6 }, async () => {
      while (!isOver || started < MESSAGES) {
        started += 1
        // Towards the front of the list, so that some keys are hot.
        const key = keys[Math.floor(random.next() ** 2 * KEYS)]!
        const type = key.startsWith('session') && random.next() < 0.002 ? 'poison' : 'tick'
        sender.notifier.notify(await transaction(sender.sql, (tx) => send(tx, [{ key, type }])))
        sent += 1
        const due = begun + started * PACE_MS
        if (performance.now() < due) await Bun.sleep(due - performance.now())
      }
    }),
  )
  return sent
}
