/**
 * The effects of an ingest request on its session: status, processing status, environment, participants and the other values of the
 * session (specification, "Agent session status" and rule 7; participants, context, source).
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import {
  type Agent,
  assistantMessage,
  eventRows,
  feedbackOn,
  openAgent,
  sessionRow,
  userMessage,
} from '../support/agents.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.stop())

const row = (sessionId: string) => sessionRow(server.database.sql, sessionId)

const messagesTo = async (sessionId: string) =>
  server.database.sql`select type from actor_message where key = ${`session:${sessionId}`}`

describe('status', () => {
  /** Sends one new event with each of the statuses in turn and returns the session's last status. */
  async function after(...statuses: readonly (string | undefined)[]) {
    const agent = await openAgent(server)
    let sessionId = ''
    for (const [index, status] of statuses.entries())
      ({ sessionId } = await agent.accept([userMessage(index)], status === undefined ? {} : { status }))
    return (await row(sessionId)).status
  }

  test('a new session is open unless the request says otherwise', async () => {
    expect(await after(undefined)).toBe('open')
    expect(await after('ended')).toBe('ended')
    expect(await after('abandoned')).toBe('abandoned')
  })

  test('open becomes ended or abandoned; an absent status leaves a known session as it is', async () => {
    expect(await after('open', 'ended')).toBe('ended')
    expect(await after('open', 'abandoned')).toBe('abandoned')
    expect(await after('ended', undefined)).toBe('ended')
  })

  test('a terminal status is sticky: open changes nothing, abandoned may become ended, not the reverse', async () => {
    expect(await after('ended', 'open')).toBe('ended')
    expect(await after('abandoned', 'open')).toBe('abandoned')
    expect(await after('abandoned', 'ended')).toBe('ended')
    expect(await after('ended', 'abandoned')).toBe('ended')
  })

  test('a terminal session takes late events and has them processed', async () => {
    const agent = await openAgent(server)
    const { sessionId } = await agent.accept([userMessage(1)], { status: 'ended' })
    await server.database.sql`delete from actor_message`
    expect(await agent.accept([assistantMessage(2)])).toMatchObject({ acceptedEventCount: 1 })
    expect(await messagesTo(sessionId)).toHaveLength(1)
  })

  test('a revision of a processed event is a late event', async () => {
    const agent = await openAgent(server)
    const { sessionId } = await agent.accept([userMessage(1), assistantMessage(3)])
    await server.database.sql`update agent_session set watermark = 3 where id = ${sessionId}`
    await agent.accept([userMessage(1, { revision: 2 }), userMessage(2), userMessage(4), assistantMessage(3)])
    const lateEvents = await server.database.sql`
      select external_event_id as id from agent_late_event where session_id = ${sessionId} order by 1`
    expect(lateEvents.map(({ id }) => id)).toEqual(['u1', 'u2'])
  })

  test('a request with only a repeated event finalises the session', async () => {
    const agent = await openAgent(server)
    const { sessionId } = await agent.accept([userMessage(1)])
    await server.database.sql`delete from actor_message`
    expect(await agent.accept([userMessage(1)], { status: 'ended' })).toMatchObject({
      deduplicatedEventCount: 1,
      processingStatus: 'pending',
    })
    expect((await row(sessionId)).status).toBe('ended')
    expect(await messagesTo(sessionId)).toHaveLength(1)
  })
})

describe('processingStatus', () => {
  const exhaust = (agent: Agent) => server.features.identity.setCredits(agent.organizationId, 0)

  test('pending where credits are left, also unlimited ones', async () => {
    const agent = await openAgent(server)
    expect(await agent.accept([userMessage(1)])).toMatchObject({ processingStatus: 'pending' })
    await server.features.identity.setCredits(agent.organizationId, 1)
    expect(await agent.accept([userMessage(2)])).toMatchObject({ processingStatus: 'pending' })
  })

  test('billing_blocked where none are left, and the events are stored', async () => {
    const agent = await openAgent(server)
    await exhaust(agent)
    const body = await agent.accept([assistantMessage(1), feedbackOn('a1', 2)])
    expect(body).toMatchObject({ processingStatus: 'billing_blocked', acceptedEventCount: 2 })
    expect(await eventRows(server.database.sql, body.sessionId)).toHaveLength(2)
    await server.features.identity.addCredits(agent.organizationId, 5)
    expect(await agent.accept([userMessage(3)])).toMatchObject({ processingStatus: 'pending' })
  })

  test('billing_blocked only where a finalised response waits for credits', async () => {
    const agent = await openAgent(server)
    await exhaust(agent)
    const pending = { processingStatus: 'pending' }
    expect(await agent.accept([userMessage(1)])).toMatchObject(pending)
    expect(await agent.accept([assistantMessage(2, { final: false })])).toMatchObject(pending)
    expect(await agent.accept([assistantMessage(3, { content: ' ' })])).toMatchObject(pending)
    const blocked = { processingStatus: 'billing_blocked' }
    expect(await agent.accept([assistantMessage(2, { revision: 2 })])).toMatchObject(blocked)
    expect(await agent.accept([userMessage(4)])).toMatchObject(blocked)
    expect(await agent.accept([userMessage(1)], { externalSessionId: 'other' })).toMatchObject(pending)
    expect(await agent.accept([assistantMessage(1)], { externalSessionId: 'third' })).toMatchObject(blocked)
  })

  test('capture_disabled where content capture is off, before billing_blocked', async () => {
    const agent = await openAgent(server, { settings: { captureContent: false } })
    expect(await agent.accept([userMessage(1)])).toMatchObject({ processingStatus: 'capture_disabled' })
    await exhaust(agent)
    expect(await agent.accept([userMessage(2)])).toMatchObject({ processingStatus: 'capture_disabled' })
  })

  test("a pure retry answers the session's present value", async () => {
    const agent = await openAgent(server)
    const { sessionId } = await agent.accept([userMessage(1)])
    for (const present of ['processing', 'completed', 'failed']) {
      await server.database
        .sql`update agent_session set processing_status = ${present} where id = ${sessionId}`
      expect(await agent.accept([userMessage(1)])).toMatchObject({ processingStatus: present })
      expect((await row(sessionId)).processing_status).toBe(present)
    }
    expect(await agent.accept([userMessage(2)])).toMatchObject({ processingStatus: 'pending' })
  })

  test('a pure retry sends no message to the actor', async () => {
    const agent = await openAgent(server)
    const { sessionId } = await agent.accept([userMessage(1)])
    await server.database.sql`delete from actor_message`
    await agent.accept([userMessage(1)], { status: 'open' })
    expect(await messagesTo(sessionId)).toHaveLength(0)
  })
})

describe('7. allowed environments', () => {
  const settings = { allowedEnvironments: ['production', 'staging'] }
  const of = (environment: string) => ({ context: { environment } })

  test('an allowed environment of the session, or of each event, is accepted', async () => {
    const agent = await openAgent(server, { settings })
    const { sessionId } = await agent.accept(
      [userMessage(1), userMessage(2, of('staging'))],
      of('production'),
    )
    expect((await row(sessionId)).environment).toBe('production')
    await agent.accept([userMessage(1, of('staging'))], { externalSessionId: 'by event' })
    await agent.accept([userMessage(1, of('staging'))], { externalSessionId: 'override', ...of('test') })
  })

  test('a stored event is a duplicate under any present settings', async () => {
    const agent = await openAgent(server, { settings })
    await agent.accept([userMessage(1), assistantMessage(2, of('staging'))], of('production'))
    await agent.configure({ allowedEnvironments: ['elsewhere'] })
    const retry = await agent.accept([userMessage(1), assistantMessage(2, of('staging'))], of('production'))
    expect(retry).toMatchObject({ acceptedEventCount: 0, deduplicatedEventCount: 2 })
    const { body } = await agent.refuse('environment_not_allowed', [userMessage(1), userMessage(3)])
    expect(body).toMatchObject({ eventIndex: 1, externalEventId: 'u3' })
    await agent.refuse('environment_not_allowed', [userMessage(1, { revision: 2 })])
    expect(await agent.accept([userMessage(1), userMessage(3, of('elsewhere'))])).toMatchObject({
      acceptedEventCount: 1,
      deduplicatedEventCount: 1,
    })
  })

  test('a missing or blocked environment is 400, even of a single event', async () => {
    const agent = await openAgent(server, { settings })
    const blocked = 'environment_not_allowed'
    await agent.refuse(blocked, [userMessage(1)])
    await agent.refuse(blocked, [userMessage(1)], { context: { surface: 'x' } })
    await agent.refuse(blocked, [userMessage(1)], of('Production'))
    await agent.refuse(blocked, [userMessage(1, of('production')), userMessage(2)])
    const answer = await agent.refuse(blocked, [userMessage(1), userMessage(2, of('test'))], of('staging'))
    expect(answer.body).toMatchObject({
      eventIndex: 1,
      externalEventId: 'u2',
      details: [{ path: 'events[1].context.environment' }],
    })
  })

  test("later requests resolve to the stored session's environment", async () => {
    const agent = await openAgent(server, { settings })
    await agent.accept([userMessage(1)], of('production'))
    await agent.accept([userMessage(2)])
    await agent.configure({ allowedEnvironments: ['staging'] })
    await agent.refuse('environment_not_allowed', [userMessage(3)])
    await agent.accept([userMessage(3)], of('staging'))
  })

  test('without a list every environment is accepted, and also no environment', async () => {
    const agent = await openAgent(server)
    await agent.accept([userMessage(1)], of('anything'))
    await agent.accept([userMessage(2)])
  })

  test('400 comes before 409', async () => {
    const agent = await openAgent(server, { settings })
    await agent.accept([userMessage(1)], of('production'))
    await agent.refuse('environment_not_allowed', [userMessage(1, { content: 'changed' })], of('test'))
    await agent.refuse('invalid_feedback_target', [
      userMessage(1, { content: 'changed' }),
      feedbackOn('nobody', 2),
    ])
    await agent.refuse('event_changed', [userMessage(1, { content: 'changed' })])
  })
})

describe('the other values of the session', () => {
  test('agentVersion, source and context are stored, replaced by later ones and kept where absent', async () => {
    const agent = await openAgent(server)
    const first = {
      agentVersion: 'support-7',
      source: { sdk: 'http', version: '1' },
      context: { surface: 'widget', environment: 'production', properties: { plan: 'pro', seats: 3 } },
    }
    const { sessionId } = await agent.accept([userMessage(1)], first)
    const expected = {
      agent_version: 'support-7',
      source: first.source,
      context: first.context,
      environment: 'production',
    }
    expect(await row(sessionId)).toMatchObject(expected)
    await agent.accept([userMessage(2)])
    expect(await row(sessionId)).toMatchObject(expected)
    await agent.accept([userMessage(2)], { agentVersion: 'support-8', context: { surface: 'page' } })
    expect(await row(sessionId)).toMatchObject({
      agent_version: 'support-8',
      source: first.source,
      context: { surface: 'page' },
      environment: 'production',
    })
  })

  test('participants are merged by externalId, and get the participant type of the settings', async () => {
    const agent = await openAgent(server, { settings: { participantType: 'internal' } })
    const ada = { externalId: 'ada', displayName: 'Ada', email: 'ada@example.com' }
    const { sessionId } = await agent.accept([userMessage(1)], {
      participants: [ada, { externalId: 'bob', boundary: 'external' }],
    })
    await agent.accept([userMessage(2)], {
      participants: [{ externalId: 'ada', username: 'ada', displayName: 'Ada L.' }, { externalId: 'cyd' }],
    })
    await agent.accept([userMessage(3)], { participants: [] })
    expect((await row(sessionId)).participants).toEqual([
      { ...ada, boundary: 'internal', displayName: 'Ada L.', username: 'ada' },
      { externalId: 'bob', boundary: 'external' },
      { externalId: 'cyd', boundary: 'internal' },
    ])
  })

  test('externalId is required whenever displayName, username or email is sent', async () => {
    const agent = await openAgent(server)
    for (const member of ['displayName', 'username', 'email']) {
      const answer = await agent.refuse('validation_failed', [userMessage(1)], {
        participants: [{ externalId: 'ok' }, { [member]: 'Ada' }],
      })
      expect(answer.body.details).toMatchObject([{ path: 'participants[1].externalId', code: 'required' }])
    }
    await agent.accept([userMessage(1)], {
      participants: [{ personId: '0198c1f0-0000-7000-8000-000000000001' }, { companyExternalId: 'acme' }],
    })
  })

  test('a participant with an invalid personId, or given twice with different values, is 400', async () => {
    const agent = await openAgent(server)
    for (const participants of [
      [{ personId: '17' }],
      [
        { externalId: 'ada', displayName: 'Ada' },
        { externalId: 'ada', displayName: 'Bob' },
      ],
    ])
      await agent.refuse('validation_failed', [userMessage(1)], { participants })
  })
})
