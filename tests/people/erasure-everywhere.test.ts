/**
 * A person who said something on every channel, under two addresses, is erased. Afterwards a dump of the whole database, as text, does not
 * contain any of the person's words: neither names nor addresses, nor stems of them in search, nor quotations of what they said about themselves.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Agent, assistantMessage, feedbackOn, openAgent, userMessage } from '../support/agents.ts'
import { createCodingSession } from '../support/coding-sessions.ts'
import { whereFound } from '../support/erasure.ts'
import { eventually } from '../support/eventually.ts'
import { createRecord, createSource, field, PEOPLE, putPerson } from '../support/feedback.ts'
import { requestOf, span, TRACES } from '../support/otlp.ts'
import { createRecording, utterance } from '../support/recordings.ts'
import { type Client, startTestServer, type TestServer } from '../support/server.ts'

/** Words that no dictionary and no stemmer changes, each of which occurs nowhere else. */
const WORDS = ['qzfirst7', 'qzlast7', 'qzmail7', 'qzother7', 'qznick7', 'qzfeed7', 'qzformer7'] as const
const EMAIL = 'Qzmail7@Example.com'
const OTHER = 'qzother7@example.com'

let server: TestServer
let agent: Agent
let key: Client

beforeAll(async () => {
  server = await startTestServer({ actors: true })
  agent = await openAgent(server)
  key = server.as({ apiKey: agent.tenant.apiKey })
})
afterAll(() => server?.stop())

const dump = () => whereFound(server, WORDS)

async function saySomethingEverywhere() {
  const webhook = { url: 'https://example.com/', types: ['*'], enabled: false }
  expect((await key.post('/v3/rest/webhooks', webhook)).status).toBe(201)
  const person = await putPerson(key, { email: EMAIL, first_name: 'Qzfirst7', last_name: 'Qzlast7' })
  const former = await putPerson(key, { email: OTHER, first_name: 'Qzformer7' })
  const sourceId = await createSource(key)
  await createRecord(key, sourceId, {
    person_id: former.id,
    fields: [field({ value: 'I am qzfeed7 and your export is broken.' })],
  })
  for (const [name, email] of [
    ['first', EMAIL],
    ['second', OTHER],
  ] as const)
    await agent.accept(
      [
        userMessage(1, {
          content: `Qzfirst7 here, ${email}. The export is broken!`,
          participantExternalId: email,
        }),
        assistantMessage(2, { content: 'Hello Qzlast7, I am sorry, qznick7.' }),
        userMessage(3, { content: 'It is still broken, says Qzformer7.', participantExternalId: email }),
        {
          ...feedbackOn('a2', 4, { rating: 'negative', comment: 'Qzfirst7 is angry' }),
          participantExternalId: email,
        },
      ],
      {
        externalSessionId: name,
        status: 'ended',
        participants: [{ externalId: email, email, displayName: 'Qznick7' }],
      },
    )
  for (const email of [EMAIL, OTHER])
    await createRecording(key, {
      displayName: 'Call with Qzfirst7',
      summary: 'Qzlast7 called.',
      participants: [{ speaker: 0, email }],
      transcript: [utterance(0, 5, 0, 'This is Qzfirst7 Qzlast7 speaking, or Qzformer7.')],
    })
  await agent.client.post(
    TRACES,
    requestOf([
      span(1, 0, {
        'gen_ai.operation.name': 'invoke_agent',
        'user.id': EMAIL,
        'input.value': 'Qzfirst7 is waiting,\nqzlast7 too.',
        'output.value': 'Yes.',
      }),
    ]),
  )
  await createCodingSession(key, {
    title: 'Fix the export for Qzfirst7 Qzlast7',
    events: [{ text: `Mail of ${EMAIL}: qzfirst7 wants it fixed.` }, { text: 'qzlast7 is waiting' }],
  })
  await createCodingSession(key, { title: 'Call qzother7@example.com back', events: [{ text: 'Nothing' }] })
  expect((await key.post(`${PEOPLE}/${person.id}/merge`, { personId: former.uuid })).status).toBe(200)
  return person
}

test('after an erasure, a dump of the database finds nothing of the person', async () => {
  const { id, uuid } = await saySomethingEverywhere()
  const everywhere = [
    'agent_event',
    'agent_session',
    'agent_session_person',
    'agent_signal',
    'coding_session',
    'coding_session_event',
    'feedback_record',
    'otlp_piece',
    'person',
    'person_alias',
    'recording',
    'search_passage',
    'transcript_search',
    'transcript_utterance',
    'webhook_event',
  ]
  // Everything that is derived is there, so that there is something to erase.
  await eventually(async () => {
    const found = await dump()
    const timeline = (await key.get(`${PEOPLE}/${uuid}/timeline`)).body.data
    return everywhere.every((table) => found[table] !== undefined) && timeline.length === 5
  })
  expect(new Set(Object.values(await dump()).flat())).toEqual(new Set(WORDS))
  const { body } = await key.delete(`${PEOPLE}/${id}`)
  await eventually(
    async () => (await key.get(`/v3/rest/person-erasures/${body.id}`)).body.status === 'completed',
  )
  const { erased, left } = (await key.get(`/v3/rest/person-erasures/${body.id}`)).body
  expect(erased).toMatchObject({
    feedbackRecords: 1,
    participations: 2,
    sessions: 2,
    codingSessions: 2,
    codingEvents: 2,
  })
  expect(left).toContain('other_coding_sessions')
  // Search is made again from what is left, by other actors.
  await eventually(async () => Object.keys(await dump()).length === 0).catch(() => {})
  expect(await dump()).toEqual({})
  for (const ref of [id, uuid]) expect((await key.get(`${PEOPLE}/${ref}/timeline`)).status).toBe(404)
})

test('a part of a name does not touch program code', async () => {
  const { id } = await putPerson(key, { email: 'wl@example.com', first_name: 'Will', last_name: 'Long' })
  const sessionId = await createCodingSession(key, { events: [{ text: 'This will take long; mark it.' }] })
  const { body } = await key.delete(`${PEOPLE}/${id}`)
  await eventually(
    async () => (await key.get(`/v3/rest/person-erasures/${body.id}`)).body.status === 'completed',
  )
  const events = await key.get(`/v3/rest/coding-sessions/${sessionId}/events`)
  expect(JSON.stringify(events.body)).toContain('This will take long; mark it.')
})
