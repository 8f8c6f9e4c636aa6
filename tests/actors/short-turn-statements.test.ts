/** The statements that save turns a round trip: `claimAndRead` and `fenceAndRelease`. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { claim, takeOver } from '../../src/actors/claim-statements.ts'
import { send } from '../../src/actors/mailbox.ts'
import { claimAndRead, readMailboxes } from '../../src/actors/mailbox-reads.ts'
import { abandon, fenceAndRelease, release, stillHeld } from '../../src/actors/statements.ts'
import { type ActorKey, Fenced, NO_ORGANIZATION } from '../../src/actors/types.ts'
import type { Sql } from '../../src/platform/db/pool.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import {
  actorWithMessages,
  claimOne,
  deadWorker,
  LEASE_MS,
  liveWorker,
  waitUntilBlockedBy,
} from '../support/mailboxes.ts'

let database: TestDatabase
let sql: Sql
beforeAll(async () => {
  database = await createTestDatabase()
  sql = database.sql
})
afterAll(() => database.drop())

describe('claimAndRead', () => {
  test('returns the same as claim and readMailboxes', async () => {
    const [key, empty] = [await actorWithMessages(sql, 3), await actorWithMessages(sql)]
    await sql`delete from actor_message where key = ${empty}`
    await sql`
      update actor_message set attempts = 2, deaths = 1, last_error = 'Error: "late"' where key = ${key} and seq = 2`
    const [first, second] = [await liveWorker(sql), await liveWorker(sql)]
    const claimed = await claimAndRead(sql, first, [key, empty], 20)
    const held = claimed.map(({ key: one, epoch }) => ({ key: one, epoch }))
    expect(held).toContainEqual({ key, epoch: 1 })
    expect(held).toContainEqual({ key: empty, epoch: 1 })
    const read = await readMailboxes(sql, first, held, 20)
    expect(new Map(claimed.map((one) => [one.key, one.mailbox]))).toEqual(new Map(read))
    expect(read.get(empty)).toEqual({ lastSeq: 1, organization: NO_ORGANIZATION, due: [], complete: true })
    expect(
      read.get(key)?.due.map(({ attempts, deaths, lastError }) => [attempts, deaths, lastError]),
    ).toEqual([
      [0, 0, null],
      [2, 1, 'Error: "late"'],
      [0, 0, null],
    ])
    expect(await claimAndRead(sql, second, [key], 20)).toEqual([])
  })

  test('knows whether there are more messages than asked for', async () => {
    const key = await actorWithMessages(sql, 3)
    const worker = await liveWorker(sql)
    const complete = async (limit: number) => {
      const [claimed] = await claimAndRead(sql, worker, [key], limit)
      await abandon(sql, worker, [claimed!])
      return [claimed?.mailbox?.due.length, claimed?.mailbox?.complete]
    }
    expect(await complete(2)).toEqual([2, false])
    expect(await complete(3)).toEqual([3, true])
    await sql`
      update actor_message set available_at = now() + interval '1 hour' where key = ${key} and seq = 3`
    expect(await complete(2)).toEqual([2, true])
  })

  test('a message that arrives after its read does not count as read', async () => {
    const key = await lateActor()
    const worker = await liveWorker(sql)
    const claimed = await changedMeanwhile(worker, key, () => send(sql, [{ key, type: 'tick' }]))
    expect(claimed).toMatchObject([
      { key, epoch: 1, mailbox: { lastSeq: 1, due: [{ seq: 1 }], complete: true } },
    ])
    expect(await release(sql, worker, [{ key, epoch: 1, lastSeq: 1 }])).toEqual(new Set())
  })

  test('returns no mailbox if another worker had the actor after its read', async () => {
    const key = await lateActor()
    const [worker, other] = [await liveWorker(sql), await liveWorker(sql)]
    const claimed = await changedMeanwhile(worker, key, async () => {
      const held = await claimOne(sql, other, key)
      await sql`delete from actor_message where key = ${key}`
      await release(sql, other, [{ ...held, lastSeq: 1 }])
    })
    expect(claimed).toEqual([{ key, epoch: 2, mailbox: null }])
  })

  test('returns no mailbox of an actor that already had an owner, even if it was the same worker', async () => {
    const [key, worker] = [await actorWithMessages(sql, 1), await liveWorker(sql)]
    await claimOne(sql, worker, key)
    expect(await claimAndRead(sql, worker, [key], 20)).toEqual([{ key, epoch: 2, mailbox: null }])
  })

  /** An actor whose key comes after the one that `changedMeanwhile` adds. */
  async function lateActor(): Promise<ActorKey> {
    const key: ActorKey = `session:f${crypto.randomUUID().slice(1)}`
    await send(sql, [{ key, type: 'tick' }])
    return key
  }

  /** Calls `claimAndRead`, and runs `change` after the statement has its snapshot and before it locks `key`. */
  async function changedMeanwhile(worker: string, key: ActorKey, change: () => Promise<unknown>) {
    const before: ActorKey = `session:0${key.slice('session:0'.length)}`
    await send(sql, [{ key: before, type: 'tick' }])
    await sql.unsafe(`
      create or replace function wait_here() returns trigger language plpgsql as $$
        begin perform pg_advisory_xact_lock(1); return new; end $$;
      create or replace trigger waits before update on actor_mailbox for each row
        when (old.key = '${before}') execute function wait_here()`)
    let claimed: ReturnType<typeof claimAndRead> = Promise.resolve([])
    await transaction(sql, async (tx) => {
      const [{ pid } = { pid: 0 }] = await tx<{ pid: number }[]>`
        select pg_backend_pid() as pid, pg_advisory_xact_lock(1)`
      claimed = transaction(sql, async (other) => {
        // One row after the other: lock, update, next.
        await other`
          select set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`
        return claimAndRead(other, worker, [before, key], 20)
      })
      await waitUntilBlockedBy(sql, pid)
      await change()
    })
    return (await claimed).filter((one) => one.key === key)
  }
})

describe('fenceAndRelease', () => {
  test('refuses the whole transaction if one of its actors was taken over', async () => {
    const [kept, lost] = [await actorWithMessages(sql), await actorWithMessages(sql)]
    const worker = await deadWorker(sql)
    const held = await claim(sql, worker, [kept, lost])
    await takeOver(sql, await liveWorker(sql), lost, LEASE_MS)
    const settled = held.map((one) => ({ ...one, lastSeq: 1 }))
    const turn = transaction(sql, (tx) => fenceAndRelease(tx, worker, settled))
    await expect(turn).rejects.toBeInstanceOf(Fenced)
    expect(await stillHeld(sql, worker, held)).toEqual(new Set([kept]))
  })

  test('releases if no newer message has arrived, and keeps the actor if told to', async () => {
    const [idle, busy, unfinished] = [
      await actorWithMessages(sql),
      await actorWithMessages(sql),
      await actorWithMessages(sql),
    ]
    const worker = await liveWorker(sql)
    const held = await claim(sql, worker, [idle, busy, unfinished])
    await send(sql, [{ key: busy, type: 'tick' }])
    const released = await fenceAndRelease(
      sql,
      worker,
      held.map((one) => ({ ...one, lastSeq: one.key === unfinished ? null : 1 })),
    )
    expect(released).toEqual(new Set([idle]))
    expect(await stillHeld(sql, worker, held)).toEqual(new Set([busy, unfinished]))
  })

  test('delays a takeover until the commit in flight is done', async () => {
    const key = await actorWithMessages(sql)
    const owner = await deadWorker(sql)
    const held = await claimOne(sql, owner, key)
    const worker = await liveWorker(sql)
    await transaction(sql, async (tx) => {
      await fenceAndRelease(tx, owner, [{ ...held, lastSeq: null }])
      expect(await takeOver(sql, worker, key, LEASE_MS)).toBeNull()
    })
    expect(await takeOver(sql, worker, key, LEASE_MS)).not.toBeNull()
  })

  test('waits for a sender that has not committed, and does not release then', async () => {
    const key = await actorWithMessages(sql)
    const worker = await liveWorker(sql)
    const held = await claimOne(sql, worker, key)
    let released: Promise<ReadonlySet<ActorKey>> = Promise.resolve(new Set())
    await transaction(sql, async (tx) => {
      const [{ pid } = { pid: 0 }] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`
      await send(tx, [{ key, type: 'tick' }])
      released = fenceAndRelease(sql, worker, [{ ...held, lastSeq: 1 }])
      await waitUntilBlockedBy(sql, pid)
    })
    expect(await released).toEqual(new Set())
  })

  test('after a crash of the server, an epoch that was claimed twice belongs to the second worker', async () => {
    const key = await actorWithMessages(sql)
    const [first, second] = [await liveWorker(sql), await liveWorker(sql)]
    const lost = await claimOne(sql, first, key)
    await sql`update actor_mailbox set owner = null, epoch = epoch - 1 where key = ${key}`
    const held = await claimOne(sql, second, key)
    await expect(fenceAndRelease(sql, first, [{ ...lost, lastSeq: 1 }])).rejects.toBeInstanceOf(Fenced)
    expect(await fenceAndRelease(sql, second, [{ ...held, lastSeq: 1 }])).toEqual(new Set([key]))
  })
})
