/** Long turns that many actors share: one `finish` for all of them, and no blame after a failure. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import { send } from '../../src/actors/mailbox.ts'
import type { RuntimeOptions } from '../../src/actors/options.ts'
import type {
  ActorDefinition,
  ActorKey,
  GroupHandler,
  GroupTurn,
  LongTurn,
  Message,
  NewMessage,
  WakeUp,
} from '../../src/actors/types.ts'
import type { Tx } from '../../src/platform/db/pool.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { NO_SWEEP, startWorker, type TestWorker, testDeps } from '../support/actors.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'

const KEYS = Array.from({ length: 8 }, (): ActorKey => `analysis:${crypto.randomUUID()}`).toSorted()
const [FIRST, SECOND] = KEYS as [ActorKey, ActorKey]

let database: TestDatabase
const workers: TestWorker[] = []
/** The keys of every turn that began, including those that were rolled back. */
let begun: (readonly ActorKey[])[] = []

beforeAll(async () => {
  database = await createTestDatabase()
  await database.sql`create table applied (id bigserial primary key, key text not null, seq bigint not null)`
})
beforeEach(async () => {
  begun = []
  await database.sql`truncate applied, actor_mailbox, actor_message, actor_dead_letter, worker`
})
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.close()))
})
afterAll(() => database.drop())

type AnyTurn = Pick<LongTurn, 'finish' | 'signal' | 'read'>

/** Records its messages. `before` runs between the read and the end of the turn. */
function applying(
  before: (messages: readonly Message[], turn: AnyTurn) => Promise<void> | void = () => {},
  newMessages: (messages: readonly Message[]) => readonly NewMessage[] = () => [],
): GroupHandler {
  const handle = async (turn: AnyTurn, messages: readonly Message[]) => {
    begun.push(messages.map(({ key }) => key))
    await turn.read((tx) => tx`select 1`)
    await before(messages, turn)
    await turn.finish(async (tx, sending) => {
      await apply(tx, messages)
      await sending(newMessages(messages))
    })
  }
  return {
    together: (turn: GroupTurn) => handle(turn, turn.messages),
    alone: (turn) => handle(turn, [turn.message]),
  }
}

async function apply(tx: Tx, messages: readonly Message[]): Promise<void> {
  for (const { key, seq } of messages) await tx`insert into applied (key, seq) values (${key}, ${seq})`
}

async function start(work: GroupHandler, options: Partial<RuntimeOptions> = {}, maxAttempts = 3) {
  const definition: ActorDefinition = { kind: 'analysis', pool: 'analysis', maxAttempts, handlers: { work } }
  const worker = await startWorker(testDeps(database.url, null), [definition], { ...NO_SWEEP, ...options })
  workers.push(worker)
  return worker
}

/** Sends the messages in rounds, then all wake-ups at once. */
async function post(worker: TestWorker, ...rounds: readonly (readonly NewMessage[])[]): Promise<void> {
  const sent: WakeUp[] = []
  await transaction(database.sql, async (tx) => {
    for (const newMessages of rounds) sent.push(...(await send(tx, newMessages)))
  })
  worker.deps.notifier.notify(sent)
}

const newMessages = (type = 'work'): readonly NewMessage[] => KEYS.map((key) => ({ key, type }))
const empty = () => eventually(async () => (await database.sql`select 1 from actor_message`).length === 0)

async function applied(): Promise<ReadonlyMap<string, readonly number[]>> {
  const rows = await database.sql<{ key: string; seq: number }[]>`select key, seq from applied order by id`
  const byKey = Map.groupBy(rows, ({ key }) => key)
  return new Map([...byKey].map(([key, of]) => [key, of.map(({ seq }) => seq)]))
}

async function expectEach(...seqs: readonly number[]): Promise<void> {
  expect([...(await applied())].toSorted()).toEqual(KEYS.map((key) => [key, seqs]))
}

async function outcomes(worker: TestWorker) {
  const { values } = await worker.deps.metrics.turns.get()
  const count = (outcome: string) => values.find(({ labels }) => labels.outcome === outcome)?.value ?? 0
  return { done: count('done'), failed: count('failed') }
}

const shared = () => begun.filter(({ length }) => length > 1)

test('actors whose wake-ups arrive together share a turn, and its end releases them', async () => {
  const worker = await start(applying())
  await post(worker, newMessages())
  await empty()
  expect(begun).toEqual([KEYS])
  await expectEach(1)
  expect(await database.sql`select 1 from actor_mailbox where owner is not null`).toHaveLength(0)
})

test('a turn takes one message of each actor; the others follow in order', async () => {
  const worker = await start(applying())
  await post(worker, newMessages(), newMessages(), newMessages())
  await empty()
  await expectEach(1, 2, 3)
})

test('a turn has no more actors than its limit', async () => {
  const worker = await start(applying(), { groupKeys: 3 })
  await post(worker, newMessages())
  await empty()
  expect(Math.max(...begun.map(({ length }) => length))).toBe(3)
  await expectEach(1)
})

test('messages of a shared turn are sent when it commits', async () => {
  const worker = await start(
    applying(undefined, (messages) =>
      messages.filter(({ seq }) => seq === 1).map(({ key }) => ({ key, type: 'work' })),
    ),
  )
  await post(worker, newMessages())
  await eventually(async () => [...(await applied()).values()].every((seqs) => seqs.length === 2))
  await empty()
  await expectEach(1, 2)
})

test('after a failed shared turn no message is blamed: each runs alone, and only the culprit fails', async () => {
  let isBroken = true
  const worker = await start(
    applying((messages) => {
      if (!isBroken || !messages.some(({ key }) => key === FIRST)) return
      if (messages.length === 1) isBroken = false
      throw new Error('broken')
    }),
  )
  await post(worker, newMessages())
  await empty()
  await expectEach(1)
  expect(shared()).toHaveLength(1)
  expect(await outcomes(worker)).toEqual({ done: KEYS.length, failed: 1 })
})

test('a message that always fails is given up alone, after its own attempts', async () => {
  const worker = await start(
    applying((messages) => {
      if (messages.some(({ key }) => key === FIRST)) throw new Error('always broken')
    }),
  )
  await post(worker, newMessages())
  await empty()
  expect([...(await applied()).keys()].toSorted()).toEqual(KEYS.slice(1))
  expect(begun.filter((keys) => keys.length === 1 && keys[0] === FIRST)).toHaveLength(3)
  const dead = await database.sql`select key, attempts from actor_dead_letter`
  expect([...dead]).toEqual([{ key: FIRST, attempts: 3 }])
})

test('a shared turn that hangs is aborted, and each message runs alone', async () => {
  const told = Promise.withResolvers<unknown>()
  const worker = await start(
    applying(async (messages, { signal }) => {
      if (messages.length === 1) return
      const { promise, resolve } = Promise.withResolvers<void>()
      signal.addEventListener('abort', () => resolve())
      await promise
      told.resolve(signal.reason)
    }),
    { batchTimeoutMs: 200 },
  )
  await post(worker, newMessages())
  await empty()
  expect(await told.promise).toBeInstanceOf(Error)
  await expectEach(1)
  expect(await outcomes(worker)).toEqual({ done: KEYS.length, failed: 0 })
})

test('a takeover of one actor fences off the whole turn, and the turns of the others count once', async () => {
  const worker = await start(
    applying(async (messages) => {
      if (messages.length === 1) return
      await database.sql`update actor_mailbox set epoch = epoch + 1, owner = 'another' where key = ${SECOND}`
    }),
    { leaseMs: 3_600_000 },
  )
  await database.sql`insert into worker (id, heartbeat_at) values ('another', now())`
  await post(worker, newMessages())
  await eventually(async () => (await database.sql`select 1 from actor_message`).length === 1)
  expect([...(await applied())].toSorted()).toEqual(
    KEYS.filter((key) => key !== SECOND).map((key) => [key, [1]]),
  )
})

test('messages that have failed before, and those that cannot share a turn, run alone', async () => {
  const ran: string[] = []
  const work = applying()
  const definition: ActorDefinition = {
    kind: 'analysis',
    pool: 'analysis',
    maxAttempts: 3,
    handlers: {
      work,
      own: async (turn) => {
        ran.push(turn.message.key)
        await turn.finish((tx) => apply(tx, [turn.message]))
      },
    },
  }
  const worker = await startWorker(testDeps(database.url, null), [definition], NO_SWEEP)
  workers.push(worker)
  const sent = await send(database.sql, [
    ...newMessages().slice(2),
    { key: FIRST, type: 'own' },
    { key: SECOND, type: 'work' },
  ])
  await database.sql`update actor_message set attempts = 1 where key = ${SECOND}`
  worker.deps.notifier.notify(sent)
  await empty()
  await expectEach(1)
  expect(ran).toEqual([FIRST])
  expect(begun.toSorted((a, b) => a.length - b.length)).toEqual([[SECOND], KEYS.slice(2)])
})

test('a message of an unknown type fails alone', async () => {
  const worker = await start(applying(), {}, 1)
  await post(worker, [...newMessages().slice(1), { key: FIRST, type: 'unknown' }])
  await empty()
  expect([...(await applied()).keys()].toSorted()).toEqual(KEYS.slice(1))
  const dead = await database.sql`select key, type from actor_dead_letter`
  expect([...dead]).toEqual([{ key: FIRST, type: 'unknown' }])
})

test('stopping breaks off a shared turn, releases its actors and counts no attempt', async () => {
  const began = Promise.withResolvers<void>()
  const worker = await start(
    applying(async (_messages, { signal }) => {
      began.resolve()
      const { promise, reject } = Promise.withResolvers<void>()
      signal.addEventListener('abort', () => reject(signal.reason))
      await promise
    }),
  )
  await post(worker, newMessages())
  await began.promise
  await worker.stop(5_000)
  const rows = await database.sql`
    select a.owner, m.attempts from actor_mailbox a join actor_message m using (key)`
  expect([...rows]).toEqual(KEYS.map(() => ({ owner: null, attempts: 0 })))
})
