/** The guarantees with either notifier: order, one turn at a time, wake-ups, retries, dead letters. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { send } from '../../src/actors/mailbox.ts'
import type { RuntimeOptions } from '../../src/actors/options.ts'
import type { ActorDefinition, ActorKey, NewMessage } from '../../src/actors/types.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import {
  NO_SWEEP,
  sessions,
  startWorker,
  type TestDeps,
  type TestWorker,
  testDeps,
} from '../support/actors.ts'
import { createTestDatabase, type TestDatabase, testServer } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'

const newKey = (): ActorKey => `session:${crypto.randomUUID()}`

describe.each(['redis', 'postgres'] as const)('with the notifier on %s', (notifier) => {
  let database: TestDatabase
  let sender: TestDeps
  const workers: TestWorker[] = []

  beforeAll(async () => {
    database = await createTestDatabase()
    await database.sql`
      create table applied (id bigserial primary key, key text not null, seq bigint not null, type text not null)`
    sender = deps()
  })
  afterAll(async () => {
    await sender.close()
    await database.drop()
  })
  beforeEach(async () => {
    await Promise.all(workers.splice(0).map((worker) => worker.close()))
    await database.sql`truncate applied, actor_mailbox, actor_message, actor_dead_letter, worker`
    return () => {}
  })

  function deps() {
    return testDeps(database.url, notifier === 'redis' ? testServer('TEST_REDIS_URL') : null)
  }

  async function start(definition: ActorDefinition, options: Partial<RuntimeOptions> = {}) {
    const worker = await startWorker(deps(), [definition], options)
    workers.push(worker)
    return worker
  }

  async function post(newMessages: readonly NewMessage[]) {
    sender.notifier.notify(await transaction(sender.sql, (tx) => send(tx, newMessages)))
  }

  const waiting = async () =>
    (await database.sql`select key, seq from actor_message order by key, seq`).length
  const empty = () => eventually(async () => (await waiting()) === 0).catch(explain)

  /** Adds what tells a lost wake-up from a turn that went wrong. */
  async function explain(error: Error): Promise<never> {
    const mailboxes = await database.sql`select key, owner, epoch, last_seq from actor_mailbox`
    const lost = await Promise.all(
      [sender, ...workers.map((worker) => worker.deps)].map(async ({ metrics }) => {
        const { values } = await metrics.lostWakeUps.get()
        return values.map(({ value }) => value)
      }),
    )
    throw new Error(`${error.message}\nlost wake-ups: ${lost}\n${Bun.inspect([...mailboxes])}`)
  }

  /** Records its message; the sequence of ids is the order of the effects. */
  const applying = {
    async tick(message, tx) {
      await tx`insert into applied (key, seq, type) values (${message.key}, ${message.seq}, ${message.type})`
      return 'done'
    },
  } satisfies Parameters<typeof sessions>[0]

  async function appliedSeqs(key: ActorKey): Promise<number[]> {
    const rows = await database.sql<{ seq: number }[]>`select seq from applied where key = ${key} order by id`
    return rows.map((row) => row.seq)
  }

  test('messages of a key are applied once each, in the order they were sent, by any number of workers', async () => {
    const running = new Set<ActorKey>()
    let overlaps = 0
    const definition = sessions({
      async tick(message, tx) {
        if (running.has(message.key)) overlaps += 1
        running.add(message.key)
        await applying.tick(message, tx)
        running.delete(message.key)
        return 'done'
      },
    })
    for (let i = 0; i < 3; i++) await start(definition, { batchKeys: 4, fairShare: 6 })
    const keys = Array.from({ length: 12 }, newKey)
    await Promise.all(
      keys.map(async (key) => {
        for (let i = 0; i < 25; i++) await post([{ key, type: 'tick' }])
      }),
    )
    await empty()
    const expected = Array.from({ length: 25 }, (_, i) => i + 1)
    for (const key of keys) expect(await appliedSeqs(key)).toEqual(expected)
    expect(overlaps).toBe(0)
  })

  test('wake-ups are enough: no message waits for the sweep, however sends and releases coincide', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    await start(
      sessions({
        async tick(message) {
          if (message.seq === 100) resolve()
          return 'done'
        },
      }),
      NO_SWEEP,
    )
    const key = newKey()
    // Every other message is sent as soon as the last one is handled: between the read of the mailbox and the release.
    for (let seq = 1; seq <= 100; seq++) {
      await post([{ key, type: 'tick' }])
      if (seq % 2 === 0) await empty()
    }
    await promise
    await empty()
  })

  test('a message with a delay does not run before it is due, and then runs without waiting for the sweep', async () => {
    const early: boolean[] = []
    const definition = sessions({
      async tick(message, tx) {
        const [row] = await tx<{ early: boolean }[]>`
          select available_at > now() as early from actor_message where key = ${message.key}`
        early.push(row?.early ?? true)
        return 'done'
      },
    })
    await start(definition, NO_SWEEP)
    const [later, now] = [newKey(), newKey()]
    await post([
      { key: later, type: 'tick', delayMs: 1_000 },
      { key: now, type: 'tick' },
    ])
    await eventually(async () => (await waiting()) === 1)
    expect(await database.sql`select key from actor_message`).toMatchObject([{ key: later }])
    await empty()
    expect(early).toEqual([false, false])
  })

  test('a wake-up that arrives after the release, but before the worker knows of the release, is not lost', async () => {
    const [key, other] = [newKey(), newKey()]
    const own = deps()
    let afterCommit = async () => {
      afterCommit = async () => {}
      await post([{ key, type: 'tick' }])
      // Wake-ups arrive in order: once this one has arrived, so has the one before.
      await post([{ key: other, type: 'tick' }])
      await eventually(async () => (await appliedSeqs(other)).length === 1)
    }
    const begin = own.sql.begin.bind(own.sql)
    const slowBegin = async (mode: string, work: Parameters<typeof begin>[1]) => {
      const result = await begin(mode, work)
      await afterCommit()
      return result
    }
    Object.assign(own.sql, { begin: slowBegin })
    workers.push(await startWorker(own, [sessions(applying)], NO_SWEEP))
    await post([{ key, type: 'tick' }])
    await eventually(async () => (await appliedSeqs(key)).length === 2)
  })

  test('a transaction that does not commit sends nothing', async () => {
    await start(sessions(applying))
    const key = newKey()
    await expect(
      transaction(sender.sql, async (tx) => {
        await send(tx, [{ key, type: 'tick' }])
        throw new Error('no')
      }),
    ).rejects.toThrow('no')
    await post([{ key, type: 'tick' }])
    await empty()
    expect(await appliedSeqs(key)).toEqual([1])
  })

  test('messages of a turn are sent if and only if it commits, and with wake-ups', async () => {
    const [from, to] = [newKey(), newKey()]
    await start(
      sessions({
        async forward(message, tx, sendMessages) {
          await sendMessages([{ key: to, type: 'tick' }])
          await sendMessages([{ key: to, type: 'tick' }])
          if (message.attempts === 0) throw new Error('the first try fails')
          return applying.tick(message, tx)
        },
        ...applying,
      }),
      NO_SWEEP,
    )
    await post([{ key: from, type: 'forward' }])
    await eventually(async () => (await appliedSeqs(to)).length === 2)
    expect(await appliedSeqs(from)).toEqual([1])
    expect(await appliedSeqs(to)).toEqual([1, 2])
  })

  test('a failing message blocks only its own key, and is retried in its place', async () => {
    let failures = 0
    await start(
      sessions({
        ...applying,
        async flaky(message, tx) {
          await tx`insert into applied (key, seq, type) values (${message.key}, -1, 'of a failed try')`
          if (failures++ < 3) throw new Error('not yet')
          await tx`delete from applied where seq = -1`
          return applying.tick(message, tx)
        },
      }),
    )
    const [bad, ...good] = Array.from({ length: 10 }, newKey)
    await post([{ key: bad!, type: 'flaky' }, ...good.map((key) => ({ key, type: 'tick' }))])
    await post([bad!, ...good].map((key) => ({ key, type: 'tick' })))
    await empty()
    for (const key of [bad!, ...good]) expect(await appliedSeqs(key)).toEqual([1, 2])
    // A failure in a shared transaction does not count; a failure alone does.
    expect(failures).toBeGreaterThanOrEqual(4)
  })

  test('after maxAttempts a message becomes a dead letter, and its key continues', async () => {
    let tries = 0
    const definition = sessions(
      { ...applying, poison: () => Promise.reject(new Error(`try ${++tries}`)) },
      { maxAttempts: 3 },
    )
    await start(definition)
    const key = newKey()
    await post([{ key, type: 'poison', payload: { of: 'interest' } }])
    await post([{ key, type: 'tick' }])
    await empty()
    expect(await appliedSeqs(key)).toEqual([2])
    const [newMessage] =
      await database.sql`select key, seq, type, payload, attempts, last_error from actor_dead_letter`
    expect(newMessage).toEqual({
      key,
      seq: 1,
      type: 'poison',
      payload: { of: 'interest' },
      attempts: 3,
      last_error: `Error: try ${tries}`,
    })
  })

  test('if the domain handles a message in giveUp, there is no dead letter', async () => {
    const definition = sessions(
      { ...applying, poison: () => Promise.reject(new Error('broken')) },
      {
        maxAttempts: 2,
        async giveUp(message, tx, _send, error) {
          await tx`insert into applied (key, seq, type) values (${message.key}, ${message.seq}, ${error})`
          return 'handled'
        },
      },
    )
    await start(definition)
    const key = newKey()
    await post([{ key, type: 'poison' }])
    await post([{ key, type: 'tick' }])
    await empty()
    expect([...(await database.sql`select seq, type from applied order by id`)]).toEqual([
      { seq: 1, type: 'Error: broken' },
      { seq: 2, type: 'tick' },
    ])
    expect(await database.sql`select 1 from actor_dead_letter`).toHaveLength(0)
  })

  test('a message of an unknown type fails like any other', async () => {
    await start(sessions(applying, { maxAttempts: 1 }))
    const key = newKey()
    await post([{ key, type: 'constructor' }])
    await empty()
    const [newMessage] = await database.sql`select last_error from actor_dead_letter where key = ${key}`
    expect(newMessage?.last_error).toBe(
      'Error: this version knows no message "constructor" of session actors',
    )
  })

  test('`again` keeps the message at the head and commits the writes', async () => {
    await start(
      sessions({
        ...applying,
        async step(message, tx) {
          await tx`insert into applied (key, seq, type) values (${message.key}, ${message.seq}, 'step')`
          const [row] = await tx<
            { steps: number }[]
          >`select count(*) as steps from applied where key = ${message.key}`
          return row!.steps < 4 ? 'again' : 'done'
        },
      }),
      NO_SWEEP,
    )
    const key = newKey()
    await post([{ key, type: 'step' }])
    await post([{ key, type: 'tick' }])
    await empty()
    expect(await appliedSeqs(key)).toEqual([1, 1, 1, 1, 2])
  })

  test('after its fair share an actor goes to the end of the line', async () => {
    const [busy, modest] = [newKey(), newKey()]
    for (let i = 0; i < 40; i++)
      await transaction(sender.sql, (tx) => send(tx, [{ key: busy, type: 'tick' }]))
    await start(
      sessions({
        async tick(message, tx) {
          // The other actor's message arrives while the first one runs.
          if (message.key === busy && message.seq === 1) await post([{ key: modest, type: 'tick' }])
          return applying.tick(message, tx)
        },
      }),
      { ...NO_SWEEP, batchSlots: 1, batchKeys: 1, batchMessages: 2, fairShare: 4 },
    )
    sender.notifier.notify([{ key: busy, seq: 40, type: 'tick' }])
    await empty()
    const order = await database.sql<{ key: ActorKey }[]>`select key from applied order by id`
    expect(order.findIndex((row) => row.key === modest)).toBeLessThan(40)
    expect(await appliedSeqs(busy)).toEqual(Array.from({ length: 40 }, (_, i) => i + 1))
  })

  test('stopping releases every actor and counts no attempt', async () => {
    const worker = await start(sessions(applying))
    const key = newKey()
    await post([{ key, type: 'tick' }])
    await empty()
    await worker.stop(5_000)
    expect(await database.sql`select 1 from actor_mailbox where owner is not null`).toHaveLength(0)
    expect(await database.sql`select 1 from worker where id = ${worker.worker}`).toHaveLength(0)
    await post([{ key, type: 'tick' }])
    await start(sessions(applying))
    await empty()
    expect(await appliedSeqs(key)).toEqual([1, 2])
  })
})
