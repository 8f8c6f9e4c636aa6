/**
 * Requests that share a statement with others, with and without remembered sessions: unusual ids and texts, large bodies, clients
 * that break the rules repeatedly, a clock that jumps back, and an application that changes while requests wait.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import {
  type Agent,
  assistantMessage,
  eventRows,
  INGEST,
  openAgent,
  sessionRow,
  userMessage,
} from '../support/agents.ts'
import { eventually } from '../support/eventually.ts'
import { type Answer, startTestServer, type TestServer } from '../support/server.ts'

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

const named = (externalSessionId: string) => ({ externalSessionId })

/** Sends requests while a batch waits for the session `held`, so that they share the next batch. */
async function together(agent: Agent, send: () => readonly Promise<Answer>[]): Promise<readonly Answer[]> {
  const { sql } = server.database
  const { sessionId } = await agent.accept([userMessage(Date.now())], named('held'))
  const answers = await sql.begin(async (tx) => {
    await tx`select 1 from agent_session where id = ${sessionId} for update`
    const held = agent.send([userMessage(Date.now() + 1)], named('held'))
    await someoneWaits()
    return { all: [held, ...send()] }
  })
  return (await Promise.all((answers as { all: Promise<Answer>[] }).all)).slice(1)
}

const someoneWaits = () =>
  eventually(async () => {
    const rows = await server.database.sql`
      select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
    return rows.length > 0
  })

const ODD = [
  'NULL',
  'null',
  '""',
  '"',
  '\\',
  '\\n',
  'a\nb',
  '\n',
  '\r\n.',
  '{a,b}',
  ',',
  "'; --",
  '\u2028',
  '\u0001',
  '😀',
  ' x ',
  '0',
  'true',
].filter((id) => /\S/.test(id))

test('ids and texts of any characters are stored unchanged, each with its own request', async () => {
  const agent = await openAgent(server)
  const send = (at: number) => () =>
    ODD.map((odd) =>
      agent.send(
        [userMessage(at, { externalEventId: `${odd}${at}`, content: odd, participantExternalId: odd })],
        { ...named(odd), agentVersion: odd, source: { sdk: odd }, context: { environment: odd } },
      ),
    )
  for (const at of [1, 2]) {
    const answers = await together(agent, send(at))
    expect(answers.map(({ status, body }) => [status, body.acceptedEventCount])).toEqual(
      ODD.map(() => [200, 1]),
    )
  }
  for (const odd of ODD) {
    const { sql } = server.database
    const [row] = await sql<{ id: string }[]>`
      select id from agent_session
      where application_id = ${agent.applicationId} and external_session_id = ${odd}`
    expect(await sessionRow(sql, row!.id)).toMatchObject({
      agent_version: odd,
      source: { sdk: odd },
      environment: odd,
    })
    expect(await eventRows(sql, row!.id)).toMatchObject(
      [1, 2].map((at) => ({ id: `${odd}${at}`, body: { content: odd, participantExternalId: odd } })),
    )
  }
})

test('requests of 2 MiB share transactions', async () => {
  const agent = await openAgent(server)
  const text = 'é'.repeat(120 * 1024)
  const events = (from: number) =>
    Array.from({ length: 8 }, (_, n) => userMessage(from + n, { content: text }))
  const names = ['a', 'b', 'c', 'd', 'e', 'f']
  for (const from of [1, 11]) {
    const answers = await together(agent, () => names.map((name) => agent.send(events(from), named(name))))
    expect(answers.map(({ status, body }) => [status, body.acceptedEventCount])).toEqual(
      names.map(() => [200, 8]),
    )
  }
})

test('a client that moves a stored event repeatedly is refused each time, and the other requests are stored once', async () => {
  const agent = await openAgent(server)
  const names = Array.from({ length: 20 }, (_, n) => `chat ${n}`)
  for (const name of ['bad', ...names]) await agent.accept([userMessage(1)], named(name))
  for (let round = 2; round < 8; round++) {
    const [bad, ...good] = await together(agent, () => [
      agent.send([userMessage(1, { sequence: 100 + round })], named('bad')),
      ...names.map((name) => agent.send([userMessage(round), assistantMessage(round + 100)], named(name))),
    ])
    expect(bad).toMatchObject({ status: 409, body: { code: 'event_sequence_moved' } })
    expect(
      good.map(({ status, body }) => [status, body.acceptedEventCount, body.deduplicatedEventCount]),
    ).toEqual(names.map(() => [200, 2, 0]))
    await agent.accept([userMessage(round)], named('bad'))
  }
})

test('the time of the last activity always rises, even where the clock jumps back', async () => {
  const agent = await openAgent(server)
  const { sql } = server.database
  const other = second.as({ agentSecret: agent.agentSecret })
  const { sessionId } = await agent.accept([userMessage(1)])
  await sql`update agent_session set last_activity_at = now() + interval '1 hour' where id = ${sessionId}`
  const microseconds = async () => {
    const [row] = await sql<{ at: number }[]>`
      select (extract(epoch from last_activity_at) * 1000000)::bigint as at from agent_session where id = ${sessionId}`
    return row!.at
  }
  const requests = [
    () => agent.send([userMessage(2)]),
    () => agent.send([userMessage(3)]),
    () => other.post(INGEST, agent.request([userMessage(4)])),
    () => agent.send([userMessage(1, { revision: 2, content: 'Other.' })]),
    () => agent.send([userMessage(4)], { agentVersion: '9' }),
    () => agent.send([userMessage(5)]),
  ]
  let before = await microseconds()
  for (const request of requests) {
    expect(await request()).toMatchObject({ status: 200 })
    const after = await microseconds()
    expect(after).toBeGreaterThan(before)
    before = after
  }
  expect(await eventRows(sql, sessionId)).toHaveLength(5)
})

test('after another process deleted and recreated a session, requests go to the new session', async () => {
  const agent = await openAgent(server)
  const { sql } = server.database
  const { sessionId } = await agent.accept([userMessage(1)])
  await second
    .as({ apiKey: agent.tenant.apiKey })
    .delete(`/v3/rest/agent-conversations/sessions/${sessionId}`)
  const other = second.as({ agentSecret: agent.agentSecret })
  const made = await other.post(INGEST, agent.request([userMessage(2)], { agentVersion: 'new' }))
  const after = await agent.accept([userMessage(3)])
  expect(after.sessionId).toBe(made.body.sessionId)
  expect(await eventRows(sql, after.sessionId)).toHaveLength(2)
})

test('settings that change while a revision waits for its session apply to it', async () => {
  const agent = await openAgent(server)
  const { sql } = server.database
  const { sessionId } = await agent.accept([userMessage(1)])
  const { sent } = await sql.begin(async (tx) => {
    await tx`select 1 from agent_session where id = ${sessionId} for update`
    const sent = agent.send([userMessage(1, { revision: 2, content: 'secret' })])
    await someoneWaits()
    await agent.configure({ redactedPatterns: ['secret'] })
    return { sent }
  })
  expect(await sent).toMatchObject({ status: 200, body: { revisedEventCount: 1 } })
  const [event] = await eventRows(sql, sessionId)
  expect(event).toMatchObject({ revision: 2, settingsVersion: 2, body: { content: '[redacted]' } })
})
