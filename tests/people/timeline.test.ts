/** The timeline of a person: every channel, newest first, by cursor, and to each caller what the caller may see. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { SCAN_ROWS } from '../../src/platform/db/bounded-scan.ts'
import { newId } from '../../src/platform/ids.ts'
import { type Agent, assistantMessage, feedbackOn, openAgent, userMessage } from '../support/agents.ts'
import { eventually } from '../support/eventually.ts'
import { createRecord, createSource, field, PEOPLE, putPerson } from '../support/feedback.ts'
import { createFolder, createRecording, utterance } from '../support/recordings.ts'
import { type Client, startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
let agent: Agent
let key: Client

beforeAll(async () => {
  server = await startTestServer({ actors: true })
  agent = await openAgent(server, { settings: { conversationAccess: { type: 'workspace' } } })
  key = server.as({ apiKey: agent.tenant.apiKey })
})
afterAll(() => server?.stop())

interface Entry {
  readonly channel: string
  readonly id: string
  readonly occurredAt: string
  readonly [member: string]: unknown
}

const person = () => putPerson(key, { email: `${newId()}@example.com` })
const pageOf = (id: unknown, query = '', client = key) => client.get(`${PEOPLE}/${id}/timeline?${query}`)

/** All pages, each with at most `limit` entries. */
async function walk(id: unknown, limit: number, client = key): Promise<readonly Entry[]> {
  const entries: Entry[] = []
  let cursor = ''
  for (let pages = 0; pages < 200; pages++) {
    const { status, body } = await pageOf(id, `limit=${limit}${cursor}`, client)
    if (status !== 200) throw new Error(JSON.stringify(body))
    expect(body.data.length).toBeLessThanOrEqual(limit)
    entries.push(...body.data)
    if (!body.has_more) return entries
    cursor = `&cursor=${body.next_cursor}`
  }
  throw new Error('the list does not end')
}

test('quotes the person on every channel, with signals', async () => {
  const grace = await person()
  const sourceId = await createSource(key, 'Help desk')
  const record = await createRecord(key, sourceId, {
    person_id: grace.id,
    display_ts: '2026-01-01T00:00:00Z',
    fields: [
      field({ value: 'The export\nis slow.' }),
      field({ category: 'metadata', name: 'plan', value: 'gold' }),
    ],
  })
  const recording = await createRecording(key, {
    displayName: 'Call',
    startedAt: '2026-01-02T00:00:00Z',
    participants: [{ speaker: 1, personId: grace.uuid }],
    transcript: [utterance(0, 1, 0, 'Hello, how can I help?'), utterance(2, 5, 1, 'I want my money back.')],
  })
  const { sessionId } = await agent.accept(
    [
      userMessage(1, { content: [{ type: 'text', text: 'Why is it slow?' }], participantExternalId: 'g' }),
      assistantMessage(2),
      userMessage(3, { content: 'I am somebody else.', participantExternalId: 'other' }),
      assistantMessage(4),
      { ...feedbackOn('a2', 5, { rating: 'negative', comment: 'No help.' }), participantExternalId: 'g' },
      { ...feedbackOn('a4', 6, { comment: 'Great.' }), participantExternalId: 'other' },
    ],
    {
      participants: [
        { externalId: 'g', email: grace.email },
        { externalId: 'other', displayName: 'Bob' },
      ],
    },
  )
  // Findings of other channels, one of them kept from lists, in the place of those that the analysis makes.
  const { sql } = server.database
  await eventually(
    async () => (await sql`select from actor_message where type <> 'conversation'`).count === 0,
  )
  await sql`delete from agent_signal where organization_id = ${agent.organizationId} and channel <> 'conversation'`
  for (const [name, shown] of [
    ['complaint', true],
    ['praise', false],
  ] as const)
    await sql`
      insert into agent_signal (id, organization_id, source, kind, rating, comment, occurred_at, channel, feedback_record_id, shown)
      values (${newId()}, ${agent.organizationId}, 'qualitative_inference', ${name}, 'negative', 'slow', '2026-01-01T00:00:00Z',
        'feedback', ${record.id}, ${shown})`
  for (const [kind, speaker] of [
    ['complaint', grace.id],
    ['question', null],
  ])
    await sql`
      insert into agent_signal (id, organization_id, source, kind, rating, comment, occurred_at, channel, recording_id, start_sec,
        person_id)
      values (${newId()}, ${agent.organizationId}, 'qualitative_inference', ${kind}, 'negative', 'money back',
        '2026-01-02T00:00:02Z', 'recording', ${recording.id}, 2, ${speaker})`
  const { body } = await eventually(async () => {
    const page = await pageOf(grace.uuid)
    return page.body.data.length === 3 && page
  })
  expect(body).toEqual({
    data: [
      {
        channel: 'conversation',
        id: sessionId,
        title: agent.agentKey,
        text: 'Why is it slow?',
        occurredAt: expect.any(String),
        startSec: null,
        path: `/v3/rest/agent-conversations/sessions/${sessionId}`,
        said: [
          {
            text: 'Why is it slow?',
            messageId: 'u1',
            startSec: null,
            occurredAt: '2026-01-02T09:00:00.000Z',
          },
        ],
        signals: [
          {
            id: expect.any(String),
            source: 'explicit_feedback',
            kind: 'message_feedback',
            rating: 'negative',
            comment: 'No help.',
            occurredAt: '2026-01-02T09:00:00.000Z',
          },
        ],
      },
      {
        channel: 'recording',
        id: recording.id,
        title: 'Call',
        text: 'I want my money back.',
        occurredAt: '2026-01-02T00:00:00.000Z',
        startSec: 2,
        path: `/v3/rest/recordings/${recording.id}`,
        said: [{ text: 'I want my money back.', messageId: null, startSec: 2, occurredAt: null }],
        signals: [expect.objectContaining({ kind: 'complaint', comment: 'money back' })],
      },
      {
        channel: 'feedback',
        id: String(record.id),
        title: 'Help desk',
        text: 'The export is slow.',
        occurredAt: '2026-01-01T00:00:00.000Z',
        startSec: null,
        path: `/v3/rest/feedback-sources/${sourceId}/records/${record.id}`,
        said: [{ text: 'The export is slow.', messageId: null, startSec: null, occurredAt: null }],
        signals: [expect.objectContaining({ kind: 'complaint', comment: 'slow' })],
      },
    ],
    limit: 20,
    has_more: false,
    next_cursor: null,
  })
  for (const entry of body.data) expect((await key.get(entry.path)).status).toBe(200)
  const only = async (query: string) =>
    (await pageOf(grace.id, query)).body.data.map((one: Entry) => one.channel)
  expect(await only('channel=recording')).toEqual(['recording'])
  expect(await only('until=2026-01-02T00:00:00Z')).toEqual(['feedback'])
  expect(await only('since=2026-01-02T00:00:00Z&until=2026-01-02T00:00:01Z')).toEqual(['recording'])
  // A recording that is moved in time moves in the timeline.
  await key.patch(`/v3/rest/recordings/${recording.id}`, { startedAt: '2025-12-31T00:00:00Z' })
  expect(await only('until=2026-01-02T00:00:00Z')).toEqual(['feedback', 'recording'])
})

describe('access', () => {
  test('private folders and restricted applications show their entries to whom they belong', async () => {
    const hal = await person()
    const [ada, bob] = await Promise.all([1, 2].map(() => server.createUser(agent.organizationId, 'analyst')))
    const [adaClient, bobClient] = [ada, bob].map((user) => server.as({ userToken: user?.userToken ?? '' }))
    const folder = await createFolder(adaClient as Client, false)
    const hidden = await createRecording(adaClient as Client, {
      folderIds: [folder],
      participants: [{ speaker: 0, personId: hal.uuid }],
    })
    const restricted = await openAgent(server, {
      tenant: agent.tenant,
      settings: { conversationAccess: { type: 'restricted', userIds: [bob?.userId ?? ''] } },
    })
    const { sessionId } = await restricted.accept([userMessage(1)], {
      participants: [{ externalId: 'h', email: hal.email }],
    })
    const seen = async (client: Client) =>
      (await pageOf(hal.id, '', client)).body.data.map(({ id }: Entry) => id).toSorted()
    await eventually(async () => (await seen(key)).length === 1)
    expect(await seen(key)).toEqual([sessionId])
    expect(await seen(adaClient as Client)).toEqual([hidden.id])
    expect(await seen(bobClient as Client)).toEqual([sessionId])
    const stranger = server.as({ apiKey: (await server.createTenant()).apiKey })
    for (const id of [hal.id, hal.uuid]) expect((await pageOf(id, '', stranger)).status).toBe(404)
  })

  test('a page passes over a bounded number of hidden conversations, and the next pages find the rest', async () => {
    const ivy = await person()
    const { sql } = server.database
    const restricted = await openAgent(server, {
      tenant: agent.tenant,
      settings: { conversationAccess: { type: 'restricted', userIds: [] } },
    })
    const [row] = await sql<{ id: number }[]>`select id from person where public_id = ${ivy.uuid}`
    const insert = (applicationId: string, from: number, to: number) => sql`
      with session as (
        insert into agent_session (id, organization_id, application_id, external_session_id, status, processing_status, created_at)
        select gen_random_uuid(), ${agent.organizationId}, ${applicationId}, 'ivy-' || n, 'ended', 'completed',
          timestamptz '2026-01-01' - n * interval '1 second'
        from generate_series(${from}::int, ${to}::int) n
        returning id, organization_id, created_at
      )
      insert into agent_session_person (organization_id, session_id, participant_external_id, person_id, sole, occurred_at)
      select organization_id, id, 'i', ${row?.id ?? 0}, true, created_at from session`
    await insert(agent.applicationId, 1, 2)
    await insert(restricted.applicationId, 3, SCAN_ROWS + 500)
    await insert(agent.applicationId, SCAN_ROWS + 501, SCAN_ROWS + 503)
    await createRecord(key, await createSource(key), {
      person_id: ivy.id,
      display_ts: '2020-01-01T00:00:00Z',
    })
    const { userToken } = await server.createUser(agent.organizationId, 'viewer')
    const first = await pageOf(ivy.id, 'limit=10', server.as({ userToken }))
    expect(first.body).toMatchObject({ data: [{}, {}], has_more: true, next_cursor: expect.any(String) })
    const entries = await walk(ivy.id, 10, server.as({ userToken }))
    expect(entries.map(({ channel }) => channel)).toEqual([...Array(5).fill('conversation'), 'feedback'])
  }, 300_000)
})

test('pages join without gaps or repetitions, at equal times, too', async () => {
  const jo = await person()
  const { sql } = server.database
  const sourceId = await createSource(key)
  const [row] = await sql<{ id: number }[]>`select id from person where public_id = ${jo.uuid}`
  const { organizationId, applicationId } = agent
  const personId = row?.id ?? 0
  // Five entries a moment and channel, some within the same millisecond. Every second one of a session has two participants of the person.
  const at = sql`timestamptz '2026-02-01' + (n / 5) * interval '1 microsecond'`
  await sql`
    insert into feedback_record (organization_id, feedback_source_id, person_id, display_ts, fields)
    select ${organizationId}, ${sourceId}, ${personId}, ${at}, '[]' from generate_series(1, 40) n`
  await sql`
    with session as (
      insert into agent_session (id, organization_id, application_id, external_session_id, status, processing_status, created_at)
      select gen_random_uuid(), ${organizationId}, ${applicationId}, 'jo-' || n, 'ended', 'completed', ${at}
      from generate_series(1, 40) n
      returning id, organization_id, created_at, external_session_id
    )
    insert into agent_session_person (organization_id, session_id, participant_external_id, person_id, sole, occurred_at)
    select organization_id, id, p, ${personId}, false, created_at
    from session cross join unnest(array['a', 'b']) p
    where p = 'a' or external_session_id like '%2'`
  await sql`
    with r as (
      insert into recording (id, organization_id, source, transcript_status, started_at)
      select gen_random_uuid(), ${organizationId}, 'api', 'waiting', ${at} from generate_series(1, 40) n
      returning id, organization_id
    )
    insert into recording_participant (organization_id, recording_id, speaker, person_id)
    select organization_id, id, s, ${personId} from r cross join generate_series(0, 1) s`
  const all = await walk(jo.id, 50)
  expect(all).toHaveLength(120)
  expect(new Set(all.map(({ channel, id }) => `${channel} ${id}`)).size).toBe(120)
  expect(all.map(({ occurredAt }) => occurredAt)).toEqual(
    all
      .map(({ occurredAt }) => occurredAt)
      .toSorted()
      .toReversed(),
  )
  for (const limit of [1, 7, 49]) expect(await walk(jo.id, limit)).toEqual(all as Entry[])
}, 300_000)

test('a cursor of another list, or none, is 400', async () => {
  const { id } = await person()
  const cursor = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  for (const text of [
    'nonsense',
    cursor(['people', 1, 1]),
    cursor(['person_timeline', '2026-01-01T00:00:00Z', 'feedback', 'x']),
    cursor(['person_timeline', '2026-01-01T00:00:00Z', 'conversation', '7']),
    cursor(['person_timeline', '2026-01-01T00:00:00Z', 'mail', '7']),
  ])
    expect(await pageOf(id, `cursor=${text}`)).toMatchObject({
      status: 400,
      body: { code: 'validation_failed' },
    })
  expect((await pageOf(id, 'limit=51')).status).toBe(400)
})
