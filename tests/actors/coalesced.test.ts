/**
 * A sender leaves out its message if one is waiting. On a real database, requests and turns meet at the row of their session in
 * the orders that matter according to the model (tests/model/coalesced.ts). A turn reads every stored event, or a message waits for it.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type ActorKey, type LongTurn, type Message, NO_ORGANIZATION } from '../../src/actors/types.ts'
import { analysisActor } from '../../src/hear/agents/analysis/actor.ts'
import { prepareEvent } from '../../src/hear/agents/events/fingerprint.ts'
import { readSessions, writeGuarded } from '../../src/hear/agents/ingest/guarded.store.ts'
import { sessionActor } from '../../src/hear/agents/sessions/actor.ts'
import { deleteSessions } from '../../src/hear/agents/sessions/deletion.store.ts'
import type { Sql, Tx } from '../../src/platform/db/pool.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { newId } from '../../src/platform/ids.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import { sendMessages } from '../support/agent-sessions.ts'
import {
  type Agent,
  assistantMessage,
  eventRows,
  INGEST,
  openAgent,
  type SentEvent,
  userMessage,
} from '../support/agents.ts'
import { rulesOnly } from '../support/analysis.ts'
import { eventually } from '../support/eventually.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
let second: TestServer
let sql: Sql
beforeAll(async () => {
  server = await startTestServer()
  second = await startTestServer({ beside: server })
  sql = server.database.sql
})
afterAll(async () => {
  await second.stop()
  await server.stop()
})

const session = sessionActor({ newId })

/** Runs a turn in the order of the runtime: the handler, then the removal of its message. */
async function turn(tx: Tx, key: ActorKey): Promise<void> {
  const [newMessage] = await tx<
    Message[]
  >`select key, seq, type from actor_message where key = ${key} order by seq limit 1`
  if (newMessage === undefined || session.pool !== 'short') throw new Error('nothing to do')
  const message = { ...newMessage, id: key.slice(key.indexOf(':') + 1), payload: {}, attempts: 0 }
  const handler = session.handlers[newMessage.type]
  if (handler === undefined || typeof handler === 'function') throw new Error('not a bulk handler')
  const again = await handler.visit([{ ...message, messages: [message] }], tx, async () => {})
  expect(again.size).toBe(0)
  await tx`delete from actor_message where key = ${key} and seq = ${newMessage.seq}`
}

/** Resolves when this many statements wait for locks of other transactions. */
function whenWaiting(count = 1): Promise<unknown> {
  return eventually(async () => {
    const waiting = await sql`
      select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    return waiting.length === count
  })
}

async function isSettled(sessionId: string, sequence: number): Promise<boolean> {
  const [row] = await sql<{ watermark: number; waiting: boolean }[]>`
    select watermark, exists (select 1 from actor_message where key = 'session:' || id) as waiting
    from agent_session where id = ${sessionId}`
  return row !== undefined && (row.waiting || row.watermark >= sequence)
}

/** Creates a session with one event and its message. The first process remembers it, the second one does not. */
async function openSession(): Promise<{ agent: Agent; sessionId: string; key: ActorKey }> {
  const agent = await openAgent(server)
  const { sessionId } = await agent.accept([userMessage(1)])
  return { agent, sessionId, key: `session:${sessionId}` }
}

/** Sends to the process that does not remember the session. The request must be accepted. */
async function acceptElsewhere(agent: Agent, events: readonly SentEvent[]): Promise<unknown> {
  const answer = await second.as({ agentSecret: agent.agentSecret }).post(INGEST, agent.request(events))
  expect(answer).toMatchObject({ status: 200 })
  return answer.body
}

type Accept = (agent: Agent, events: readonly SentEvent[]) => Promise<unknown>
const byMemory: Accept = (agent, events) => agent.accept(events)

const REVISED = userMessage(1, { revision: 2, content: 'How do I import?' })
const REQUESTS: readonly (readonly [string, Accept, SentEvent])[] = [
  ['an event of a session that is remembered', byMemory, userMessage(2)],
  ['an event of a session that is read', acceptElsewhere, userMessage(2)],
  ['a late event', acceptElsewhere, userMessage(0)],
  ['a revised event', acceptElsewhere, REVISED],
]

for (const [what, accept, event] of REQUESTS) {
  test(`${what} that arrives while a turn is about to commit sends a message, although the turn's message is still visible`, async () => {
    const { agent, sessionId, key } = await openSession()
    let answer: Promise<unknown> | null = null
    await transaction(sql, async (tx) => {
      await turn(tx, key)
      answer ??= accept(agent, [event])
      await whenWaiting()
    })
    await answer
    expect(await sql`select 1 from actor_message where key = ${key}`).toHaveLength(1)
    await transaction(sql, (tx) => turn(tx, key))
    expect(await sql`select 1 from agent_late_event where session_id = ${sessionId}`).toHaveLength(0)
  })
}

test('an event that arrives while a turn without news is about to commit sends a message', async () => {
  const { agent, key } = await openSession()
  await transaction(sql, (tx) => turn(tx, key))
  await sendMessages(sql, [{ key, type: 'events_stored' }])
  let answer: Promise<unknown> | null = null
  await transaction(sql, async (tx) => {
    await turn(tx, key)
    answer ??= agent.accept([userMessage(2)])
    await whenWaiting()
  })
  await answer
  expect(await sql`select 1 from actor_message where key = ${key}`).toHaveLength(1)
})

/** Runs `work` while the session's actor is locked, so that no request with a message for it can finish. */
async function whileActorIsHeld(key: ActorKey, work: () => Promise<void>): Promise<void> {
  await sql`delete from actor_message where key = ${key}`
  await transaction(sql, async (tx) => {
    await tx`select 1 from actor_mailbox where key = ${key} for update`
    await work()
  })
}

for (const [what, event] of [
  ['a new event', userMessage(2)],
  ['a revised event', REVISED],
] as const) {
  test(`a remembered request that waits for another process, which stores ${what}, is decided by the stored state`, async () => {
    const { agent, sessionId, key } = await openSession()
    let answers: Promise<unknown>[] = []
    await whileActorIsHeld(key, async () => {
      answers = [acceptElsewhere(agent, [event])]
      await whenWaiting()
      answers.push(agent.accept([userMessage(2), userMessage(3)]))
      await whenWaiting(2)
    })
    const both = (await Promise.all(answers)) as Record<string, number>[]
    const isNew = event !== REVISED
    expect(both[0]).toMatchObject({ acceptedEventCount: isNew ? 1 : 0, revisedEventCount: isNew ? 0 : 1 })
    expect(both[1]).toMatchObject({
      acceptedEventCount: isNew ? 1 : 2,
      deduplicatedEventCount: isNew ? 1 : 0,
    })
    const stored = await eventRows(sql, sessionId)
    expect(stored.map(({ id, revision }) => `${id} ${revision}`)).toEqual([
      isNew ? 'u1 1' : 'u1 2',
      'u2 1',
      'u3 1',
    ])
    expect(await sql`select 1 from actor_message where key = ${key}`).toHaveLength(1)
  })
}

test('a remembered request that waits for the deletion of its session creates it again, with a message', async () => {
  const { agent, sessionId } = await openSession()
  let answer: ReturnType<Agent['accept']> | null = null
  await transaction(sql, async (tx) => {
    await deleteSessions(tx, agent.organizationId, [sessionId])
    answer ??= agent.accept([userMessage(2)])
    await whenWaiting()
  })
  const after = await answer!
  expect(after.sessionId).not.toBe(sessionId)
  expect(await sql`select 1 from actor_message where key = ${`session:${after.sessionId}`}`).toHaveLength(1)
  expect(await eventRows(sql, after.sessionId)).toHaveLength(1)
})

test('a write that was decided before a turn passed its event is skipped, and the event becomes a late event', async () => {
  const { agent, sessionId, key } = await openSession()
  await agent.accept([userMessage(9)], { status: 'ended' })
  const write = await writeOf(agent, 5)
  await transaction(sql, (tx) => turn(tx, key))
  expect((await writeGuarded(sql, [write], 'events_stored')).done.size).toBe(0)
  await agent.accept([userMessage(5)])
  expect(await sql`select 1 from agent_late_event where session_id = ${sessionId}`).toHaveLength(1)
})

test('an event that arrives while a turn is rolled back needs no message of its own', async () => {
  const { agent, key } = await openSession()
  let answer: Promise<unknown> | null = null
  const fails = transaction(sql, async (tx) => {
    await turn(tx, key)
    answer ??= agent.accept([userMessage(2)])
    await whenWaiting()
    throw new Error('fenced')
  })
  await expect(fails).rejects.toThrow('fenced')
  await answer
  expect(await sql`select 1 from actor_message where key = ${key}`).toHaveLength(1)
})

test('a turn that waits for a request reads the events that the request stores without a message', async () => {
  const first = await openSession()
  const second = await openSession()
  const writes = await Promise.all([first, second].map((one) => writeOf(one.agent, 2)))
  await transaction(sql, (tx) => turn(tx, second.key)) // the test writes to the second session's actor
  writes[1] = await writeOf(second.agent, 2)
  let written: ReturnType<typeof writeGuarded> | null = null
  let read: Promise<void> | null = null
  await transaction(sql, async (tx) => {
    await tx`select 1 from actor_mailbox where key = ${second.key} for update`
    written ??= writeGuarded(sql, writes, 'events_stored')
    await whenWaiting()
    read ??= transaction(sql, (other) => turn(other, first.key))
    await whenWaiting(2)
  })
  const { done, sent } = await written!
  expect(done.size).toBe(2)
  expect(sent.map(({ key }) => key)).toEqual([second.key])
  await read
  expect(await isSettled(first.sessionId, 2)).toBe(true)
  expect(await sql`select 1 from actor_message where key = ${first.key}`).toHaveLength(0)
})

async function writeOf(agent: Agent, sequence: number) {
  const { organizationId, applicationId } = agent
  const key = { organizationId, applicationId, externalSessionId: 'chat' }
  const seen = (await readSessions(sql, [key], [{ ids: [], sequences: [] }])).get(0)
  if (seen?.session == null) throw new Error('no session')
  const event = prepareEvent({
    externalEventId: `u${sequence}`,
    sequence,
    revision: 1,
    type: 'user_message',
    final: true,
    occurredAt: '2026-01-02T09:00:00Z',
    body: {},
  })
  return {
    key,
    id: seen.session.id,
    values: seen.session,
    version: seen.version,
    settingsVersion: 1,
    creditsExhausted: false,
    events: [event],
    changesValues: false,
    hasNews: true,
    times: null,
  }
}

test('an analysis that waits for a turn sees the responses for which the turn left out its message', async () => {
  const { agent, sessionId, key } = await openSession()
  const analysisKey: ActorKey = `analysis:${sessionId}`
  await sendMessages(sql, [{ key: analysisKey, type: 'analyze' }])
  await agent.accept([assistantMessage(2)])
  const actor = analysisActor(server.deps, rulesOnly(server.deps.textWork))
  const handler = actor.pool === 'short' ? undefined : actor.handlers.analyze
  if (typeof handler !== 'object') throw new Error('not a shared turn')
  const newMessages: string[] = []
  const step: LongTurn['step'] = (work) =>
    transaction(sql, (tx) =>
      work(tx, async (sent) => void newMessages.push(...sent.map((newMessage) => newMessage.key))),
    )
  let analysis: Promise<void> | null = null
  await transaction(sql, async (tx) => {
    await turn(tx, key)
    analysis ??= handler.alone({
      message: { key: analysisKey, id: sessionId, seq: 1, type: 'analyze', payload: {}, attempts: 0 },
      organization: NO_ORGANIZATION,
      signal: new AbortController().signal,
      log: createLog('silent', 'test'),
      read: (work) => transaction(sql, work, 'read only'),
      step,
      finish: step,
    })
    await whenWaiting()
  })
  await analysis
  expect(newMessages).toEqual([analysisKey])
})

test('a turn reads when a session of an older version began', async () => {
  const { agent, sessionId, key } = await openSession()
  await sql`update agent_session set started_at = null, ended_at = null where id = ${sessionId}`
  await agent.accept([userMessage(2, { occurredAt: '2026-01-02T09:30:00Z' })])
  await transaction(sql, (tx) => turn(tx, key))
  const [row] = await sql<{ begins: Date; ends: Date }[]>`
    select started_at as begins, ended_at as ends from agent_session where id = ${sessionId}`
  expect(row?.begins.toISOString()).toBe('2026-01-02T09:00:00.000Z')
  expect(row?.ends.toISOString()).toBe('2026-01-02T09:30:00.000Z')
})
