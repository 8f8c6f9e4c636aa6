/**
 * `POST /v3/rest/agent-conversations/append`: events of senders that keep no state. The service numbers them under the session's
 * lock. Also `nextSequence` of ingest.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { APPEND_EXAMPLE } from '../../src/hear/agents/ingest/routes.ts'
import {
  type Agent,
  APPEND,
  assistantMessage,
  eventRows,
  type Members,
  openAgent,
  refused,
  revisionRows,
  userMessage,
} from '../support/agents.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.stop())

const user = (content: string, members: Members = {}) => ({ type: 'user_message', content, ...members })
const assistant = (content: string, members: Members = {}) => ({
  type: 'assistant_message',
  content,
  ...members,
})
const id = (externalEventId: string) => ({ externalEventId })

const send = (agent: Agent, events: readonly unknown[], members?: Members) =>
  agent.client.post(APPEND, agent.request(events, members))

async function append(agent: Agent, events: readonly unknown[], members?: Members) {
  const answer = await send(agent, events, members)
  expect(answer).toMatchObject({ status: 200 })
  return answer.body
}

const refuse = (
  agent: Agent,
  code: Parameters<typeof refused>[1],
  events: readonly unknown[],
  members?: Members,
) => refused(server, code, () => send(agent, events, members), APPEND)

const counts = (accepted: number, deduplicated: number, revised: number) => ({
  acceptedEventCount: accepted,
  deduplicatedEventCount: deduplicated,
  revisedEventCount: revised,
})

const placesOf = (body: { events: readonly { sequence: number; revision: number }[] }) =>
  body.events.map(({ sequence, revision }) => `${sequence} r${revision}`)

const stored = async (sessionId: string) =>
  (await eventRows(server.database.sql, sessionId)).map(
    ({ sequence, revision, body }) => `${sequence} r${revision} ${body.content}`,
  )

describe('append', () => {
  test('the answer is that of ingest, with the places of the events and the next sequence', async () => {
    const agent = await openAgent(server)
    expect(await append(agent, [user('Hi', id('m1')), assistant('Hello', id('m2'))])).toEqual({
      sessionId: expect.any(String),
      ...counts(2, 0, 0),
      processingStatus: 'pending',
      nextSequence: 3,
      events: [
        { externalEventId: 'm1', sequence: 1, revision: 1 },
        { externalEventId: 'm2', sequence: 2, revision: 1 },
      ],
    })
  })

  test.each([
    ['with ids', (n: number) => id(`m${n}`)],
    ['without ids', () => ({})],
  ])('the whole history may be sent every turn, %s', async (_, named) => {
    const agent = await openAgent(server)
    const history = ['Yes', 'No', 'Yes', 'Yes'].map((text, n) => user(text, named(n)))
    for (const [n] of history.entries()) {
      const body = await append(agent, history.slice(0, n + 1))
      expect(body).toMatchObject({ ...counts(1, n, 0), nextSequence: n + 2 })
    }
    const { sessionId, ...again } = await append(agent, history)
    expect(again).toMatchObject(counts(0, 4, 0))
    expect(await stored(sessionId)).toEqual(['1 r1 Yes', '2 r1 No', '3 r1 Yes', '4 r1 Yes'])
  })

  test('new events follow those that ingest has numbered, and the other way round', async () => {
    const agent = await openAgent(server)
    await agent.accept([userMessage(10)])
    const body = await append(agent, [assistant('Hello', id('m1'))])
    expect(body).toMatchObject({ nextSequence: 12 })
    expect(placesOf(body)).toEqual(['11 r1'])
    expect(await agent.accept([userMessage(12)])).toMatchObject({ nextSequence: 13 })
    const { sequence: _, revision: __, ...same } = userMessage(12)
    expect(placesOf(await append(agent, [same]))).toEqual(['12 r1'])
  })

  test('other content is the next revision in the same place; the lower one is kept', async () => {
    const agent = await openAgent(server)
    await append(agent, [user('Hi', id('m1')), assistant('Helo', id('m2')), user('?', id('m3'))])
    const body = await append(agent, [assistant('Hello', id('m2'))])
    expect(body).toMatchObject({ ...counts(0, 0, 1), nextSequence: 4 })
    expect(placesOf(body)).toEqual(['2 r2'])
    expect(await stored(body.sessionId)).toEqual(['1 r1 Hi', '2 r2 Hello', '3 r1 ?'])
    expect(await revisionRows(server.database.sql, body.sessionId)).toMatchObject([{ id: 'm2', revision: 1 }])
  })

  test('a delayed retry does not undo a correction', async () => {
    const agent = await openAgent(server)
    for (const text of ['Helo', 'Hello']) await append(agent, [assistant(text, id('m1'))])
    const body = await append(agent, [assistant('Helo', id('m1'))])
    expect(body).toMatchObject(counts(0, 1, 0))
    expect(await stored(body.sessionId)).toEqual(['1 r2 Hello'])
  })

  test('a partial event becomes final', async () => {
    const agent = await openAgent(server)
    await append(agent, [assistant('Hel', { ...id('m1'), final: false })])
    const body = await append(agent, [assistant('Hello', id('m1'))])
    expect(body).toMatchObject(counts(0, 0, 1))
    expect(await eventRows(server.database.sql, body.sessionId)).toMatchObject([{ revision: 2, final: true }])
  })

  test('without a time an event gets that of the service; a duplicate keeps the stored one', async () => {
    const agent = await openAgent(server)
    const before = Date.now()
    const times = async (members: Members) => {
      const body = await append(agent, [user('Hi', { ...id('m1'), ...members })])
      const [event] = await eventRows(server.database.sql, body.sessionId)
      return { at: event!.occurredAt.getTime(), ...body }
    }
    const first = await times({})
    expect(first.at).toBeGreaterThanOrEqual(before)
    for (const members of [{}, { occurredAt: '2026-01-02T09:00:00.123456Z' }])
      expect(await times(members)).toMatchObject({ at: first.at, ...counts(0, 1, 0) })
  })

  test('feedback on an earlier response of the request is stored; another rating is a revision', async () => {
    const agent = await openAgent(server)
    const feedback = (rating: string) => ({
      type: 'feedback',
      feedback: { targetEventExternalId: 'm1', rating },
    })
    const response = assistant('Hello', id('m1'))
    expect(await append(agent, [response, feedback('positive')])).toMatchObject(counts(2, 0, 0))
    const body = await append(agent, [response, feedback('negative')])
    expect(body).toMatchObject(counts(0, 1, 1))
    expect(placesOf(body)).toEqual(['1 r1', '2 r2'])
  })

  test('redaction and content capture apply, and a change of settings makes no revision', async () => {
    const agent = await openAgent(server, { settings: { redactedPatterns: ['secret'] } })
    const event = user('a secret', id('m1'))
    const { sessionId } = await append(agent, [event])
    expect(await stored(sessionId)).toEqual(['1 r1 a [redacted]'])
    await agent.configure({ redactedPatterns: ['other'] })
    expect(await append(agent, [event])).toMatchObject(counts(0, 1, 0))
    await agent.configure({ redactedPatterns: [], captureContent: false })
    expect(await append(agent, [event, user('more')])).toMatchObject(counts(1, 1, 0))
    expect(await stored(sessionId)).toEqual(['1 r1 a [redacted]', '2 r1 undefined'])
  })

  test('a visible final response waits where no credits are left', async () => {
    const agent = await openAgent(server)
    await server.features.identity.setCredits(agent.organizationId, 0)
    expect(await append(agent, [user('Hi')])).toMatchObject({ processingStatus: 'pending' })
    expect(await append(agent, [assistant('Hello')])).toMatchObject({ processingStatus: 'billing_blocked' })
  })

  test('the same session id in another organization is another session', async () => {
    const [one, other] = [await openAgent(server), await openAgent(server)]
    const first = await append(one, [user('Hi', id('m1'))])
    const second = await append(other, [user('Ho', id('m1'))])
    expect(second).toMatchObject({ ...counts(1, 0, 0), nextSequence: 2 })
    expect(second.sessionId).not.toBe(first.sessionId)
    expect(await stored(first.sessionId)).toEqual(['1 r1 Hi'])
  })

  test('the example of the documentation works', async () => {
    const agent = await openAgent(server)
    const body = { ...APPEND_EXAMPLE, agentKey: agent.agentKey }
    expect(await agent.client.post(APPEND, body)).toMatchObject({ status: 200, body: counts(2, 0, 0) })
  })
})

describe('errors', () => {
  test('401 without or with a foreign secret, 404 without Agent Chats', async () => {
    const [agent, other] = [await openAgent(server), await openAgent(server)]
    for (const client of [server.as('nobody'), server.as({ apiKey: agent.tenant.apiKey })])
      await refused(
        server,
        'invalid_agent_secret',
        () => client.post(APPEND, agent.request([user('Hi')])),
        APPEND,
      )
    const { agentKey } = other
    await refuse(agent, 'agent_application_not_found', [user('Hi')], { agentKey })
    await server.database
      .sql`update organization set agent_chats_enabled = false where id = ${agent.organizationId}`
    await refuse(agent, 'agent_chats_disabled', [user('Hi')])
  })

  test('400 of each kind', async () => {
    const agent = await openAgent(server)
    await refuse(agent, 'validation_failed', [])
    await refuse(agent, 'validation_failed', [{ content: 'no type' }])
    await refuse(agent, 'validation_failed', [user('Hi', { occurredAt: 'yesterday' })])
    await refuse(agent, 'validation_failed', [
      { type: 'feedback', feedback: { targetEventExternalId: 'm1' } },
    ])
    await refuse(
      agent,
      'too_many_events',
      Array.from({ length: 501 }, (_, n) => user(`${n}`)),
    )
    await refuse(agent, 'event_too_large', [user('x'.repeat(256 * 1024))])
    await refuse(agent, 'payload_too_large', [user('x'.repeat(2 * 1024 * 1024))])
    await refuse(agent, 'invalid_feedback_target', [
      { type: 'feedback', feedback: { targetEventExternalId: 'unknown', rating: 'positive' } },
    ])
    await agent.configure({ allowedEnvironments: ['production'] })
    await refuse(agent, 'environment_not_allowed', [user('Hi')])
  })

  test('an event of exactly 256 KiB as sent is stored', async () => {
    const agent = await openAgent(server)
    const event = user('')
    event.content = 'x'.repeat(256 * 1024 - JSON.stringify(event).length)
    expect(await append(agent, [event])).toMatchObject(counts(1, 0, 0))
    await refuse(agent, 'event_too_large', [{ ...event, content: `${event.content}x` }])
  })

  test('409 of each kind, and nothing of the request is stored', async () => {
    const agent = await openAgent(server)
    await append(agent, [user('Hi', id('m1'))])
    await refuse(agent, 'event_type_changed', [user('new'), assistant('Hi', id('m1'))])
    await refuse(agent, 'event_finalized', [user('new'), user('Hello', { ...id('m1'), final: false })])
    await agent.accept([userMessage(Number.MAX_SAFE_INTEGER)])
    await refuse(agent, 'sequence_occupied', [user('new')])
    const revision = Number.MAX_SAFE_INTEGER
    await agent.accept([userMessage(5, { revision })])
    await refuse(agent, 'event_changed', [user('other', id('u5'))])
  })
})

describe('nextSequence of ingest', () => {
  test('follows the highest sequence on every way to store', async () => {
    const agent = await openAgent(server)
    const next = async (...events: Parameters<Agent['accept']>[0]) =>
      (await agent.accept(events)).nextSequence
    expect(await next(userMessage(0))).toBe(1)
    // Remembered.
    expect(await next(userMessage(7), assistantMessage(5))).toBe(8)
    // A retry is read and writes nothing.
    expect(await next(userMessage(0))).toBe(8)
    // A revision is stored under locks.
    expect(await next(userMessage(0, { revision: 2, content: 'Other.' }))).toBe(8)
    expect(await next(assistantMessage(3))).toBe(8)
  })
})
