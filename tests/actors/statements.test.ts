/** The statements of the protocol, one rule at a time, in the interleavings that matter. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { claim, takeOver, WORKER_ENDED, WORKER_ENDED_ONCE } from '../../src/actors/claim-statements.ts'
import { hasten, send } from '../../src/actors/mailbox.ts'
import { readMailboxes } from '../../src/actors/mailbox-reads.ts'
import { assertHead, fence, recordFailure, release, remove, stillHeld } from '../../src/actors/statements.ts'
import { type ActorKey, Fenced } from '../../src/actors/types.ts'
import { sweep } from '../../src/actors/worker-statements.ts'
import type { Sql } from '../../src/platform/db/pool.ts'
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

describe('claim', () => {
  test('raises the epoch each time, and a second worker gets nothing', async () => {
    const key = await actorWithMessages(sql)
    const [first, second] = [await liveWorker(sql), await liveWorker(sql)]
    expect(await claim(sql, first, [key])).toEqual([{ key, epoch: 1 }])
    expect(await claim(sql, second, [key])).toEqual([])
    expect(await claim(sql, first, [key])).toEqual([{ key, epoch: 2 }])
  })

  test('by many workers at once gives each actor to one', async () => {
    const keys = await Promise.all(Array.from({ length: 20 }, () => actorWithMessages(sql)))
    const claims = await Promise.all(
      Array.from({ length: 8 }, async (_, i) =>
        claim(
          sql,
          `worker ${i}`,
          keys.toSorted(() => Math.random() - 0.5),
        ),
      ),
    )
    expect(
      claims
        .flat()
        .map((held) => held.key)
        .toSorted(),
    ).toEqual(keys.toSorted())
  })

  test('skips an actor whose sender has not committed, and takes the others', async () => {
    const [locked, free] = [await actorWithMessages(sql), await actorWithMessages(sql)]
    const worker = await liveWorker(sql)
    await transaction(sql, async (tx) => {
      await send(tx, [{ key: locked, type: 'tick' }])
      expect((await claim(sql, worker, [locked, free])).map((held) => held.key)).toEqual([free])
    })
  })
})

test('hasten makes due what was sent with a delay, and nothing else', async () => {
  const key = newKey()
  for (const type of ['tick', 'tick', 'tock']) await send(sql, [{ key, type, delayMs: 60_000 }])
  await sql`update actor_message set attempts = 1 where key = ${key} and seq = 2`
  await transaction(sql, async (tx) => {
    await send(tx, [{ key, type: 'tick' }])
    await hasten(tx, key, 'tick')
  })
  const due =
    await sql`select seq from actor_message where key = ${key} and available_at <= now() order by seq`
  expect(due.map(({ seq }) => seq)).toEqual([1, 4])
})

describe('takeOver', () => {
  const inHandOfTheDead = async (key: ActorKey) => {
    await sql`update actor_mailbox set owner = null where key = ${key}`
    await sql`update actor_message set available_at = now() where key = ${key}`
    await claimOne(sql, await deadWorker(sql), key)
    expect(await takeOver(sql, await liveWorker(sql), key, LEASE_MS)).not.toBeNull()
    const messages = await sql`
      select attempts, deaths, last_error from actor_message where key = ${key} order by seq`
    return messages.map(({ attempts, deaths, last_error: error }) => [attempts, deaths, error])
  }
  const NEVER = [0, 0, null]

  test('takes from a dead worker and notes it for the head only, without a count', async () => {
    const key = await actorWithMessages(sql, 2)
    await claimOne(sql, await deadWorker(sql), key)
    const worker = await liveWorker(sql)
    expect(await takeOver(sql, worker, key, LEASE_MS)).toEqual({ key, epoch: 2 })
    const messages = await sql`
      select seq, attempts, deaths, last_error from actor_message where key = ${key} order by seq`
    expect([...messages]).toEqual([
      { seq: 1, attempts: 0, deaths: 0, last_error: WORKER_ENDED_ONCE },
      { seq: 2, attempts: 0, deaths: 0, last_error: null },
    ])
  })

  test('counts a death for a head that is in hand again when the next worker ends, and each time after that', async () => {
    const key = await actorWithMessages(sql, 2)
    expect(await inHandOfTheDead(key)).toEqual([[0, 0, WORKER_ENDED_ONCE], NEVER])
    expect(await inHandOfTheDead(key)).toEqual([[1, 1, WORKER_ENDED], NEVER])
    expect(await inHandOfTheDead(key)).toEqual([[2, 2, WORKER_ENDED], NEVER])
  })

  test('counts nothing for a head that failed by itself in between', async () => {
    const key = await actorWithMessages(sql)
    await inHandOfTheDead(key)
    const [held] = await sql<
      { epoch: number; owner: string }[]
    >`select epoch, owner from actor_mailbox where key = ${key}`
    await recordFailure(sql, held!.owner, { key, epoch: held!.epoch }, { seq: 1, error: 'no', delayMs: 0 })
    expect(await inHandOfTheDead(key)).toEqual([[1, 0, WORKER_ENDED_ONCE]])
  })

  test('takes nothing from a live worker, and no idle actor', async () => {
    const [owned, idle] = [await actorWithMessages(sql), await actorWithMessages(sql)]
    await claimOne(sql, await liveWorker(sql), owned)
    const worker = await liveWorker(sql)
    expect(await takeOver(sql, worker, owned, LEASE_MS)).toBeNull()
    expect(await takeOver(sql, worker, idle, LEASE_MS)).toBeNull()
  })

  test('takes from a worker without a row', async () => {
    const key = await actorWithMessages(sql)
    await claimOne(sql, 'a worker that was removed', key)
    expect(await takeOver(sql, await liveWorker(sql), key, LEASE_MS)).toEqual({ key, epoch: 2 })
  })
})

describe('readMailboxes', () => {
  test('returns due messages in order, up to the first that waits for its retry', async () => {
    const key = await actorWithMessages(sql, 3)
    await sql`
      update actor_message set available_at = now() + interval '1 hour' where key = ${key} and seq = 3`
    const worker = await liveWorker(sql)
    const held = await claimOne(sql, worker, key)
    const mailbox = (await readMailboxes(sql, worker, [held], 20)).get(key)
    expect(mailbox?.due.map((message) => message.seq)).toEqual([1, 2])
    expect(mailbox).toMatchObject({ lastSeq: 3, complete: true })
  })

  test('returns no message behind a head that waits for its retry', async () => {
    const key = await actorWithMessages(sql, 2)
    await sql`
      update actor_message set available_at = now() + interval '1 hour' where key = ${key} and seq = 1`
    const worker = await liveWorker(sql)
    const held = await claimOne(sql, worker, key)
    expect((await readMailboxes(sql, worker, [held], 20)).get(key)?.due).toEqual([])
  })

  test('returns no mailbox of an actor that was taken over', async () => {
    const key = await actorWithMessages(sql)
    const worker = await deadWorker(sql)
    const held = await claimOne(sql, worker, key)
    await takeOver(sql, await liveWorker(sql), key, LEASE_MS)
    expect((await readMailboxes(sql, worker, [held], 20)).has(key)).toBe(false)
  })
})

describe('fence', () => {
  test('refuses the whole transaction if one of its actors was taken over', async () => {
    const [kept, lost] = [await actorWithMessages(sql), await actorWithMessages(sql)]
    const worker = await deadWorker(sql)
    const held = await claim(sql, worker, [kept, lost])
    await takeOver(sql, await liveWorker(sql), lost, LEASE_MS)
    await expect(fence(sql, worker, held)).rejects.toBeInstanceOf(Fenced)
    await fence(
      sql,
      worker,
      held.filter((one) => one.key === kept),
    )
  })

  test('delays a takeover until the commit in flight is done', async () => {
    const key = await actorWithMessages(sql)
    const owner = await deadWorker(sql)
    const held = await claimOne(sql, owner, key)
    const worker = await liveWorker(sql)
    await transaction(sql, async (tx) => {
      await fence(tx, owner, [held])
      expect(await takeOver(sql, worker, key, LEASE_MS)).toBeNull()
    })
    expect(await takeOver(sql, worker, key, LEASE_MS)).not.toBeNull()
  })

  test('after a crash of the server, an epoch that was claimed twice belongs to the second worker', async () => {
    const key = await actorWithMessages(sql)
    const [first, second] = [await liveWorker(sql), await liveWorker(sql)]
    const lost = await claimOne(sql, first, key)
    await sql`update actor_mailbox set owner = null, epoch = epoch - 1 where key = ${key}`
    const held = await claimOne(sql, second, key)
    expect(held).toEqual(lost)
    await expect(fence(sql, first, [lost])).rejects.toBeInstanceOf(Fenced)
    const failure = { seq: 1, error: 'Error: late', delayMs: 0 }
    await expect(recordFailure(sql, first, lost, failure)).rejects.toBeInstanceOf(Fenced)
    expect(await stillHeld(sql, first, [lost])).toEqual(new Set())
    await fence(sql, second, [held])
  })

  test('and removal together refuse to remove a message twice', async () => {
    const key = await actorWithMessages(sql)
    const worker = await liveWorker(sql)
    const held = await claimOne(sql, worker, key)
    const due = (await readMailboxes(sql, worker, [held], 20)).get(key)?.due ?? []
    await remove(sql, due)
    await expect(remove(sql, due)).rejects.toBeInstanceOf(Fenced)
  })
})

describe('remove', () => {
  const ofKey = (key: ActorKey, seq: number) => ({ key, id: '', seq, type: 'tick', payload: {}, attempts: 0 })

  test('takes the first messages of each actor, and is refused if one is gone', async () => {
    const [one, other] = [await actorWithMessages(sql, 3), await actorWithMessages(sql)]
    await remove(sql, [ofKey(one, 1), ofKey(one, 2), ofKey(other, 1)])
    await expect(remove(sql, [ofKey(one, 2)])).rejects.toBeInstanceOf(Fenced)
    await remove(sql, [ofKey(one, 3)])
  })

  test('is refused if the number is right but the messages are others', async () => {
    const key = await actorWithMessages(sql, 4)
    await sql`delete from actor_message where key = ${key} and seq = 2`
    const seen = [ofKey(key, 1), ofKey(key, 3), ofKey(key, 4)]
    // A dead letter comes back between them, and an operator skips one of them.
    await sql`insert into actor_message (key, seq, type) values (${key}, 2, 'tick')`
    await sql`delete from actor_message where key = ${key} and seq = 3`
    const turn = transaction(sql, (tx) => remove(tx, seen))
    await expect(turn).rejects.toBeInstanceOf(Fenced)
    await remove(sql, [ofKey(key, 1), ofKey(key, 2), ofKey(key, 4)])
  })

  test('is refused if a crash of the server has brought back an earlier message', async () => {
    const [key, other] = [await actorWithMessages(sql, 2), await actorWithMessages(sql)]
    const turn = transaction(sql, (tx) => remove(tx, [ofKey(other, 1), ofKey(key, 2)]))
    await expect(turn).rejects.toBeInstanceOf(Fenced)
    await expect(assertHead(sql, ofKey(key, 2))).rejects.toBeInstanceOf(Fenced)
    await assertHead(sql, ofKey(key, 1))
    await remove(sql, [ofKey(other, 1), ofKey(key, 1), ofKey(key, 2)])
  })
})

describe('release', () => {
  test('is refused if a message arrived after the mailbox was read', async () => {
    const key = newKey()
    await send(sql, [{ key, type: 'tick' }])
    await sql`delete from actor_message where key = ${key}`
    const worker = await liveWorker(sql)
    const held = await claimOne(sql, worker, key)
    const lastSeq = (await readMailboxes(sql, worker, [held], 20)).get(key)?.lastSeq ?? -1
    await send(sql, [{ key, type: 'tick' }])
    expect(await release(sql, worker, [{ ...held, lastSeq }])).toEqual(new Set())
    expect(await release(sql, worker, [{ ...held, lastSeq: lastSeq + 1 }])).toEqual(new Set([key]))
  })

  test('waits for a sender that has not committed, and is refused then', async () => {
    const key = await actorWithMessages(sql)
    const worker = await liveWorker(sql)
    const held = await claimOne(sql, worker, key)
    let released: Promise<ReadonlySet<ActorKey>> = Promise.resolve(new Set())
    await transaction(sql, async (tx) => {
      const [{ pid } = { pid: 0 }] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`
      await send(tx, [{ key, type: 'tick' }])
      released = release(sql, worker, [{ ...held, lastSeq: 1 }])
      await waitUntilBlockedBy(sql, pid)
    })
    expect(await released).toEqual(new Set())
  })
})

test('a failure is recorded by the owner only', async () => {
  const key = await actorWithMessages(sql)
  const owner = await deadWorker(sql)
  const held = await claimOne(sql, owner, key)
  const now = await takeOver(sql, await liveWorker(sql), key, LEASE_MS)
  const failure = { seq: 1, error: 'late', delayMs: 0 }
  await expect(recordFailure(sql, owner, held, failure)).rejects.toBeInstanceOf(Fenced)
  const [message] = await sql`select attempts, last_error from actor_message where key = ${key}`
  expect(message).toEqual({ attempts: 0, last_error: WORKER_ENDED_ONCE })
  expect(now?.epoch).toBe(2)
})

test('the sweep finds due heads of actors that are idle, of dead workers, or forgotten by their owner, and no others', async () => {
  const [me, alive] = [await liveWorker(sql), await liveWorker(sql)]
  const [idle, dead, mine, running, theirs, waiting] = [
    await actorWithMessages(sql, 2),
    await actorWithMessages(sql),
    await actorWithMessages(sql),
    await actorWithMessages(sql),
    await actorWithMessages(sql),
    await actorWithMessages(sql, 2),
  ] as const
  await claimOne(sql, await deadWorker(sql), dead)
  await claim(sql, me, [mine, running])
  await claimOne(sql, alive, theirs)
  await sql`
    update actor_message set available_at = now() + interval '1 hour' where key = ${waiting} and seq = 1`
  const due = await sweep(sql, {
    worker: me,
    leaseMs: LEASE_MS,
    kinds: ['session'],
    running: [running],
    limit: 1_000,
  })
  const found = new Map(due.map((one) => [one.key, one.state]))
  expect([idle, dead, mine, running, theirs, waiting].map((key) => found.get(key))).toEqual([
    'idle',
    'dead',
    'mine',
    undefined,
    undefined,
    undefined,
  ])
  expect(due.filter((one) => one.key === idle)).toHaveLength(1)
})
