/** The session's actor on a real database: order, gaps, revisions, late events, feedback signals, paging. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { sessionActor } from '../../src/hear/agents/sessions/actor.ts'
import { reopenAround } from '../../src/hear/agents/sessions/responses.store.ts'
import type { Tx } from '../../src/platform/db/pool.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { newId } from '../../src/platform/ids.ts'
import {
  assistant,
  createApplication,
  createSession,
  feedback,
  ledger,
  runSession,
  sendMessages,
  sessionRow,
  signalRows,
  storeEvents,
  type TestApplication,
  type TestEvent,
  user,
} from '../support/agent-sessions.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase
let application: TestApplication
const actor = sessionActor({ newId })

beforeAll(async () => {
  database = await createTestDatabase()
  application = await createApplication(database.sql)
})
afterAll(() => database.drop())

async function sessionWith(...events: TestEvent[]): Promise<string> {
  const id = await createSession(database.sql, application)
  await storeEvents(database.sql, id, events)
  return id
}
const store = (id: string, ...events: TestEvent[]) => storeEvents(database.sql, id, events)
const run = (id: string, type?: string) => runSession(database.sql, actor, id, type)
const session = (id: string) => sessionRow(database.sql, id)
const setStatus = (id: string, status: string) =>
  database.sql`update agent_session set status = ${status} where id = ${id}`

/** Rows of sessions that the statements of the transaction have read. */
async function rowsRead(tx: Tx): Promise<number> {
  const [row] = await tx`
    select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int as count
    from pg_stat_xact_user_tables where relname like 'agent_%'`
  return row?.count
}

describe('session progress', () => {
  test('processes events in order of sequence, in whatever order they arrive', async () => {
    const id = await sessionWith(feedback(3, 'a1'), feedback(2, 'a1'))
    await store(id, user(0), assistant(1))
    await run(id)
    const signals = await signalRows(database.sql, id)
    expect(signals.map((signal) => signal.event)).toEqual(['f2', 'f3'])
    expect((await session(id)).watermark).toBe(3)
  })

  for (const lowest of [0, 1]) {
    test(`does not wait when the lowest sequence is ${lowest}`, async () => {
      const id = await sessionWith(user(lowest), feedback(lowest + 1, 'a'))
      await run(id)
      expect(await session(id)).toMatchObject({ watermark: lowest + 1, gapDeadline: null })
    })
  }

  test('of an open session waits at a gap, shows until when, and continues when the gap is filled', async () => {
    const id = await sessionWith(user(0), feedback(2, 'a1'), feedback(3, 'a1'))
    await run(id)
    expect(await session(id)).toMatchObject({ watermark: 0, processingStatus: 'pending' })
    expect((await session(id)).gapDeadline).not.toBeNull()
    expect(await signalRows(database.sql, id)).toEqual([])
    await store(id, user(1))
    await run(id)
    expect(await session(id)).toMatchObject({
      watermark: 3,
      gapDeadline: null,
      processingStatus: 'completed',
      gapsPermanentThrough: null,
    })
    expect(await signalRows(database.sql, id)).toHaveLength(2)
  })

  for (const status of ['ended', 'abandoned']) {
    test(`takes the gaps of a session that is ${status} as permanent`, async () => {
      const id = await sessionWith(user(4), feedback(7, 'a5'))
      await run(id)
      expect((await session(id)).watermark).toBe(-1)
      await setStatus(id, status)
      await run(id)
      expect(await session(id)).toMatchObject({
        watermark: 7,
        gapDeadline: null,
        processingStatus: 'completed',
      })
    })
  }

  test('processes a late event of a terminal session', async () => {
    const id = await sessionWith(user(0), feedback(5, 'a1'))
    await setStatus(id, 'ended')
    await run(id)
    await store(id, feedback(2, 'a1', { rating: 'negative' }))
    await run(id)
    const signals = await signalRows(database.sql, id)
    expect(signals.map((signal) => signal.event)).toEqual(['f2', 'f5'])
    expect((await session(id)).watermark).toBe(5)
    expect(await database.sql`select 1 from agent_late_event where session_id = ${id}`).toHaveLength(0)
  })

  test('of 2,500 events takes several turns and skips no event', async () => {
    const events = Array.from({ length: 2_500 }, (_, sequence) =>
      sequence % 5 === 0
        ? feedback(sequence, 'a1')
        : sequence % 5 === 1
          ? assistant(sequence)
          : user(sequence),
    )
    const id = await sessionWith(...events)
    const { turns, newMessages } = await run(id)
    expect(turns).toBe(3)
    expect((await session(id)).watermark).toBe(2_499)
    expect(await signalRows(database.sql, id)).toHaveLength(500)
    expect(await ledger(database.sql, id)).toHaveLength(500)
    expect(newMessages[0]).toMatchObject({ key: `analysis:${id}`, type: 'analyze' })
  })

  test('delays the analysis of an open session, and starts that of an ended session at once', async () => {
    const newMessage = { type: 'analyze', unless: 'waiting' as const, organizationId: expect.any(String) }
    const open = await sessionWith(user(0), assistant(1))
    expect((await run(open)).newMessages.filter(isAnalysis)).toEqual([
      { ...newMessage, key: `analysis:${open}`, delayMs: expect.any(Number) },
    ])
    const ended = await sessionWith(user(0), assistant(1))
    await setStatus(ended, 'ended')
    expect((await run(ended)).newMessages.filter(isAnalysis)).toEqual([
      { ...newMessage, key: `analysis:${ended}` },
    ])
  })

  test('of user messages reads no more than its neighbours, however long the session is', async () => {
    const [without, withOne] = [
      Array.from({ length: 300 }, (_, sequence) => user(sequence)),
      [assistant(300)],
    ]
    for (const more of [[], withOne]) {
      const id = await sessionWith(...without, ...more)
      await run(id)
      const { organizationId, applicationId } = application
      const scope = { organizationId, applicationId, sessionId: id }
      const rows = Array.from({ length: 100 }, (_, index) => 100 + index)
      const fetched = await transaction(database.sql, async (tx) => {
        const before = await rowsRead(tx)
        await reopenAround(tx, [{ scope, rows }])
        return (await rowsRead(tx)) - before
      })
      expect(fetched).toBeLessThan(4 * rows.length)
      const versions = await database.sql`select version from agent_response where session_id = ${id}`
      expect(versions.map(({ version }) => version)).toEqual(more.map(() => 2))
    }
  })

  test('of a deleted session needs no turn', async () => {
    expect(await run(crypto.randomUUID())).toEqual({ turns: 1, newMessages: [] })
  })
})

describe('the idle time-out', () => {
  const age = (id: string, seconds: number) =>
    database.sql`
      update agent_session set last_activity_at = now() - make_interval(secs => ${seconds}::int) where id = ${id}`

  test('makes the gaps of an idle open session permanent and stores up to which sequence', async () => {
    const id = await sessionWith(user(0), feedback(2, 'a1'), feedback(6, 'a1'))
    await run(id)
    await age(id, 86_401)
    await run(id, 'gap_timeout')
    expect(await session(id)).toMatchObject({ watermark: 6, gapsPermanentThrough: 6, gapDeadline: null })
    expect(await signalRows(database.sql, id)).toHaveLength(2)
    await store(id, user(8))
    await run(id)
    expect(await session(id)).toMatchObject({
      watermark: 6,
      gapsPermanentThrough: 6,
      processingStatus: 'pending',
    })
  })

  test('is checked again in the turn: a session with new activity keeps waiting', async () => {
    const id = await sessionWith(user(0), user(2))
    await run(id)
    await age(id, 86_000)
    await run(id, 'gap_timeout')
    expect(await session(id)).toMatchObject({ watermark: 0, gapsPermanentThrough: null })
  })

  test('changes nothing in an idle session without gaps', async () => {
    const id = await sessionWith(user(0), user(1))
    await age(id, 90_000)
    await run(id, 'gap_timeout')
    expect(await session(id)).toMatchObject({ watermark: 1, gapsPermanentThrough: null })
  })
})

describe('explicit feedback', () => {
  test('becomes one signal with rating, labels, comment, target and participant', async () => {
    const id = await sessionWith(
      user(0),
      assistant(1),
      feedback(2, 'a1', { rating: 'negative', labels: ['slow', 'wrong'], comment: 'No.' }),
    )
    await run(id)
    const [signal] = await signalRows(database.sql, id)
    expect(signal).toMatchObject({
      source: 'explicit_feedback',
      rating: 'negative',
      labels: ['slow', 'wrong'],
      comment: 'No.',
      event: 'f2',
      target: 'a1',
      revision: 1,
      participant: 'anna',
    })
  })

  test('that is revised replaces its signal', async () => {
    const id = await sessionWith(
      user(0),
      feedback(1, 'a0', { rating: 'positive', labels: ['nice'], comment: 'Yes' }),
    )
    await run(id)
    const [before] = await signalRows(database.sql, id)
    await store(id, { ...feedback(1, 'a0', { rating: 'negative' }), revision: 3 })
    await run(id)
    const after = await signalRows(database.sql, id)
    expect(after).toHaveLength(1)
    expect(after[0]).toMatchObject({
      id: before!.id,
      rating: 'negative',
      labels: [],
      comment: null,
      revision: 3,
    })
  })

  test('that is retracted loses its signal, and a later revision creates one again', async () => {
    const id = await sessionWith(user(0), feedback(1, 'a0'), feedback(2, 'a0'))
    await run(id)
    const retracted = {
      ...feedback(1, 'a0'),
      body: { feedback: { targetEventExternalId: 'a0', retracted: true } },
    }
    await store(id, { ...retracted, revision: 2 })
    await run(id)
    expect((await signalRows(database.sql, id)).map((signal) => signal.event)).toEqual(['f2'])
    await store(id, { ...feedback(1, 'a0', { rating: 'negative' }), revision: 3 })
    await run(id)
    expect(await signalRows(database.sql, id)).toMatchObject([
      { event: 'f1', rating: 'negative', revision: 3 },
      { event: 'f2' },
    ])
  })

  test('that was retracted before its first turn makes no signal', async () => {
    const body = { feedback: { targetEventExternalId: 'a0', retracted: true } } as const
    const id = await sessionWith(user(0), { ...feedback(1, 'a0'), revision: 2, body })
    await run(id)
    expect(await signalRows(database.sql, id)).toEqual([])
  })

  test('that is partial creates no signal until it is final', async () => {
    const id = await sessionWith(user(0), { ...feedback(1, 'a0'), final: false })
    await run(id)
    expect(await session(id)).toMatchObject({ watermark: 1 })
    expect(await signalRows(database.sql, id)).toEqual([])
    await store(id, { ...feedback(1, 'a0'), revision: 2 })
    await run(id)
    expect(await signalRows(database.sql, id)).toHaveLength(1)
  })
})

test('a turn that is repeated changes nothing', async () => {
  const id = await sessionWith(user(0), assistant(1), feedback(2, 'a1'))
  await run(id)
  const [state, signals] = [await session(id), await signalRows(database.sql, id)]
  await run(id)
  expect(await session(id)).toEqual(state)
  expect(await signalRows(database.sql, id)).toEqual(signals)
})

test('a turn sends no message for analysis while one is waiting', async () => {
  const id = await sessionWith(user(0), assistant(1))
  const first = await run(id)
  expect(first.newMessages.filter(isAnalysis)).toHaveLength(1)
  await sendMessages(database.sql, first.newMessages)
  await store(id, assistant(2))
  await sendMessages(database.sql, (await run(id)).newMessages)
  const newMessages = await database.sql`select 1 from actor_message where key = ${`analysis:${id}`}`
  expect(newMessages).toHaveLength(1)
})

test('a session whose turn was given up has the status failed, and its message becomes a dead letter', async () => {
  const id = await sessionWith(user(0))
  const message = {
    key: `session:${id}`,
    id,
    seq: 1,
    type: 'events_stored',
    payload: {},
    attempts: 10,
  } as const
  const outcome = await transaction(database.sql, (tx) =>
    actor.giveUp!(message, tx, async () => {}, 'broken'),
  )
  expect(outcome).toBe('dead_letter')
  expect((await session(id)).processingStatus).toBe('failed')
})

const isAnalysis = ({ key }: { readonly key: string }) => key.startsWith('analysis:')
