/**
 * Sessions that a process remembers from its last request. New events are stored without a read. The answers are the same as with a
 * read, even where another process, a user or the session's actor changed the session in the meantime.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import {
  type Agent,
  assistantMessage,
  eventRows,
  feedbackOn,
  INGEST,
  openAgent,
  type SentEvent,
  sessionRow,
  userMessage,
} from '../support/agents.ts'
import { eventually } from '../support/eventually.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
let second: TestServer
beforeAll(async () => {
  server = await startTestServer()
  second = await startTestServer({ beside: server })
})
afterAll(async () => {
  await second.stop()
  await server.stop()
})

/** Sends to the other process, which must accept. */
async function acceptElsewhere(agent: Agent, events: readonly SentEvent[], members = {}): Promise<void> {
  const client = second.as({ agentSecret: agent.agentSecret })
  expect(await client.post(INGEST, agent.request(events, members))).toMatchObject({ status: 200 })
}

test('session values of another process stay, and its events are recognised', async () => {
  const agent = await openAgent(server)
  const { sessionId } = await agent.accept([userMessage(1)])
  const participants = [{ externalId: 'ada' }]
  await acceptElsewhere(agent, [userMessage(2)], { status: 'ended', agentVersion: '7', participants })
  expect(await agent.accept([userMessage(3)])).toMatchObject({ acceptedEventCount: 1 })
  expect(await sessionRow(server.database.sql, sessionId)).toMatchObject({
    status: 'ended',
    agent_version: '7',
  })
  await acceptElsewhere(agent, [userMessage(4), userMessage(5)])
  expect(await agent.accept([userMessage(4)])).toMatchObject({
    acceptedEventCount: 0,
    deduplicatedEventCount: 1,
  })
  await acceptElsewhere(agent, [userMessage(6)])
  await agent.refuse('sequence_occupied', [userMessage(6, { externalEventId: 'rival' })])
  await acceptElsewhere(agent, [userMessage(7)])
  await agent.refuse('event_changed', [userMessage(7, { content: 'Something else.' })])
  expect(await eventRows(server.database.sql, sessionId)).toHaveLength(7)
})

test('two processes that write to one session in turn lose no event and accept each once', async () => {
  const agent = await openAgent(server)
  const { sessionId } = await agent.accept([userMessage(1)])
  for (let sequence = 2; sequence <= 20; sequence += 3) {
    await acceptElsewhere(agent, [userMessage(sequence)])
    await agent.accept([userMessage(sequence + 1)])
    expect(await agent.accept([userMessage(sequence + 2)])).toMatchObject({ acceptedEventCount: 1 })
  }
  expect(await eventRows(server.database.sql, sessionId)).toHaveLength(22)
})

test('after a user deletes a session, the next request creates a new one', async () => {
  const agent = await openAgent(server)
  const before = await agent.accept([userMessage(1)])
  const user = second.as({ apiKey: agent.tenant.apiKey })
  await user.delete(`/v3/rest/agent-conversations/sessions/${before.sessionId}`)
  const after = await agent.accept([userMessage(2)])
  expect(after.sessionId).not.toBe(before.sessionId)
  expect(await eventRows(server.database.sql, after.sessionId)).toHaveLength(1)
  expect(await eventRows(server.database.sql, before.sessionId)).toHaveLength(0)
})

test('a stored id with a higher sequence is 409 event_sequence_moved and does not affect other requests of the batch', async () => {
  const agent = await openAgent(server)
  const named = (name: string) => ({ externalSessionId: name })
  const { sql } = server.database
  const { sessionId } = await agent.accept([userMessage(1)], named('held'))
  for (const name of ['moved', 'known']) await agent.accept([userMessage(1)], named(name))
  const answers = await sql.begin(async (tx) => {
    await tx`select 1 from agent_session where id = ${sessionId} for update`
    const held = agent.send([userMessage(2)], named('held'))
    await eventually(async () => {
      const rows = await sql`
        select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
      return rows.length > 0
    })
    // All of one moment, behind the batch that waits.
    return {
      all: [
        held,
        agent.send([userMessage(1, { sequence: 9 })], named('moved')),
        agent.send([userMessage(2), userMessage(3)], named('known')),
        agent.send([userMessage(1)], named('new')),
      ],
    }
  })
  const [held, moved, known, fresh] = await Promise.all((answers as { all: Promise<never>[] }).all)
  expect(held).toMatchObject({ status: 200, body: { acceptedEventCount: 1 } })
  expect(moved).toMatchObject({
    status: 409,
    body: { code: 'event_sequence_moved', eventIndex: 0, externalEventId: 'u1' },
  })
  expect(known).toMatchObject({ status: 200, body: { acceptedEventCount: 2, deduplicatedEventCount: 0 } })
  expect(fresh).toMatchObject({ status: 200, body: { acceptedEventCount: 1, deduplicatedEventCount: 0 } })
  await agent.refuse(
    'event_sequence_moved',
    [userMessage(2), userMessage(1, { sequence: 9 })],
    named('moved'),
  )
  expect(await agent.accept([userMessage(2)], named('moved'))).toMatchObject({ acceptedEventCount: 1 })
})

test('feedback on a stored message is accepted, and on an unknown message it is refused', async () => {
  const agent = await openAgent(server)
  await agent.accept([assistantMessage(1)])
  expect(await agent.accept([feedbackOn('a1', 2)])).toMatchObject({ acceptedEventCount: 1 })
  await agent.refuse('invalid_feedback_target', [feedbackOn('a9', 3)])
  expect(await agent.accept([assistantMessage(4), feedbackOn('a4', 5)])).toMatchObject({
    acceptedEventCount: 2,
  })
})

test('an event that the session’s actor has passed in the meantime is a late event', async () => {
  const agent = await openAgent(server)
  const { sql } = server.database
  const { sessionId } = await agent.accept([userMessage(1)])
  await sql`update agent_session set watermark = 5 where id = ${sessionId}`
  await agent.accept([userMessage(5), userMessage(6)])
  const late = await sql`select external_event_id as id from agent_late_event where session_id = ${sessionId}`
  expect(late.map((row) => row.id)).toEqual(['u5'])
})

test('the actor gets one message for new events until it has read them', async () => {
  const agent = await openAgent(server)
  const { sql } = server.database
  const { sessionId } = await agent.accept([userMessage(1)])
  const newMessages = () => sql`select 1 from actor_message where key = ${`session:${sessionId}`}`
  await agent.accept([userMessage(2)])
  expect(await newMessages()).toHaveLength(1)
  await sql`delete from actor_message where key = ${`session:${sessionId}`}`
  await agent.accept([userMessage(3)])
  expect(await newMessages()).toHaveLength(1)
})

test('allowed environments and participants are judged by the stored session', async () => {
  const agent = await openAgent(server, { settings: { allowedEnvironments: ['production'] } })
  await agent.accept([userMessage(1)], { context: { environment: 'production' } })
  await agent.accept([userMessage(2)])
  await agent.refuse('environment_not_allowed', [userMessage(3, { context: { environment: 'test' } })])
  const crowd = (from: number) => Array.from({ length: 500 }, (_, n) => ({ externalId: `p${from + n}` }))
  await agent.accept([userMessage(3)], { participants: crowd(0) })
  await agent.accept([userMessage(4)], { participants: crowd(500) })
  await agent.refuse('validation_failed', [userMessage(5)], { participants: crowd(1_000) })
})
