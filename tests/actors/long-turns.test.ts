/** Turns that do I/O: fenced steps, an abort signal, and a finish that counts. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { send } from '../../src/actors/mailbox.ts'
import { streamName } from '../../src/actors/notifier-redis.ts'
import type { RuntimeOptions } from '../../src/actors/options.ts'
import {
  type ActorDefinition,
  type ActorKey,
  Fenced,
  type LongHandler,
  type LongTurn,
} from '../../src/actors/types.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { NO_SWEEP, startWorker, type TestWorker, testDeps } from '../support/actors.ts'
import { createTestDatabase, type TestDatabase, testServer } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'

const newKey = (): ActorKey => `analysis:${crypto.randomUUID()}`

let database: TestDatabase
const workers: TestWorker[] = []

beforeAll(async () => {
  database = await createTestDatabase()
  await database.sql`create table applied (id bigserial primary key, key text not null, what text not null)`
})
afterAll(() => database.drop())
beforeEach(async () => {
  await database.sql`truncate applied, actor_mailbox, actor_message, actor_dead_letter, worker`
})
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.close()))
})

async function start(work: LongHandler, options: Partial<RuntimeOptions> = {}, maxAttempts = 3) {
  const definition: ActorDefinition = { kind: 'analysis', pool: 'analysis', maxAttempts, handlers: { work } }
  const worker = await startWorker(
    testDeps(database.url, testServer('TEST_REDIS_URL')),
    [definition],
    options,
  )
  workers.push(worker)
  return worker
}

async function post(...keys: readonly ActorKey[]) {
  await transaction(database.sql, (tx) =>
    send(
      tx,
      keys.map((key) => ({ key, type: 'work' })),
    ),
  )
}

const empty = () => eventually(async () => (await database.sql`select 1 from actor_message`).length === 0)

function note(turn: LongTurn, what: string) {
  return async (tx: Parameters<Parameters<LongTurn['step']>[0]>[0]) => {
    await tx`insert into applied (key, what) values (${turn.message.key}, ${what})`
  }
}

async function notes(): Promise<string[]> {
  const rows = await database.sql<{ what: string }[]>`select what from applied order by id`
  return rows.map((row) => row.what)
}

test('steps commit one by one, and finish removes the message', async () => {
  await start(async (turn) => {
    await turn.step(note(turn, 'begun'))
    await Bun.sleep(1) // the I/O; no transaction is open
    await turn.finish(note(turn, 'done'))
  })
  const key = newKey()
  await post(key)
  await post(key)
  await empty()
  expect(await notes()).toEqual(['begun', 'done', 'begun', 'done'])
})

test('messages of a step leave with it', async () => {
  const [from, to] = [newKey(), newKey()]
  await start(async (turn) => {
    if (turn.message.key === to) return turn.finish(note(turn, 'received'))
    await turn.step(async (_tx, sendMessages) => sendMessages([{ key: to, type: 'work' }]))
    await turn.finish(note(turn, 'sent'))
  })
  await post(from)
  await empty()
  expect((await notes()).toSorted()).toEqual(['received', 'sent'])
})

test('the actor is given back with the end of its turn, unless more is due', async () => {
  const key = newKey()
  const owned: boolean[] = []
  await start(async (turn) => {
    await turn.finish(async (_tx, sendMessages) => {
      if (turn.message.seq === 2) await sendMessages([{ key, type: 'work' }])
    })
    const [actor] = await database.sql`select owner from actor_mailbox where key = ${key}`
    owned.push(actor?.owner !== null)
  })
  await transaction(database.sql, async (tx) => {
    for (let newMessage = 1; newMessage <= 2; newMessage++) await send(tx, [{ key, type: 'work' }])
  })
  await eventually(() => owned.length === 3)
  expect(owned).toEqual([true, true, false])
})

test('what only reads sees our rows and cannot write', async () => {
  await start(async (turn) => {
    const found = await turn.read((tx) => tx`select 1 from actor_mailbox where key = ${turn.message.key}`)
    const refused = await turn.read(note(turn, 'never')).catch((error) => error.code)
    await turn.finish(note(turn, `found ${found.length}, refused ${refused}`))
  })
  await post(newKey())
  await empty()
  expect(await notes()).toEqual(['found 1, refused 25006'])
})

test('a handler that ends without finish has failed', async () => {
  await start(async () => {}, {}, 1)
  await post(newKey())
  await empty()
  const [newMessage] = await database.sql`select last_error from actor_dead_letter`
  expect(newMessage?.last_error).toBe('Error: the handler ended without finish')
})

test('finish counts once: an error after it is no failure, a second one is refused', async () => {
  const second = Promise.withResolvers<unknown>()
  await start(async (turn) => {
    await turn.finish(note(turn, 'done'))
    await turn.finish(note(turn, 'again')).catch(second.resolve)
    throw new Error('too late to matter')
  })
  await post(newKey())
  expect(await second.promise).toBeInstanceOf(Fenced)
  await empty()
  expect(await notes()).toEqual(['done'])
})

test('a turn that lost its actor is told so, and its finish commits nothing', async () => {
  const key = newKey()
  const [begun, outcome] = [Promise.withResolvers<void>(), Promise.withResolvers<unknown>()]
  let runs = 0
  await start(
    async (turn) => {
      if (runs++ > 0) return turn.finish(note(turn, 'by the new owner'))
      await turn.step(note(turn, 'begun'))
      begun.resolve()
      await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
      await turn.finish(note(turn, 'by the old owner')).catch(outcome.resolve)
      throw turn.signal.reason
    },
    { heartbeatMs: 50 },
  )
  await post(key)
  await begun.promise
  await database.sql`update actor_mailbox set epoch = epoch + 1, owner = 'another' where key = ${key}`
  expect(await outcome.promise).toBeInstanceOf(Fenced)
  await empty()
  expect(await notes()).toEqual(['begun', 'by the new owner'])
})

test('stopping aborts the turn, gives the actor back and counts no attempt', async () => {
  const begun = Promise.withResolvers<void>()
  const worker = await start(async (turn) => {
    begun.resolve()
    await new Promise((_, reject) => turn.signal.addEventListener('abort', () => reject(turn.signal.reason)))
  })
  const key = newKey()
  await post(key)
  await begun.promise
  await worker.stop(5_000)
  const [row] = await database.sql`
    select a.owner, m.attempts from actor_mailbox a join actor_message m using (key) where key = ${key}`
  expect(row).toEqual({ owner: null, attempts: 0 })
})

test('a turn that does not listen to its signal is left behind when the budget is spent', async () => {
  const [begun, proceed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const late = Promise.withResolvers<unknown>()
  const worker = await start(async (turn) => {
    begun.resolve()
    await proceed.promise
    await turn.finish(note(turn, 'left behind')).then(late.resolve, late.resolve)
  })
  const key = newKey()
  await post(key)
  await begun.promise
  await worker.stop(50)
  expect(await database.sql`select 1 from actor_mailbox where owner is not null`).toHaveLength(0)
  await start(async (turn) => turn.finish(note(turn, 'by the next worker')))
  await empty()
  proceed.resolve()
  expect(await late.promise).toBeInstanceOf(Fenced)
  expect(await notes()).toEqual(['by the next worker'])
})

test('a turn that takes too long is aborted and has failed', async () => {
  await start(
    (turn) =>
      new Promise((_, reject) => turn.signal.addEventListener('abort', () => reject(new Error('told')))),
    { longTurnTimeoutMs: 100 },
    1,
  )
  await post(newKey())
  await empty()
  const [newMessage] = await database.sql`select last_error from actor_dead_letter`
  expect(newMessage?.last_error).toBe('TurnTimeout: took longer than 100 ms')
})

test('a message type may have a time of its own', async () => {
  const proceed = Promise.withResolvers<void>()
  const definition: ActorDefinition = {
    kind: 'analysis',
    pool: 'analysis',
    maxAttempts: 1,
    turnTimeoutMsOf: { work: 60_000 },
    handlers: {
      hang: () => new Promise(() => {}),
      async work(turn) {
        await proceed.promise
        await turn.finish(note(turn, 'after the usual time'))
      },
    },
  }
  const deps = testDeps(database.url, testServer('TEST_REDIS_URL'))
  workers.push(await startWorker(deps, [definition], { longTurnTimeoutMs: 100 }))
  await post(newKey())
  await eventually(
    async () => (await database.sql`select 1 from actor_mailbox where owner is not null`).length === 1,
  )
  await transaction(database.sql, (tx) => send(tx, [{ key: newKey(), type: 'hang' }]))
  await eventually(async () => (await database.sql`select 1 from actor_dead_letter`).length === 1)
  proceed.resolve()
  await empty()
  expect(await notes()).toEqual(['after the usual time'])
})

test('one slow actor holds up no other', async () => {
  const proceed = Promise.withResolvers<void>()
  const [slow, ...others] = Array.from({ length: 6 }, newKey)
  await start(async (turn) => {
    if (turn.message.key === slow) await proceed.promise
    await turn.finish(note(turn, turn.message.key))
  })
  await post(slow!, ...others)
  await eventually(async () => (await notes()).length === others.length)
  proceed.resolve()
  await empty()
})

describe('pools of long turns', () => {
  const POOL_OF = { analysis: 'analysis', form: 'long', recording: 'media' } as const
  const keyOf = (kind: keyof typeof POOL_OF): ActorKey => `${kind}:${crypto.randomUUID()}`

  /** Turns of type `hang` are noted and wait for `proceed`; those of type `work` are noted. */
  async function startAll(proceed: Promise<void>, options: Partial<RuntimeOptions> = {}) {
    const handlers: Readonly<Record<string, LongHandler>> = {
      async hang(turn) {
        await turn.step(note(turn, 'hangs'))
        await proceed
        await turn.finish(async () => {})
      },
      work: (turn) => turn.finish(note(turn, turn.message.key)),
    }
    const kinds = ['analysis', 'form', 'recording'] as const
    const definitions = kinds.map((kind) => ({ kind, pool: POOL_OF[kind], maxAttempts: 3, handlers }))
    const deps = testDeps(database.url, testServer('TEST_REDIS_URL'))
    const worker = await startWorker(deps, definitions, options)
    workers.push(worker)
    return worker
  }

  const newMessages = (type: string, keys: readonly ActorKey[]) =>
    transaction(database.sql, (tx) =>
      send(
        tx,
        keys.map((key) => ({ key, type })),
      ),
    )

  /** Both places of the one pool are taken, and one more waits for them: the others get their turn. */
  async function expectNotHeldUp(taken: readonly ActorKey[], others: readonly ActorKey[]) {
    const proceed = Promise.withResolvers<void>()
    await startAll(proceed.promise)
    await newMessages('hang', taken)
    await eventually(async () => (await notes()).length === 2)
    await newMessages('work', others)
    await eventually(async () => (await notes()).length === 2 + others.length)
    expect((await notes()).slice(2).toSorted()).toEqual(others.toSorted())
    proceed.resolve()
    await empty()
  }

  test('media that hangs in every place of its pool holds up neither mails nor analysis', () =>
    expectNotHeldUp(
      [keyOf('recording'), keyOf('recording'), keyOf('recording')],
      [keyOf('form'), keyOf('analysis')],
    ))

  test('mails that hang in every place of their pool hold up neither media nor analysis', () =>
    expectNotHeldUp([keyOf('form'), keyOf('form'), keyOf('form')], [keyOf('recording'), keyOf('analysis')]))

  test('analysis that hangs in every place of its pool holds up neither mails nor media', () =>
    expectNotHeldUp(
      [keyOf('analysis'), keyOf('analysis'), keyOf('analysis')],
      [keyOf('form'), keyOf('recording')],
    ))

  test('each pool has a notifier, and media and analysis that an older version notifies of at another are heard', async () => {
    const worker = await startAll(Promise.resolve(), NO_SWEEP)
    const [recording, ...old] = (
      await newMessages('work', [keyOf('recording'), keyOf('recording'), keyOf('analysis')])
    ).toSorted((a, b) => (a.key < b.key ? 1 : -1))
    worker.deps.notifier.notify([recording!])
    for (const { key, seq, type } of old) {
      const fields = ['key', key, 'seq', seq, 'type', type]
      await worker.deps.redis!.xadd(streamName(database.sql, 'long'), '*', ...fields)
    }
    await empty()
  })
})
