/** The statements of the protocol, one rule at a time, in the interleavings that matter. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { claimAndRead, readMailboxes } from '../../src/actors/head.ts'
import { send } from '../../src/actors/mailbox.ts'
import {
  assertHead,
  claim,
  fence,
  recordFailure,
  release,
  remove,
  settle,
  stillHeld,
  takeOver,
  WORKER_ENDED,
} from '../../src/actors/statements.ts'
import { type ActorKey, Fenced } from '../../src/actors/types.ts'
import { beat, sweep } from '../../src/actors/worker-statements.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

const LEASE_MS = 10_000
const newKey = (): ActorKey => `session:${crypto.randomUUID()}`

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

async function actorWithMail(count = 1): Promise<ActorKey> {
  const key = newKey()
  for (let i = 0; i < count; i++) await send(database.sql, [{ key, type: 'tick' }])
  return key
}

async function liveWorker(): Promise<string> {
  const id = crypto.randomUUID()
  await beat(database.sql, id)
  return id
}

async function deadWorker(): Promise<string> {
  const id = await liveWorker()
  await database.sql`update worker set heartbeat_at = now() - interval '1 minute' where id = ${id}`
  return id
}

async function claimOne(worker: string, key: ActorKey) {
  const [held] = await claim(database.sql, worker, [key])
  if (held === undefined) throw new Error('not claimed')
  return held
}

describe('claim', () => {
  test('raises the epoch each time, and a second worker gets nothing', async () => {
    const key = await actorWithMail()
    const [first, second] = [await liveWorker(), await liveWorker()]
    expect(await claim(database.sql, first, [key])).toEqual([{ key, epoch: 1 }])
    expect(await claim(database.sql, second, [key])).toEqual([])
    expect(await claim(database.sql, first, [key])).toEqual([{ key, epoch: 2 }])
  })

  test('of many workers at once, each actor goes to one', async () => {
    const keys = await Promise.all(Array.from({ length: 20 }, () => actorWithMail()))
    const claims = await Promise.all(
      Array.from({ length: 8 }, async (_, i) =>
        claim(
          database.sql,
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
    const [locked, free] = [await actorWithMail(), await actorWithMail()]
    const worker = await liveWorker()
    await transaction(database.sql, async (tx) => {
      await send(tx, [{ key: locked, type: 'tick' }])
      expect((await claim(database.sql, worker, [locked, free])).map((held) => held.key)).toEqual([free])
    })
  })
})

describe('take over', () => {
  test('takes from a dead worker and counts an attempt for the head only', async () => {
    const key = await actorWithMail(2)
    await claimOne(await deadWorker(), key)
    const worker = await liveWorker()
    expect(await takeOver(database.sql, worker, key, LEASE_MS)).toEqual({ key, epoch: 2 })
    const messages = await database.sql`
      select seq, attempts, last_error from actor_message where key = ${key} order by seq`
    expect([...messages]).toEqual([
      { seq: 1, attempts: 1, last_error: WORKER_ENDED },
      { seq: 2, attempts: 0, last_error: null },
    ])
  })

  test('takes nothing from a worker that lives, and nothing that is idle', async () => {
    const [owned, idle] = [await actorWithMail(), await actorWithMail()]
    await claimOne(await liveWorker(), owned)
    const worker = await liveWorker()
    expect(await takeOver(database.sql, worker, owned, LEASE_MS)).toBeNull()
    expect(await takeOver(database.sql, worker, idle, LEASE_MS)).toBeNull()
  })

  test('takes from a worker whose row is gone', async () => {
    const key = await actorWithMail()
    await claimOne('a worker that was removed', key)
    expect(await takeOver(database.sql, await liveWorker(), key, LEASE_MS)).toEqual({ key, epoch: 2 })
  })
})

describe('head', () => {
  test('gives due messages in order, up to the first that waits for its retry', async () => {
    const key = await actorWithMail(3)
    await database.sql`
      update actor_message set available_at = now() + interval '1 hour' where key = ${key} and seq = 3`
    const worker = await liveWorker()
    const held = await claimOne(worker, key)
    const mailbox = (await readMailboxes(database.sql, worker, [held], 20)).get(key)
    expect(mailbox?.due.map((message) => message.seq)).toEqual([1, 2])
    expect(mailbox).toMatchObject({ mail: 3, complete: true })
  })

  test('a head that waits for its retry holds back what is due behind it', async () => {
    const key = await actorWithMail(2)
    await database.sql`
      update actor_message set available_at = now() + interval '1 hour' where key = ${key} and seq = 1`
    const worker = await liveWorker()
    const held = await claimOne(worker, key)
    expect((await readMailboxes(database.sql, worker, [held], 20)).get(key)?.due).toEqual([])
  })

  test('is missing for an actor that was taken away', async () => {
    const key = await actorWithMail()
    const worker = await deadWorker()
    const held = await claimOne(worker, key)
    await takeOver(database.sql, await liveWorker(), key, LEASE_MS)
    expect((await readMailboxes(database.sql, worker, [held], 20)).has(key)).toBe(false)
  })
})

describe('fence', () => {
  test('refuses the whole transaction where one of its actors was taken away', async () => {
    const [kept, lost] = [await actorWithMail(), await actorWithMail()]
    const worker = await deadWorker()
    const held = await claim(database.sql, worker, [kept, lost])
    await takeOver(database.sql, await liveWorker(), lost, LEASE_MS)
    await expect(fence(database.sql, worker, held)).rejects.toBeInstanceOf(Fenced)
    await fence(
      database.sql,
      worker,
      held.filter((one) => one.key === kept),
    )
  })

  test('keeps a takeover away until the commit in flight is through', async () => {
    const key = await actorWithMail()
    const owner = await deadWorker()
    const held = await claimOne(owner, key)
    const worker = await liveWorker()
    await transaction(database.sql, async (tx) => {
      await fence(tx, owner, [held])
      expect(await takeOver(database.sql, worker, key, LEASE_MS)).toBeNull()
    })
    expect(await takeOver(database.sql, worker, key, LEASE_MS)).not.toBeNull()
  })

  test('an epoch that a crash of the server took back belongs to the worker that claimed it again', async () => {
    const key = await actorWithMail()
    const [first, second] = [await liveWorker(), await liveWorker()]
    const lost = await claimOne(first, key)
    await database.sql`update actor set owner = null, epoch = epoch - 1 where key = ${key}`
    const held = await claimOne(second, key)
    expect(held).toEqual(lost)
    await expect(fence(database.sql, first, [lost])).rejects.toBeInstanceOf(Fenced)
    const failure = { seq: 1, error: 'Error: late', delayMs: 0 }
    await expect(recordFailure(database.sql, first, lost, failure)).rejects.toBeInstanceOf(Fenced)
    expect(await stillHeld(database.sql, first, [lost])).toEqual(new Set())
    await fence(database.sql, second, [held])
  })

  test('a message is removed once: the second removal is refused', async () => {
    const key = await actorWithMail()
    const worker = await liveWorker()
    const held = await claimOne(worker, key)
    const due = (await readMailboxes(database.sql, worker, [held], 20)).get(key)?.due ?? []
    await remove(database.sql, due)
    await expect(remove(database.sql, due)).rejects.toBeInstanceOf(Fenced)
  })
})

describe('remove', () => {
  const ofKey = (key: ActorKey, seq: number) => ({ key, id: '', seq, type: 'tick', payload: {}, attempts: 0 })

  test('takes the first messages of each actor, and is refused where one is gone', async () => {
    const [one, other] = [await actorWithMail(3), await actorWithMail()]
    await remove(database.sql, [ofKey(one, 1), ofKey(one, 2), ofKey(other, 1)])
    await expect(remove(database.sql, [ofKey(one, 2)])).rejects.toBeInstanceOf(Fenced)
    await remove(database.sql, [ofKey(one, 3)])
  })

  test('is refused where a crash of the server has brought an earlier message back', async () => {
    const [key, other] = [await actorWithMail(2), await actorWithMail()]
    const turn = transaction(database.sql, (tx) => remove(tx, [ofKey(other, 1), ofKey(key, 2)]))
    await expect(turn).rejects.toBeInstanceOf(Fenced)
    await expect(assertHead(database.sql, ofKey(key, 2))).rejects.toBeInstanceOf(Fenced)
    await assertHead(database.sql, ofKey(key, 1))
    await remove(database.sql, [ofKey(other, 1), ofKey(key, 1), ofKey(key, 2)])
  })
})

describe('release', () => {
  test('is refused where a message arrived after the head was read', async () => {
    const key = newKey()
    await send(database.sql, [{ key, type: 'tick' }])
    await database.sql`delete from actor_message where key = ${key}`
    const worker = await liveWorker()
    const held = await claimOne(worker, key)
    const mail = (await readMailboxes(database.sql, worker, [held], 20)).get(key)?.mail ?? -1
    await send(database.sql, [{ key, type: 'tick' }])
    expect(await release(database.sql, worker, [{ ...held, mail }])).toEqual(new Set())
    expect(await release(database.sql, worker, [{ ...held, mail: mail + 1 }])).toEqual(new Set([key]))
  })

  test('waits for a sender that has not committed, and is refused then', async () => {
    const key = await actorWithMail()
    const worker = await liveWorker()
    const held = await claimOne(worker, key)
    let released: Promise<ReadonlySet<ActorKey>> = Promise.resolve(new Set())
    await transaction(database.sql, async (tx) => {
      const [{ pid } = { pid: 0 }] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`
      await send(tx, [{ key, type: 'tick' }])
      released = release(database.sql, worker, [{ ...held, mail: 1 }])
      await waitUntilBlockedBy(pid)
    })
    expect(await released).toEqual(new Set())
  })
})

test('a failure is recorded by the owner only', async () => {
  const key = await actorWithMail()
  const owner = await deadWorker()
  const held = await claimOne(owner, key)
  const now = await takeOver(database.sql, await liveWorker(), key, LEASE_MS)
  const failure = { seq: 1, error: 'late', delayMs: 0 }
  await expect(recordFailure(database.sql, owner, held, failure)).rejects.toBeInstanceOf(Fenced)
  const [message] = await database.sql`select attempts, last_error from actor_message where key = ${key}`
  expect(message).toEqual({ attempts: 1, last_error: WORKER_ENDED })
  expect(now?.epoch).toBe(2)
})

test('the sweep finds idle, dead and forgotten actors with a due head, and no others', async () => {
  const [me, alive] = [await liveWorker(), await liveWorker()]
  const [idle, dead, mine, running, theirs, waiting] = [
    await actorWithMail(2),
    await actorWithMail(),
    await actorWithMail(),
    await actorWithMail(),
    await actorWithMail(),
    await actorWithMail(2),
  ] as const
  await claimOne(await deadWorker(), dead)
  await claim(database.sql, me, [mine, running])
  await claimOne(alive, theirs)
  await database.sql`
    update actor_message set available_at = now() + interval '1 hour' where key = ${waiting} and seq = 1`
  const due = await sweep(database.sql, {
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

async function waitUntilBlockedBy(pid: number): Promise<void> {
  for (;;) {
    const blocked = await database.sql`
      select 1 from pg_stat_activity where ${pid}::int = any(pg_blocking_pids(pid))`
    if (blocked.length > 0) return
  }
}
