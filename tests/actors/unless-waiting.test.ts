/**
 * A message that is left out beside another one, on a real database, in the orders that matter according to the model
 * (tests/model/waiting.ts). No row of the domain is locked here.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { takeOver } from '../../src/actors/claim-statements.ts'
import { send } from '../../src/actors/mailbox.ts'
import { claimAndRead, readMailboxes } from '../../src/actors/mailbox-reads.ts'
import { abandon, fenceAndRelease, recordFailure, release, remove } from '../../src/actors/statements.ts'
import type { ActorKey, NewMessage } from '../../src/actors/types.ts'
import type { Query, Sql } from '../../src/platform/db/pool.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import {
  actorWithMessages,
  claimOne,
  deadWorker,
  LEASE_MS,
  liveWorker,
  newKey,
  waitUntilBlockedBy,
} from '../support/mailboxes.ts'

let database: TestDatabase
let sql: Sql
beforeAll(async () => {
  database = await createTestDatabase()
  sql = database.sql
})
afterAll(() => database.drop())

const tick = (key: ActorKey, more: Partial<NewMessage> = {}): NewMessage => ({
  key,
  type: 'tick',
  unless: 'waiting',
  ...more,
})
const nudge = (query: Query, key: ActorKey, more: Partial<NewMessage> = {}) => send(query, [tick(key, more)])

const seqs = async (key: ActorKey) =>
  (await sql<{ seq: number }[]>`select seq from actor_message where key = ${key} order by seq`).map(
    ({ seq }) => seq,
  )

/** Seconds until each message is due. */
const dueIn = async (key: ActorKey) =>
  (
    await sql<{ s: number }[]>`
      select round(extract(epoch from available_at - now()))::int as s from actor_message where key = ${key} order by seq`
  ).map(({ s }) => Math.max(0, s))

/** Runs `change` after a send has taken its snapshot and before it has the mailbox of `key`. */
async function sentMeanwhile(key: ActorKey, change: (tx: Query) => Promise<unknown>) {
  let sent: ReturnType<typeof send> | null = null
  await transaction(sql, async (tx) => {
    const [{ pid } = { pid: 0 }] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`
    await tx`select 1 from actor_mailbox where key = ${key} for update`
    sent ??= nudge(sql, key).then((wakeUps) => wakeUps)
    await waitUntilBlockedBy(sql, pid)
    await change(tx)
  })
  return sent!
}

test('beside a message that no turn has begun, none is stored, and the wake-up is sent once more', async () => {
  const key = await actorWithMessages(sql)
  expect(await nudge(sql, key)).toMatchObject([{ key, seq: 1, type: 'tick', delayMs: 0 }])
  expect(await seqs(key)).toEqual([1])
})

test('a message of another type does not count', async () => {
  const key = await actorWithMessages(sql)
  await nudge(sql, key, { type: 'other' })
  expect(await seqs(key)).toEqual([1, 2])
})

test('beside a message whose turn has begun, one is stored, and only one', async () => {
  const key = await actorWithMessages(sql)
  await claimAndRead(sql, await liveWorker(sql), [key], 20)
  for (let times = 0; times < 3; times++) expect(await nudge(sql, key)).toMatchObject([{ key, seq: 2 }])
  expect(await seqs(key)).toEqual([1, 2])
  await send(sql, [tick(key, { unless: 'present' })])
  expect(await seqs(key)).toEqual([1, 2])
})

test('beside a message whose turn begins after the sender has looked, one is stored', async () => {
  const key = await actorWithMessages(sql)
  const worker = await liveWorker(sql)
  await sentMeanwhile(key, (tx) => claimAndRead(tx, worker, [key], 20))
  expect(await seqs(key)).toEqual([1, 2])
})

test('beside a message whose turn ends after the sender has looked, one is stored', async () => {
  const key = await actorWithMessages(sql)
  const worker = await liveWorker(sql)
  const [claimed] = await claimAndRead(sql, worker, [key], 20)
  await sentMeanwhile(key, async (tx) => {
    await fenceAndRelease(tx, worker, [{ ...claimed!, lastSeq: 1 }])
    await remove(tx, claimed!.mailbox!.due)
  })
  expect(await seqs(key)).toEqual([2])
})

test('beside a message that was deleted with its actor after the sender has looked, one is stored', async () => {
  const key = await actorWithMessages(sql)
  await sentMeanwhile(key, (tx) => tx`delete from actor_mailbox where key = ${key}`)
  expect(await seqs(key)).toEqual([1])
})

test('no worker begins the turn of the waiting message before the sender has committed', async () => {
  const key = await actorWithMessages(sql)
  const worker = await liveWorker(sql)
  await transaction(sql, async (tx) => {
    await nudge(tx, key)
    expect(await claimAndRead(sql, worker, [key], 20)).toEqual([])
  })
  expect(await claimAndRead(sql, worker, [key], 20)).toMatchObject([{ mailbox: { due: [{ seq: 1 }] } }])
})

test('a message that was sent to an actor in hand counts as begun once the actor is kept', async () => {
  const key = await actorWithMessages(sql)
  const worker = await liveWorker(sql)
  const [claimed] = await claimAndRead(sql, worker, [key], 20)
  await nudge(sql, key)
  const kept = await transaction(sql, async (tx) => {
    const released = await fenceAndRelease(tx, worker, [{ ...claimed!, lastSeq: 1 }])
    await remove(tx, claimed!.mailbox!.due)
    return released
  })
  expect(kept.size).toBe(0)
  await nudge(sql, key)
  // The third was sent after the actor was kept: the next read leaves it to the one after.
  const read = async () => (await readMailboxes(sql, worker, [claimed!], 20)).get(key)
  expect(await read()).toMatchObject({ lastSeq: 2, due: [{ seq: 2 }] })
  await nudge(sql, key)
  expect(await seqs(key)).toEqual([2, 3])
  expect(await release(sql, worker, [{ ...claimed!, lastSeq: 2 }])).toEqual(new Set())
  expect(await read()).toMatchObject({ lastSeq: 3, due: [{ seq: 2 }, { seq: 3 }] })
})

test('messages that are taken from a dead worker count as begun', async () => {
  const key = await actorWithMessages(sql)
  await claimOne(sql, await deadWorker(sql), key)
  await nudge(sql, key)
  await nudge(sql, key)
  expect(await seqs(key)).toEqual([1, 2])
  expect(await takeOver(sql, await liveWorker(sql), key, LEASE_MS)).not.toBeNull()
  await nudge(sql, key)
  expect(await seqs(key)).toEqual([1, 2, 3])
})

test('the earlier time of the two holds', async () => {
  const key = newKey()
  await nudge(sql, key, { delayMs: 30_000 })
  expect(await nudge(sql, key, { delayMs: 50_000 })).toEqual([])
  expect(await dueIn(key)).toEqual([30])
  expect(await nudge(sql, key, { delayMs: 10_000 })).toMatchObject([{ key, seq: 1, delayMs: 10_000 }])
  expect(await dueIn(key)).toEqual([10])
  expect(await nudge(sql, key)).toMatchObject([{ key, seq: 1, delayMs: 0 }])
  expect(await dueIn(key)).toEqual([0])
  expect(await seqs(key)).toEqual([1])
})

test('a worker that looked too early does not hold up the earlier time', async () => {
  const key = newKey()
  const worker = await liveWorker(sql)
  await nudge(sql, key, { delayMs: 30_000 })
  const [claimed] = await claimAndRead(sql, worker, [key], 20)
  expect(claimed?.mailbox?.due).toEqual([])
  await release(sql, worker, [{ ...claimed!, lastSeq: 1 }])
  await nudge(sql, key)
  expect(await dueIn(key)).toEqual([0, 0])
})

test('a failed message keeps its pause', async () => {
  const key = await actorWithMessages(sql)
  const worker = await liveWorker(sql)
  const held = await claimOne(sql, worker, key)
  await recordFailure(sql, worker, held, { seq: 1, error: 'late', delayMs: 60_000 })
  await nudge(sql, key)
  expect((await dueIn(key))[0]).toBe(60)
})

test('many actors take one statement, and each is decided by itself', async () => {
  const keys = await Promise.all(Array.from({ length: 6 }, () => actorWithMessages(sql)))
  const worker = await liveWorker(sql)
  const begun = keys.slice(0, 3)
  await claimAndRead(sql, worker, begun, 20)
  await send(
    sql,
    [...keys, newKey()].map((key) => tick(key)),
  )
  for (const key of keys) expect(await seqs(key)).toEqual(begun.includes(key) ? [1, 2] : [1])
  await abandon(
    sql,
    worker,
    begun.map((key) => ({ key, epoch: 1 })),
  )
})
