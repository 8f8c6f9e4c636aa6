/** Bulk handlers: many actors are visited at once, and what holds for each of them is what holds for one alone. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { send } from '../../src/actors/mailbox.ts'
import type { ActorKey, BulkHandler, NewMessage, ShortHandler, Visit } from '../../src/actors/types.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { NO_SWEEP, sessions, startWorker, type TestWorker, testDeps } from '../support/actors.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'

const KEYS = Array.from({ length: 12 }, (): ActorKey => `session:${crypto.randomUUID()}`).toSorted()
const [FIRST, SECOND] = KEYS as [ActorKey, ActorKey]

let database: TestDatabase
const workers: TestWorker[] = []

beforeAll(async () => {
  database = await createTestDatabase()
  await database.sql`create table applied (id bigserial primary key, key text not null, seq bigint not null)`
})
beforeEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.close()))
  await database.sql`truncate applied, actor_mailbox, actor_message, actor_dead_letter, worker`
})
afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.close()))
  await database.drop()
})

/** Starts a worker, then wake-ups once for all messages. */
async function run(
  handlers: Readonly<Record<string, ShortHandler | BulkHandler>>,
  rounds: readonly (readonly NewMessage[])[],
  options = {},
) {
  const worker = await startWorker(testDeps(database.url, null), [sessions(handlers)], {
    ...NO_SWEEP,
    ...options,
  })
  workers.push(worker)
  const sent = await transaction(database.sql, async (tx) => {
    const wakeUps = []
    for (const newMessages of rounds) wakeUps.push(...(await send(tx, newMessages)))
    return wakeUps
  })
  worker.deps.notifier.notify(sent)
  await eventually(async () => (await database.sql`select 1 from actor_message`).length === 0)
  return worker
}

const apply = (key: ActorKey, seq: number, tx: Parameters<ShortHandler>[1]) =>
  tx`insert into applied (key, seq) values (${key}, ${seq})`

/** Writes down what it is given; `visited` has every call, also those that were rolled back. */
function applying(
  visited: (readonly Visit[])[],
  check: (visits: readonly Visit[]) => void | Promise<void> = () => {},
): BulkHandler {
  return {
    async visit(visits, tx) {
      visited.push(visits)
      for (const { key, messages } of visits) for (const { seq } of messages) await apply(key, seq, tx)
      await check(visits)
      return new Set()
    },
  }
}

async function appliedTo(key: ActorKey): Promise<readonly number[]> {
  const rows = await database.sql<{ seq: number }[]>`select seq from applied where key = ${key} order by id`
  return rows.map(({ seq }) => seq)
}

const ticks = (type = 'tick'): readonly NewMessage[] => KEYS.map((key) => ({ key, type }))

test('all due messages of all actors that are notified of at once are one visit', async () => {
  const visited: (readonly Visit[])[] = []
  await run({ tick: applying(visited) }, [ticks(), ticks(), ticks()])
  expect(visited).toHaveLength(1)
  expect(visited[0]?.map(({ key }) => key)).toEqual(KEYS)
  for (const key of KEYS) expect(await appliedTo(key)).toEqual([1, 2, 3])
})

test('messages with a handler of their own keep their place among those of the bulk handler', async () => {
  const visited: (readonly Visit[])[] = []
  const bulk = applying(visited)
  const own: ShortHandler = async ({ key, seq }, tx) => {
    await apply(key, seq, tx)
    return 'done'
  }
  const handlers = { tick: bulk, tock: bulk, own }
  await run(handlers, [ticks(), ticks('tock'), ticks('own'), ticks('own'), ticks()])
  for (const key of KEYS) expect(await appliedTo(key)).toEqual([1, 2, 3, 4, 5])
})

test('who has more to do keeps its messages and is visited again; the others are not', async () => {
  const visited: (readonly Visit[])[] = []
  const bulk: BulkHandler = {
    async visit(visits, tx) {
      visited.push(visits)
      for (const { key } of visits) await apply(key, visited.length, tx)
      return new Set(visited.length < 3 ? [SECOND] : [])
    },
  }
  await run({ tick: bulk }, [ticks(), ticks()])
  expect(await appliedTo(SECOND)).toEqual([1, 2, 3])
  expect(visited[2]?.map(({ messages }) => messages.map(({ seq }) => seq))).toEqual([[1, 2]])
  for (const key of KEYS) if (key !== SECOND) expect(await appliedTo(key)).toEqual([1])
})

test('a visit that fails is nobody’s fault: each is visited alone, and only the culprit has failed', async () => {
  const visited: (readonly Visit[])[] = []
  let isBroken = true
  const bulk = applying(visited, (visits) => {
    if (!visits.some(({ key }) => key === FIRST) || !isBroken) return
    if (visits.length === 1) isBroken = false
    throw new Error('broken')
  })
  const { deps } = await run({ tick: bulk }, [ticks()])
  for (const key of KEYS) expect(await appliedTo(key)).toEqual([1])
  expect(visited.filter(({ length }) => length > 1)).toHaveLength(1)
  const { values } = await deps.metrics.turns.get()
  const count = (outcome: string) => values.find(({ labels }) => labels.outcome === outcome)?.value ?? 0
  expect({ done: count('done'), failed: count('failed') }).toEqual({ done: KEYS.length, failed: 1 })
})

test('a notifier that wake-ups while a visit fails does not bring its actors together again', async () => {
  const visited: (readonly Visit[])[] = []
  const other: ActorKey = `session:${crypto.randomUUID()}`
  const worker = await startWorker(testDeps(database.url, null), [sessions({ tick: failing() })], NO_SWEEP)
  workers.push(worker)
  const sent = await send(database.sql, ticks())
  function failing(): BulkHandler {
    return applying(visited, async (visits) => {
      if (visits.length === 1) return
      // Wake-ups of one sender are heard in their order.
      worker.deps.notifier.notify([...sent, ...(await send(database.sql, [{ key: other, type: 'tick' }]))])
      await eventually(async () => (await appliedTo(other)).length === 1)
      throw new Error('broken')
    })
  }
  worker.deps.notifier.notify(sent)
  await eventually(async () => (await database.sql`select 1 from actor_message`).length === 0)
  for (const key of KEYS) expect(await appliedTo(key)).toEqual([1])
  expect(visited.filter(({ length }) => length > 1)).toHaveLength(1)
})

test('a message of an unknown type fails by itself, behind those that were before it', async () => {
  const newMessages: readonly NewMessage[] = [...ticks().slice(1), { key: FIRST, type: 'tick' }]
  await run({ tick: applying([]) }, [newMessages, [{ key: FIRST, type: 'unknown' }], ticks()])
  expect(await appliedTo(FIRST)).toEqual([1, 3])
  const dead = await database.sql`select key, seq, type from actor_dead_letter`
  expect([...dead]).toEqual([{ key: FIRST, seq: 2, type: 'unknown' }])
  for (const key of KEYS.slice(1)) expect(await appliedTo(key)).toEqual([1, 2])
})

test('messages of a visit leave if and only if it commits', async () => {
  let attempts = 0
  const bulk: BulkHandler = {
    async visit(visits, _, sending) {
      if (visits.some(({ messages }) => messages[0]?.type === 'tock')) return new Set()
      attempts += 1
      await sending(visits.map(({ key }) => ({ key, type: 'tock' })))
      if (attempts === 1) throw new Error('broken')
      return new Set()
    },
  }
  await run({ tick: bulk, tock: bulk }, [ticks()])
  const lastSeq = await database.sql`select last_seq as "lastSeq" from actor_mailbox`
  expect(lastSeq.map((row) => row.lastSeq)).toEqual(KEYS.map(() => 2))
})
