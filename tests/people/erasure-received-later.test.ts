/**
 * What is received after an erasure was requested is new, on every way in: it keeps what it says, also in an older conversation, while
 * everything around it that was received before is erased.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createRuntime } from '../../src/actors/runtime.ts'
import { newId } from '../../src/platform/ids.ts'
import { QUICK } from '../support/actors.ts'
import { assistantMessage, INGEST, openAgent, userMessage } from '../support/agents.ts'
import { createCodingSession, SESSIONS } from '../support/coding-sessions.ts'
import { erasureEnd, requestErasure } from '../support/erasure.ts'
import { putPerson } from '../support/feedback.ts'
import { requestOf, settle, span, TRACES } from '../support/otlp.ts'
import { createCanonicalField, createRecording, RECORDINGS, utterance } from '../support/recordings.ts'
import { type Client, startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server?.stop())

const EMAIL = 'ophelia@example.com'
const PARTICIPANTS = [{ externalId: 'o', displayName: 'Ophelia', email: EMAIL }]

async function bodiesOf(key: Client, path: string): Promise<string> {
  const { status, body } = await key.get(path)
  if (status !== 200) throw new Error(`${path}: ${status}`)
  return JSON.stringify(body)
}

test('after the request, conversations, recordings, coding sessions and traces keep what they are sent', async () => {
  const agent = await openAgent(server)
  const key = server.as({ apiKey: agent.tenant.apiKey })
  const person = await putPerson(key, { email: EMAIL, first_name: 'Ophelia', last_name: 'Marchbanks' })
  const [named, other] = [await createCanonicalField(key), await createCanonicalField(key)]
  const ingest = (events: Parameters<typeof agent.accept>[0], members = {}) =>
    agent.accept(events, { externalSessionId: 's', ...members })
  const { sessionId } = await ingest(
    [
      userMessage(1, { content: 'Ophelia asks first', participantExternalId: 'o' }),
      assistantMessage(2, { content: 'Ophelia, this is a draft' }),
    ],
    { participants: PARTICIPANTS },
  )
  const { id: recordingId } = await createRecording(key, {
    displayName: 'First call with Ophelia',
    summary: 'Ophelia called first.',
    record: {
      externalId: newId(),
      values: [
        { fieldId: named, value: 'first, Ophelia' },
        { fieldId: other, value: 'also Ophelia' },
      ],
    },
    participants: [{ speaker: 0, email: EMAIL }],
    transcript: [utterance(0, 5, 0, 'Ophelia speaking.')],
  })
  const externalSessionId = newId()
  const coding = { externalSessionId, title: 'Fix it for Ophelia Marchbanks' }
  const before = { id: newId(), text: 'Ophelia Marchbanks waits' }
  const codingId = await createCodingSession(key, { ...coding, events: [before] })
  const trace = (id: number, traceId: string, input: string) =>
    agent.client.post(
      TRACES,
      requestOf([
        span(
          id,
          id,
          {
            'gen_ai.operation.name': 'invoke_agent',
            'gen_ai.conversation.id': 't',
            'user.id': EMAIL,
            'input.value': input,
            'output.value': 'Yes.',
          },
          { traceId },
        ),
      ]),
    )
  await trace(1, 'a'.repeat(32), 'Ophelia has a trace')

  const id = await requestErasure(key, person.id)

  await ingest([
    assistantMessage(2, { revision: 2, content: 'Ophelia, this is the answer' }),
    userMessage(3, { content: 'Ophelia asks later' }),
  ])
  const append = [{ externalEventId: 'z', type: 'user_message', content: 'Ophelia appends' }]
  const appended = await agent.client.post('/v3/rest/agent-conversations/append', {
    agentKey: agent.agentKey,
    externalSessionId: 's',
    events: append,
  })
  expect(appended.status).toBe(200)
  const changed = await key.patch(`${RECORDINGS}/${recordingId}`, {
    displayName: 'Second call with Ophelia',
    summary: 'Ophelia called again.',
    record: { values: [{ fieldId: named, value: 'second, Ophelia' }] },
  })
  expect(changed.status).toBe(200)
  const after = { id: newId(), text: 'Ophelia Marchbanks is back' }
  const title = 'Mend it for Ophelia Marchbanks'
  await key.post(SESSIONS, { format: 'normalized', externalSessionId, title, events: [before, after] })
  await trace(2, 'b'.repeat(32), 'Ophelia has another trace')

  const runtime = createRuntime(server.deps, server.features.actors, QUICK)
  await runtime.start()
  try {
    await settle(server)
    await erasureEnd(key, id)
    const session = await bodiesOf(key, `/v3/rest/agent-conversations/sessions/${sessionId}?limit=100`)
    for (const text of ['Ophelia, this is the answer', 'Ophelia asks later', 'Ophelia appends'])
      expect(session).toContain(text)
    expect(session).toContain('[erased] asks first')
    const { sql } = server.database
    const revisions = await sql<{ body: { content: string } }[]>`
      select body from agent_event_revision where session_id = ${sessionId}`
    expect(revisions.map(({ body }) => body.content)).toEqual(['[erased], this is a draft'])
    const { displayName, summary, record } = (await key.get(`${RECORDINGS}/${recordingId}`)).body
    expect([displayName, summary]).toEqual(['Second call with Ophelia', 'Ophelia called again.'])
    const values = record.values.map(({ value }: { value: string }) => value)
    expect(values.toSorted()).toEqual(['also [erased]', 'second, Ophelia'])
    expect(await bodiesOf(key, `${RECORDINGS}/${recordingId}/transcript`)).toContain('[erased] speaking.')
    const events = await bodiesOf(key, `${SESSIONS}/${codingId}/events`)
    expect(events).toContain('Ophelia Marchbanks is back')
    expect(events).toContain('[erased] waits')
    expect((await key.get(`${SESSIONS}/${codingId}`)).body.title).toBe(title)
    const traces = await sql<{ text: string }[]>`
      select e.body::text as text
      from agent_event e join agent_session s on s.id = e.session_id
      where s.organization_id = ${agent.organizationId} and s.external_session_id = 't'`
    const said = traces.map(({ text }) => text).join()
    expect(said).toContain('Ophelia has another trace')
    expect(said).not.toContain('Ophelia has a trace')
  } finally {
    await runtime.stop(5_000)
  }
})

test('a session that the person joins after the request keeps the participant', async () => {
  const agent = await openAgent(server)
  const key = server.as({ apiKey: agent.tenant.apiKey })
  const person = await putPerson(key, { email: EMAIL, first_name: 'Ophelia', last_name: 'Marchbanks' })
  const { sessionId } = await agent.accept([userMessage(1)], { externalSessionId: 'j' })
  await agent.accept([userMessage(1, { content: 'Ophelia asks' })], {
    externalSessionId: 'k',
    participants: PARTICIPANTS,
  })
  const id = await requestErasure(key, person.id)
  const runtime = createRuntime(
    server.deps,
    server.features.actors.filter(({ kind }) => kind === 'erasure'),
    QUICK,
  )
  await runtime.start()
  try {
    await erasureEnd(key, id)
    // As if the request had come while the erasure waits for its second pass.
    await agent.client.post(
      INGEST,
      agent.request([userMessage(2, { content: 'Ophelia joins' })], {
        externalSessionId: 'j',
        participants: PARTICIPANTS,
      }),
    )
    await server.database.sql`
      update person_erasure e
      set finished_at = null, progress = '{"reach": "sessions", "from": null, "pass": 2}',
        terms = ${JSON.stringify({ email: EMAIL, names: ['Ophelia'], recordingIds: [] })}::text::jsonb
      where id = ${id}`
    await server.database.sql`
      insert into actor_message (key, seq, type)
      select key, last_seq + 1, 'erase' from actor_mailbox where key = ${`erasure:${id}`}`
    await server.database.sql`update actor_mailbox set last_seq = last_seq + 1 where key = ${`erasure:${id}`}`
    await erasureEnd(key, id)
    const { participants } = (await key.get(`/v3/rest/agent-conversations/sessions/${sessionId}`)).body
    expect(participants).toMatchObject([{ externalId: 'o', displayName: 'Ophelia', email: EMAIL }])
  } finally {
    await runtime.stop(5_000)
  }
})
