/**
 * The event rules of agent ingestion (specification, "Agent event rules" and rules 1 to 5): new events, retries, revisions and
 * conflicts, with their counts, stored rows and error codes.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import {
  type Agent,
  assistantMessage,
  eventRows,
  feedbackOn,
  openAgent,
  refused,
  reversed,
  revisionRows,
  userMessage,
} from '../support/agents.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.stop())

const counts = (accepted: number, deduplicated: number, revised: number) => ({
  acceptedEventCount: accepted,
  deduplicatedEventCount: deduplicated,
  revisedEventCount: revised,
})

const stored = async (sessionId: string) =>
  (await eventRows(server.database.sql, sessionId)).map(({ id, revision }) => `${id} r${revision}`)

async function withConversation(): Promise<{ agent: Agent; sessionId: string }> {
  const agent = await openAgent(server)
  const { sessionId } = await agent.accept([userMessage(1), assistantMessage(2), feedbackOn('a2', 3)])
  return { agent, sessionId }
}

describe('new events', () => {
  test('the answer has the session id, the three counts, the processing status and the next sequence, and nothing else', async () => {
    const agent = await openAgent(server)
    const body = await agent.accept([userMessage(1), assistantMessage(2)])
    expect(body).toEqual({
      sessionId: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-/),
      ...counts(2, 0, 0),
      processingStatus: 'pending',
      nextSequence: 3,
    })
  })

  test('1. a request without an event is refused, also one that only finalises a session', async () => {
    const { agent } = await withConversation()
    for (const status of ['open', 'ended', 'abandoned'])
      await agent.refuse('validation_failed', [], { status })
  })

  test('2. events need not be in array order: sequence orders them', async () => {
    const agent = await openAgent(server)
    const { sessionId } = await agent.accept([feedbackOn('a2', 3), assistantMessage(2), userMessage(1)])
    expect(await stored(sessionId)).toEqual(['u1 r1', 'a2 r1', 'f3 r1'])
  })

  test('5. later requests send only the new events of the same session, and may leave gaps', async () => {
    const { agent, sessionId } = await withConversation()
    const body = await agent.accept([userMessage(7), feedbackOn('a2', 9, { rating: 'negative' })])
    expect(body).toMatchObject({ sessionId, ...counts(2, 0, 0) })
    expect(await stored(sessionId)).toEqual(['u1 r1', 'a2 r1', 'f3 r1', 'u7 r1', 'f9 r1'])
  })

  test('the session is the pair of agentKey and externalSessionId', async () => {
    const { agent, sessionId } = await withConversation()
    const other = await openAgent(server, { tenant: agent.tenant })
    const [same, another, elsewhere] = await Promise.all([
      agent.accept([userMessage(1)]),
      agent.accept([userMessage(1)], { externalSessionId: 'Chat' }),
      other.accept([userMessage(1)]),
    ])
    expect(same).toMatchObject({ sessionId, ...counts(0, 1, 0) })
    expect(another).toMatchObject(counts(1, 0, 0))
    expect(elsewhere).toMatchObject(counts(1, 0, 0))
    expect(new Set([sessionId, another.sessionId, elsewhere.sessionId]).size).toBe(3)
  })

  test('the first event may have any revision, and sequences go up to the largest safe integer', async () => {
    const agent = await openAgent(server)
    const { sessionId } = await agent.accept([
      userMessage(0, { revision: Number.MAX_SAFE_INTEGER }),
      userMessage(Number.MAX_SAFE_INTEGER),
    ])
    expect(await stored(sessionId)).toEqual([
      `u0 r${Number.MAX_SAFE_INTEGER}`,
      `u${Number.MAX_SAFE_INTEGER} r1`,
    ])
  })

  test('any type of the pattern is stored, also one that the service does not know', async () => {
    const agent = await openAgent(server)
    const types = ['tool_call', 'x', `t${'0'.repeat(63)}`]
    const { sessionId } = await agent.accept(types.map((type, index) => userMessage(index, { type })))
    expect((await eventRows(server.database.sql, sessionId)).map((row) => row.type)).toEqual(types)
    for (const type of ['', 'Tool', '1st', 'a-b', `t${'0'.repeat(64)}`, 'a\n'])
      await agent.refuse('validation_failed', [userMessage(9, { type })])
  })
})

describe('retries', () => {
  test('a retry with the same content is deduplicated and stores nothing', async () => {
    const { agent, sessionId } = await withConversation()
    const before = await eventRows(server.database.sql, sessionId)
    const body = await agent.accept([userMessage(1), assistantMessage(2), feedbackOn('a2', 3)])
    expect(body).toMatchObject({ sessionId, ...counts(0, 3, 0) })
    expect(await eventRows(server.database.sql, sessionId)).toEqual(before)
  })

  test('a retry may write its members in another order and its time in another zone', async () => {
    const agent = await openAgent(server)
    const event = assistantMessage(2, {
      content: [{ type: 'text', text: 'Yes', meta: { b: 1, a: [{ d: 1, c: 2 }] } }],
      usage: { inputTokens: 1, outputTokens: 2, latencyMs: 3 },
      context: { surface: 'widget', properties: { z: 1, a: 2 } },
    })
    await agent.accept([event])
    const again = { ...(reversed(event) as object), occurredAt: '2026-01-02T10:00:00.000+01:00' }
    expect(await agent.accept([again])).toMatchObject(counts(0, 1, 0))
  })

  test('final is true where it is absent', async () => {
    const { agent } = await withConversation()
    const { final, ...event } = userMessage(1)
    expect(final).toBe(true)
    expect(await agent.accept([event])).toMatchObject(counts(0, 1, 0))
  })

  test('an event that is twice in a request counts as one accepted and one duplicate', async () => {
    const agent = await openAgent(server)
    const body = await agent.accept([userMessage(1), userMessage(1), userMessage(1)])
    expect(body).toMatchObject(counts(1, 2, 0))
  })

  test('new, repeated and revised events of one request are counted separately', async () => {
    const { agent, sessionId } = await withConversation()
    const body = await agent.accept([
      userMessage(1),
      assistantMessage(2, { revision: 2, content: 'Better' }),
      userMessage(4),
      assistantMessage(5),
    ])
    expect(body).toMatchObject({ sessionId, ...counts(2, 1, 1) })
  })
})

describe('revisions', () => {
  test('a higher revision replaces the event, and the lower one is kept', async () => {
    const { agent, sessionId } = await withConversation()
    for (const revision of [2, 7])
      expect(await agent.accept([userMessage(1, { revision, content: `r${revision}` })])).toMatchObject(
        counts(0, 0, 1),
      )
    const [event] = await eventRows(server.database.sql, sessionId)
    expect(event).toMatchObject({ id: 'u1', revision: 7, body: { content: 'r7' } })
    expect(await revisionRows(server.database.sql, sessionId)).toMatchObject([
      { id: 'u1', revision: 1, body: { content: 'How do I export my data?' } },
      { id: 'u1', revision: 2, body: { content: 'r2' } },
    ])
  })

  test('a retry of a superseded revision is a duplicate, and the newest one stays', async () => {
    const { agent, sessionId } = await withConversation()
    await agent.accept([userMessage(1, { revision: 3, content: 'third' })])
    expect(await agent.accept([userMessage(1)])).toMatchObject(counts(0, 1, 0))
    expect((await eventRows(server.database.sql, sessionId))[0]).toMatchObject({ revision: 3 })
    await agent.refuse('event_changed', [userMessage(1, { content: 'another first' })])
    await agent.refuse('event_changed', [userMessage(1, { revision: 2, content: 'never sent' })])
  })

  test('a higher revision with the same content is a revision', async () => {
    const { agent } = await withConversation()
    expect(await agent.accept([userMessage(1, { revision: 2 })])).toMatchObject(counts(0, 0, 1))
  })

  test('a revision may change the time of an event', async () => {
    const { agent, sessionId } = await withConversation()
    await agent.accept([userMessage(1, { revision: 2, occurredAt: '2026-01-02T08:00:00Z' })])
    const [event] = await eventRows(server.database.sql, sessionId)
    expect(event?.occurredAt.toISOString()).toBe('2026-01-02T08:00:00.000Z')
  })

  test('a partial event becomes final with a higher revision', async () => {
    const agent = await openAgent(server)
    const { sessionId } = await agent.accept([assistantMessage(1, { final: false, content: 'Un' })])
    expect(
      await agent.accept([assistantMessage(1, { final: false, revision: 2, content: 'Under' })]),
    ).toMatchObject(counts(0, 0, 1))
    expect(
      await agent.accept([assistantMessage(1, { revision: 3, content: 'Under Settings' })]),
    ).toMatchObject(counts(0, 0, 1))
    expect(await eventRows(server.database.sql, sessionId)).toMatchObject([{ revision: 3, final: true }])
  })
})

describe('revisions of one event in one request', () => {
  const partial = assistantMessage(1, { final: false, content: 'Un' })
  const final = assistantMessage(1, { revision: 2, content: 'Under Settings' })

  test.each([
    ['partial first', [partial, final]],
    ['final first', [final, partial]],
  ])('are taken in their order, with one accepted and one revised: %s', async (_, events) => {
    const agent = await openAgent(server)
    const { sessionId, ...body } = await agent.accept(events)
    expect(body).toMatchObject(counts(1, 0, 1))
    expect(await eventRows(server.database.sql, sessionId)).toMatchObject([{ revision: 2, final: true }])
    expect(await revisionRows(server.database.sql, sessionId)).toMatchObject([
      { id: 'a1', revision: 1, body: { content: 'Un' } },
    ])
    expect(await agent.accept([...events, partial])).toMatchObject(counts(0, 3, 0))
  })

  test('above the stored one are all kept, and the highest one is the present event', async () => {
    const agent = await openAgent(server)
    const { sessionId } = await agent.accept([partial])
    const third = assistantMessage(1, { revision: 3, content: 'Under Settings, Export.' })
    expect(await agent.accept([third, final, partial])).toMatchObject(counts(0, 1, 2))
    expect(await stored(sessionId)).toEqual(['a1 r3'])
    expect(await revisionRows(server.database.sql, sessionId)).toMatchObject([
      { id: 'a1', revision: 1 },
      { id: 'a1', revision: 2 },
    ])
  })

  test('are refused together where one of them is refused: 409 names it with the right reason', async () => {
    const agent = await openAgent(server)
    const moved = await agent.refuse('event_sequence_moved', [partial, { ...final, sequence: 9 }])
    expect(moved.body).toMatchObject({ eventIndex: 1, externalEventId: 'a1' })
    await agent.refuse('event_finalized', [{ ...partial, revision: 3 }, final])
  })
})

describe('conflicts', () => {
  test('409 event_changed: another content, time or finality under the same revision', async () => {
    const { agent } = await withConversation()
    await agent.refuse('event_changed', [userMessage(1, { content: 'Something else' })])
    await agent.refuse('event_changed', [userMessage(1, { occurredAt: '2026-01-02T09:00:01Z' })])
    await agent.refuse('event_changed', [userMessage(1, { participantExternalId: 'ada' })])
    await agent.accept([assistantMessage(4, { final: false })])
    await agent.refuse('event_changed', [assistantMessage(4)])
  })

  test('409 event_changed: a revision that is twice in a request with different content', async () => {
    const agent = await openAgent(server)
    await agent.refuse('event_changed', [userMessage(1), userMessage(1, { content: 'no' })])
    await agent.refuse('event_changed', [
      userMessage(1),
      userMessage(1, { revision: 2 }),
      userMessage(1, { revision: 2, content: 'no' }),
    ])
  })

  test('4. 409 event_sequence_moved: a revision cannot change the sequence', async () => {
    const { agent } = await withConversation()
    for (const revision of [1, 2])
      await agent.refuse('event_sequence_moved', [userMessage(1, { sequence: 8, revision })])
  })

  test('4. 409 event_type_changed: a revision cannot change the type', async () => {
    const { agent } = await withConversation()
    for (const revision of [1, 2])
      await agent.refuse('event_type_changed', [userMessage(1, { type: 'assistant_message', revision })])
  })

  test('409 sequence_occupied: by a stored event or by another one of the request', async () => {
    const { agent } = await withConversation()
    await agent.refuse('sequence_occupied', [userMessage(1, { externalEventId: 'other' })])
    await agent.refuse('sequence_occupied', [userMessage(9), userMessage(9, { externalEventId: 'other' })])
  })

  test('409 event_finalized: a final event sent as partial, also with a higher revision', async () => {
    const { agent } = await withConversation()
    for (const revision of [1, 2])
      await agent.refuse('event_finalized', [assistantMessage(2, { revision, final: false })])
  })

  test('all or nothing: one conflict refuses the whole request, and the error names index and id', async () => {
    const { agent } = await withConversation()
    const answer = await agent.refuse(
      'event_changed',
      [userMessage(4), userMessage(5), userMessage(1, { content: 'changed' }), userMessage(6)],
      { status: 'ended', context: { surface: 'new' }, participants: [{ externalId: 'p' }] },
    )
    expect(answer.body).toMatchObject({
      eventIndex: 2,
      externalEventId: 'u1',
      message: expect.stringContaining('events[2] (u1)'),
      details: [{ path: 'events[2]', code: 'event_changed' }],
    })
  })
})

describe('feedback', () => {
  const missing = 'invalid_feedback_target'

  test('3. the target may be stored or come in the same request, in any position', async () => {
    const agent = await openAgent(server)
    await agent.accept([feedbackOn('a2', 3), assistantMessage(2)])
    expect(await agent.accept([feedbackOn('a2', 4)])).toMatchObject(counts(1, 0, 0))
  })

  test('3. 400 where the target is unknown, no response, later, or of another session', async () => {
    const { agent } = await withConversation()
    await agent.accept([assistantMessage(1, { externalEventId: 'elsewhere' })], {
      externalSessionId: 'other',
    })
    await agent.refuse(missing, [feedbackOn('nobody', 4)])
    await agent.refuse(missing, [feedbackOn('u1', 4)])
    await agent.refuse(missing, [feedbackOn('f3', 4)])
    await agent.refuse(missing, [feedbackOn('f4', 4)])
    await agent.refuse(missing, [feedbackOn('a5', 4), assistantMessage(5)])
    await agent.refuse(missing, [feedbackOn('elsewhere', 4)])
    const { targetEventExternalId: _, ...feedback } = feedbackOn('a2', 4).feedback as {
      targetEventExternalId: 1
    }
    await agent.refuse(missing, [{ ...feedbackOn('a2', 4), feedback }])
  })

  test('3. a revision that changes the target is judged again', async () => {
    const { agent } = await withConversation()
    await agent.refuse(missing, [{ ...feedbackOn('u1', 3), revision: 2 }])
    await agent.accept([assistantMessage(0)])
    expect(await agent.accept([{ ...feedbackOn('a0', 3), revision: 2 }])).toMatchObject(counts(0, 0, 1))
  })

  test('a rating, labels or a comment alone is feedback; none of them is 400', async () => {
    const { agent } = await withConversation()
    const only = (sequence: number, members: object) => ({
      ...feedbackOn('a2', sequence),
      feedback: { targetEventExternalId: 'a2', ...members },
    })
    const body = await agent.accept([
      only(4, { rating: 'negative' }),
      only(5, { labels: ['slow'] }),
      only(6, { comment: 'Thanks' }),
      only(7, { rating: 'positive', labels: ['a', 'b'], comment: 'All' }),
    ])
    expect(body).toMatchObject(counts(4, 0, 0))
    for (const nothing of [{}, { labels: [] }, { comment: ' \n' }])
      await agent.refuse('validation_failed', [only(8, nothing)])
    const { feedback: _, ...bare } = feedbackOn('a2', 8)
    await agent.refuse('validation_failed', [bare])
  })

  test('a higher revision with neither of them is accepted: it retracts the feedback', async () => {
    const { agent, sessionId } = await withConversation()
    const nothing = { ...feedbackOn('a2', 3), feedback: { targetEventExternalId: 'a2' } }
    const refusal = await agent.refuse('validation_failed', [
      { ...nothing, externalEventId: 'f9', sequence: 9 },
    ])
    expect(refusal.body.message).toContain('a higher revision retracts')
    expect(await agent.accept([{ ...nothing, revision: 2 }])).toMatchObject(counts(0, 0, 1))
    expect((await eventRows(server.database.sql, sessionId)).at(-1)).toMatchObject({
      revision: 2,
      body: { feedback: { targetEventExternalId: 'a2', retracted: true } },
    })
    expect(await agent.accept([{ ...nothing, revision: 2 }])).toMatchObject(counts(0, 1, 0))
  })

  test('400 where an event of another type has feedback', async () => {
    const agent = await openAgent(server)
    const { feedback } = feedbackOn('a1', 2)
    await agent.refuse('validation_failed', [assistantMessage(1), userMessage(2, { feedback })])
  })
})

test('many concurrent requests for a new session create one session, and every event counts as accepted once', async () => {
  const agent = await openAgent(server)
  const events = Array.from({ length: 12 }, (_, index) => userMessage(index))
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, index) =>
      agent.accept([...events.slice(index), ...events.slice(0, index)]),
    ),
  )
  expect(new Set(answers.map((answer) => answer.sessionId)).size).toBe(1)
  const sum = (name: string) => answers.reduce((total, answer) => total + Number(answer[name]), 0)
  expect(sum('acceptedEventCount')).toBe(12)
  expect(sum('deduplicatedEventCount')).toBe(11 * 12)
})

test('of two concurrent events with the same sequence exactly one is stored', async () => {
  const agent = await openAgent(server)
  await agent.accept([userMessage(0)])
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, index) => agent.send([userMessage(1, { externalEventId: `e${index}` })])),
  )
  expect(answers.map((answer) => answer.status).sort()).toEqual([200, ...Array(7).fill(409)])
  await refused(server, 'sequence_occupied', () => agent.send([userMessage(1, { externalEventId: 'late' })]))
})
