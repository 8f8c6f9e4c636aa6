/** After a person is erased, no table names them and retries restore nothing. Erasure survives the end of its process. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { createRuntime } from '../../src/actors/runtime.ts'
import { type Conversation, conversationOf } from '../../src/hear/agents/analysis/conversation.rules.ts'
import { readConversations } from '../../src/hear/agents/analysis/conversation.store.ts'
import { readPresent, saveSessions } from '../../src/hear/agents/analysis/readings.ts'
import { closeResponses, readPending } from '../../src/hear/agents/analysis/store.ts'
import { lockSessions } from '../../src/hear/agents/sessions/progress.store.ts'
import type { Query } from '../../src/platform/db/pool.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { newId } from '../../src/platform/ids.ts'
import {
  type Agent,
  assistantMessage,
  feedbackOn,
  INGEST,
  openAgent,
  userMessage,
} from '../support/agents.ts'
import { insertSession } from '../support/agents-http.ts'
import { eventually } from '../support/eventually.ts'
import { createRecord, createSource, field, PEOPLE, putPerson } from '../support/feedback.ts'
import { insertEndedJoin } from '../support/meetings.ts'
import { createCanonicalField, createRecording, utterance } from '../support/recordings.ts'
import { type Answer, type Client, startTestServer, type TestServer } from '../support/server.ts'

const EMAIL = 'Zephyrine.Quill@Example.com'
const NAMES = ['zephyrine', 'quillfeather', 'zq the great'] as const

let server: TestServer
let worker: TestServer
let agent: Agent
let key: Client

beforeAll(async () => {
  server = await startTestServer()
  // Another process, so that whatever is erased there is not what this one remembers.
  worker = await startTestServer({ beside: server, actors: true })
})
afterAll(async () => {
  await worker?.stop()
  await server?.stop()
})
beforeEach(async () => {
  agent = await openAgent(server)
  key = server.as({ apiKey: agent.tenant.apiKey })
})

/** Every row of every table as text, where it names the person. */
async function namings(sql = server.database.sql): Promise<readonly string[]> {
  const tables = await sql<{ name: string }[]>`
    select table_name as name from information_schema.tables
    where table_schema = 'public' and table_type = 'BASE TABLE'`
  expect(tables.length).toBeGreaterThan(30)
  const found = await Promise.all(
    tables.map(async ({ name }) => {
      const rows = await sql<{ text: string }[]>`select t::text as text from ${sql(name)} t`
      return rows.flatMap(({ text }) =>
        [EMAIL.toLowerCase(), ...NAMES].some((word) => text.toLowerCase().includes(word))
          ? [`${name}: ${text}`]
          : [],
      )
    }),
  )
  return found.flat()
}

const person = () => putPerson(key, { email: EMAIL, first_name: 'Zephyrine', last_name: 'Quillfeather' })

async function erase(id: number): Promise<Answer['body']> {
  const answer = await key.delete(`${PEOPLE}/${id}`)
  expect(answer.status).toBe(202)
  expect(answer.headers.get('location')).toBe(`/v3/rest/person-erasures/${answer.body.id}`)
  return eventually(async () => {
    const { body } = await key.get(`/v3/rest/person-erasures/${answer.body.id}`)
    return body.status === 'completed' ? body : false
  })
}

const PARTICIPANTS = [
  { externalId: 'z-7', displayName: 'ZQ the Great', username: 'zephyrine', email: EMAIL.toUpperCase() },
  { externalId: 'other', displayName: 'Bob', email: 'bob@example.com' },
]

/** A conversation that names the person wherever it can. */
function conversation(externalSessionId: string, pairs: number) {
  const events = Array.from({ length: pairs }, (_, n) => [
    userMessage(3 * n + 1, { content: `I am Zephyrine, number ${n}.`, participantExternalId: 'z-7' }),
    assistantMessage(3 * n + 2, { content: [{ type: 'text', text: `Hello ZQ the Great (${EMAIL})` }] }),
    feedbackOn(`a${3 * n + 2}`, 3 * n + 3, { comment: 'Signed, Quillfeather', labels: ['quillfeather'] }),
  ]).flat()
  const context = { properties: { customer: 'Zephyrine Quillfeather', 'zephyrine-plan': { tier: 1 } } }
  return { events, members: { externalSessionId, context, participants: PARTICIPANTS, status: 'ended' } }
}

describe('after the erasure of a person', () => {
  test('no table names them: conversations, signals, feedback, recordings, transcripts, search', async () => {
    const { id } = await person()
    const webhook = { url: 'https://example.com/', types: ['*'], enabled: false }
    expect((await key.post('/v3/rest/webhooks', webhook)).status).toBe(201)
    const { events, members } = conversation('long', 50)
    const { sessionId } = await agent.accept(events.slice(0, 75), members)
    await agent.accept(events.slice(75), members)
    await agent.accept([userMessage(1, { revision: 2, content: 'Zephyrine again' })], members)
    const sourceId = await createSource(key)
    await createRecord(key, sourceId, { person_id: id, fields: [field({ value: `From ${EMAIL}` })] })
    const fieldId = await createCanonicalField(key)
    const { id: recordingId } = await createRecording(key, {
      displayName: 'Call with Zephyrine',
      summary: 'Quillfeather called.',
      record: { externalId: 'call-1', values: [{ fieldId, value: EMAIL }] },
      participants: [{ speaker: 0, email: EMAIL }],
      transcript: Array.from({ length: 1_200 }, (_, n) => ({
        ...utterance(n, n + 1),
        text: `Zephyrine ${n}`,
      })),
    })
    await key.post(`/v3/rest/recordings/${recordingId}/uploads`, { fileName: 'zephyrine.mp4', fileSize: 10 })
    // A speaker of a meeting, whose copy the recorder still has.
    const { sql } = server.database
    await sql`
      insert into recording_participant (organization_id, recording_id, speaker, name)
      select organization_id, id, 1, 'Zephyrine Quillfeather' from recording where id = ${recordingId}`
    await insertEndedJoin(sql, agent.tenant.organizationId, recordingId, 'bot_1')
    // Everything that is made of it is made, so that there is something to erase.
    await eventually(async () => {
      const signals = (await key.get(`/v3/rest/signals?sessionId=${sessionId}&limit=100`)).body.data
      const found = (await key.get('/v3/rest/recordings?q=zephyrine')).body.data
      return signals.length >= 50 && found.length === 1
    })
    expect((await namings()).length).toBeGreaterThan(1_300)
    expect((await namings()).filter((row) => row.startsWith('webhook_event:')).length).toBeGreaterThan(50)

    const { erased, left } = await erase(id)

    expect(erased).toMatchObject({
      feedbackRecords: 1,
      participations: 2,
      sessions: 1,
      events: 150,
      recordings: 1,
      utterances: 1_200,
      values: 1,
      fileNames: 1,
    })
    expect(erased.signals).toBeGreaterThanOrEqual(50)
    expect(left).toContain('ids_of_the_sender')
    const joins = await sql`select must_delete, duty from meeting_join where recording_id = ${recordingId}`
    expect([...joins]).toEqual([{ must_delete: true, duty: 'delete' }])
    // The search is made anew by the recording's actor.
    await eventually(async () => (await namings()).length === 0)
    expect(await namings()).toEqual([])
    const session = (await key.get(`/v3/rest/agent-conversations/sessions/${sessionId}?limit=4`)).body
    const alias = session.participants[1].externalId
    expect(session.participants).toEqual([
      { externalId: 'other', displayName: 'Bob', email: 'bob@example.com', boundary: 'external' },
      { externalId: alias, boundary: 'external' },
    ])
    expect(JSON.stringify(session)).toContain('I am [erased], number 1')
    expect((await key.get(`/v3/rest/recordings/${recordingId}`)).body.displayName).toBe('Call with [erased]')
    expect((await key.get('/v3/rest/recordings?q=erased')).body.data).toHaveLength(1)
  })

  test('retried requests are recognised and restore nothing', async () => {
    const { id } = await person()
    const { events, members } = conversation('retried', 3)
    const { sessionId } = await agent.accept(events, members)
    const revised = [userMessage(1, { revision: 2, content: 'It is Zephyrine.' })]
    await agent.accept(revised, members)
    await erase(id)
    for (const sent of [events, revised, [...events.slice(1), ...revised]]) {
      expect(await agent.accept(sent, members)).toMatchObject({
        sessionId,
        acceptedEventCount: 0,
        revisedEventCount: 0,
        deduplicatedEventCount: sent.length,
      })
    }
    expect(await namings()).toEqual([])
    // What is new says what it says.
    await agent.accept([userMessage(100, { content: 'New, by Zephyrine.' })], members)
    expect(await namings()).not.toEqual([])
    await server.database.sql`delete from agent_session where id = ${sessionId}`
    await server.database.sql`delete from agent_event where session_id = ${sessionId}`
    // The turn of the session may have made a person of the new participants.
    await server.database.sql`delete from person where organization_id = ${agent.tenant.organizationId}`
  })

  test('a process with the session in its cache does not restore them either', async () => {
    const { id } = await person()
    const { events, members } = conversation('remembered', 1)
    const other = worker.as({ agentSecret: agent.agentSecret })
    for (const client of [agent.client, other]) {
      for (const sequence of [1, 2]) {
        const more = [userMessage(100 * sequence + (client === other ? 50 : 0), { content: 'x' })]
        await client.post(INGEST, agent.request([...events, ...more], members))
      }
    }
    await erase(id)
    expect(await agent.accept([userMessage(900)], { externalSessionId: 'remembered' })).toMatchObject({
      acceptedEventCount: 1,
    })
    await other.post(INGEST, agent.request([userMessage(901)], { externalSessionId: 'remembered' }))
    expect(await namings()).toEqual([])
  })

  test('people of the same name and of other organizations are unchanged', async () => {
    const { id } = await person()
    const namesake = await agent.accept([userMessage(1, { content: 'I am Zephyrine, too.' })], {
      externalSessionId: 'namesake',
      participants: [{ externalId: 'n', displayName: 'Zephyrine', email: 'z@other.example' }],
    })
    const foreign = await openAgent(server)
    const { events, members } = conversation('foreign', 1)
    const { sessionId } = await foreign.accept(events, members)
    const before = await namings()
    expect((await erase(id)).erased).toMatchObject({ sessions: 0 })
    const messages = (rows: readonly string[]) =>
      rows.filter((row) => row.startsWith('agent_event:')).toSorted()
    expect(messages(before)).toHaveLength(4)
    expect(messages(await namings())).toEqual(messages(before))
    expect((await namings()).filter((row) => row.startsWith('agent_session:'))).toHaveLength(2)
    for (const session of [namesake.sessionId, sessionId]) {
      for (const table of ['agent_event', 'agent_signal'] as const)
        await server.database.sql`delete from ${server.database.sql(table)} where session_id = ${session}`
      await server.database.sql`delete from agent_session where id = ${session}`
    }
  })
})

test('an analysis that read the conversation before is discarded', async () => {
  const { id } = await person()
  const { sql } = server.database
  const { organizationId, applicationId } = agent
  const sessionId = await insertSession(sql, organizationId, applicationId)
  const participants = JSON.stringify([{ externalId: 'z', email: EMAIL }])
  await sql`update agent_session set participants = ${participants}::text::jsonb, watermark = 1 where id = ${sessionId}`
  await sql`
    insert into agent_event (organization_id, session_id, external_event_id, sequence, revision, type, final, occurred_at,
      body, fingerprint, settings_version)
    values (${organizationId}, ${sessionId}, 'a1', 1, 1, 'assistant_message', true, now(),
      '{"content": "Hello Zephyrine"}', '', 1)`
  await sql`
    insert into agent_response (organization_id, application_id, session_id, external_event_id, sequence, revision, state)
    values (${organizationId}, ${applicationId}, ${sessionId}, 'a1', 1, 1, 'metered')`
  const asked = (await readPending(sql, [sessionId], 10)).get(sessionId) ?? []
  const read = async (tx: Query) =>
    conversationOf((await readConversations(tx, [sessionId])).get(sessionId) ?? [])
  const conversation = await read(sql)
  await erase(id)
  await transaction(sql, async (tx) => {
    const answered = asked.map((response) => ({ ...response, state: 'analyzed' as const }))
    expect([asked.length, (await closeResponses(tx, answered)).size]).toEqual([1, 0])
    const [scope] = await lockSessions(tx, [sessionId])
    const save = async (conversation: Conversation) => {
      const reads = [{ sessionId, conversation, result: PRAISE, scope: scope! }]
      const options = { newId, analyzer: PRAISE.analyzer, keepsLikely: false, outdatesOthers: true }
      await saveSessions(tx, options, await readPresent(tx, reads), reads)
    }
    await save(conversation)
    expect(await tx`select 1 from agent_signal where session_id = ${sessionId}`).toEqual([] as never)
    const now = await read(tx)
    expect(now.subject.said).toEqual([{ own: true, text: 'Hello [erased]' }])
    await save(now)
    expect(await tx`select 1 from agent_signal where session_id = ${sessionId}`).toHaveLength(1)
  })
})

const FINDING = { kind: 'praise', rating: 'positive', tier: 'sure', confidence: 1 } as const
const PRAISE = {
  state: 'analyzed',
  language: 'en',
  outcome: null,
  saying: [],
  sentiment: 'neutral',
  analyzer: { name: 'builtin', version: '1' },
  findings: [{ ...FINDING, quote: 'Hello', index: 0, from: 0 }],
} as const

test('an interrupted erasure resumes and completes once', async () => {
  const alone = await startTestServer()
  try {
    const own = await openAgent(alone)
    const client = alone.as({ apiKey: own.tenant.apiKey })
    const { id } = await putPerson(client, {
      email: EMAIL,
      first_name: 'Zephyrine',
      last_name: 'Quillfeather',
    })
    const conversations = Array.from({ length: 20 }, (_, n) => conversation(`s${n}`, 40))
    for (const { events, members } of conversations) await own.accept(events, members)
    const { body } = await client.delete(`${PEOPLE}/${id}`)
    const progress = async () => (await client.get(`/v3/rest/person-erasures/${body.id}`)).body
    const actors = alone.features.actors.filter(({ kind }) => kind === 'erasure')
    const first = createRuntime(alone.deps, actors, {})
    await first.start()
    await eventually(async () => (await progress()).erased.events > 0)
    await first.stop(0)
    const stopped = await progress()
    const second = createRuntime(alone.deps, actors, {})
    await second.start()
    const ended = await eventually(async () => {
      const now = await progress()
      return now.status === 'completed' ? now : false
    })
    await second.stop(5_000)
    expect(stopped.erased.events).toBeGreaterThan(0)
    expect(ended.erased).toMatchObject({ sessions: 20, events: 20 * 120 })
    expect(await namings(alone.database.sql)).toEqual([])
  } finally {
    await alone.stop()
  }
})
