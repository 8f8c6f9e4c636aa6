/** Reading sessions, events and revisions over HTTP: every filter, paging, answers to bad queries. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../src/platform/ids.ts'
import {
  type Agents,
  createApplicationOf,
  ids,
  insertEvent,
  readAll,
  startAgents,
} from '../support/agents-http.ts'

const SESSIONS = '/v3/rest/agent-conversations/sessions'

let agents: Agents
beforeAll(async () => {
  agents = await startAgents()
})
afterAll(() => agents?.stop())

const organizationId = () => agents.organization.id
const get = (path: string) => agents.call(agents.organization.key, 'GET', path)
const createApplication = (settings: object = {}) => createApplicationOf(agents, settings)

test('a session has its ids, state, context and progress', async () => {
  const application = await createApplication()
  const participants = [{ externalId: 'p1', displayName: 'Ada', boundary: 'external' }]
  const id = await application.session({
    external_session_id: 'chat-1',
    status: 'ended',
    processing_status: 'completed',
    agent_version: '7',
    source: agents.sql.json({ sdk: 'http', version: '1' }),
    context: agents.sql.json({ surface: 'widget', environment: 'staging' }),
    environment: 'staging',
    participants: agents.sql.json(participants),
    watermark: 4,
    gaps_permanent_through: 3,
    created_at: '2026-01-02T03:04:05.678Z',
    updated_at: '2026-01-02T03:04:06Z',
    last_activity_at: '2026-01-02T03:04:07Z',
  })
  const { status, body } = await get(`${SESSIONS}/${id}`)
  expect(status).toBe(200)
  const { events, ...session } = body
  expect(session).toEqual({
    id,
    agentKey: application.agentKey,
    externalSessionId: 'chat-1',
    status: 'ended',
    processingStatus: 'completed',
    agentVersion: '7',
    source: { sdk: 'http', version: '1' },
    context: { surface: 'widget', environment: 'staging' },
    environment: 'staging',
    participants,
    outcome: null,
    outcomeBasis: null,
    sentiment: null,
    analysis: { state: 'waiting', reason: null, analyzer: null, version: null },
    processedThroughSequence: 4,
    gapsPermanentThrough: 3,
    startedAt: '2026-01-02T03:04:05.678Z',
    endedAt: '2026-01-02T03:04:05.678Z',
    createdAt: '2026-01-02T03:04:05.678Z',
    updatedAt: '2026-01-02T03:04:06.000Z',
    lastActivityAt: '2026-01-02T03:04:07.000Z',
  })
  expect(events).toEqual({ data: [], limit: 100, has_more: false, next_cursor: null })
  const listed = await get(`${SESSIONS}?agentKey=${application.agentKey}`)
  expect(listed.body.data).toEqual([session])
  const fresh = await application.session()
  expect((await get(`${SESSIONS}/${fresh}`)).body.processedThroughSequence).toBeNull()
})

test('every session filter narrows the list, alone and together', async () => {
  const application = await createApplication()
  const at = (created_at: string) => ({ created_at })
  const plain = await application.session(at('2026-01-01T00:00:00.000001Z'))
  const ended = await application.session({ status: 'ended', ...at('2026-01-02T00:00:00Z') })
  const failed = await application.session({ processing_status: 'failed', ...at('2026-01-03T00:00:00Z') })
  const staging = await application.session({ environment: 'staging', ...at('2026-01-04T00:00:00Z') })
  const named = await application.session({
    external_session_id: 'chat 1/ä',
    status: 'ended',
    ...at('2026-01-05T00:00:00Z'),
  })
  const list = async (query: string) => ids(await get(`${SESSIONS}?agentKey=${application.agentKey}${query}`))
  expect(await list('')).toEqual([named, staging, failed, ended, plain])
  expect(await list('&status=ended')).toEqual([named, ended])
  expect(await list('&processingStatus=failed')).toEqual([failed])
  expect(await list('&environment=staging')).toEqual([staging])
  expect(await list('&outcome=unresolved')).toEqual([])
  await agents.sql`
    insert into insight_subject (id, organization_id, channel, session_id, application_id, occurred_at, state, outcome)
    select gen_random_uuid(), organization_id, 'conversation', id, application_id, created_at, 'analyzed', 'unresolved'
    from agent_session where id = any(${[plain, staging]}::uuid[])`
  expect(await list('&outcome=unresolved')).toEqual([staging, plain])
  expect(await list('&outcome=unresolved&since=2026-01-02T00:00:00Z')).toEqual([staging])
  expect(await list('&outcome=resolved')).toEqual([])
  expect(await list(`&externalSessionId=${encodeURIComponent('chat 1/ä')}`)).toEqual([named])
  expect(await list('&since=2026-01-03T00:00:00Z&until=2026-01-05T00:00:00Z')).toEqual([staging, failed])
  expect(await list('&until=2026-01-01T00:00:00.000001Z')).toEqual([])
  expect(await list('&since=2026-01-01T01:00:00.000001%2B01:00&until=2026-01-01T00:00:00.000002Z')).toEqual([
    plain,
  ])
  expect(await list('&status=ended&since=2026-01-05T00:00:00Z')).toEqual([named])
  expect(ids(await get(`${SESSIONS}?agentKey=nobody`))).toEqual([])
})

test('paging reaches every session once, even while newer ones arrive and where times are equal', async () => {
  const application = await createApplication()
  const old = new Set<string>()
  for (let index = 0; index < 23; index++) {
    const created_at = `2026-02-01T00:00:00.00000${Math.floor(index / 6)}Z`
    old.add(await application.session({ created_at }))
  }
  const seen = await readAll(agents, `${SESSIONS}?agentKey=${application.agentKey}&limit=5`, () =>
    application.session(),
  )
  expect(seen.map((item) => item.id)).toHaveLength(23)
  expect(new Set(seen.map((item) => item.id))).toEqual(old)
})

test('a session has its events page by page in the order of sequence', async () => {
  const application = await createApplication()
  const id = await application.session()
  for (const sequence of [7, 0, 3, 12, 5])
    await insertEvent(agents.sql, organizationId(), id, sequence, {
      created_at: '2026-01-02T03:04:05Z',
      updated_at: '2026-01-02T03:04:06Z',
      body: agents.sql.json({
        content: [{ text: 'hi' }],
        usage: { latencyMs: 0 },
        participantExternalId: 'p1',
      }),
    })
  const first = await get(`${SESSIONS}/${id}?limit=3`)
  const { data, next_cursor } = first.body.events
  expect(data.map((event: { sequence: number }) => event.sequence)).toEqual([0, 3, 5])
  expect(data[0]).toEqual({
    externalEventId: 'e0',
    sequence: 0,
    revision: 1,
    occurredAt: '2026-01-02T03:04:05.000Z',
    type: 'user_message',
    final: true,
    participantExternalId: 'p1',
    content: [{ text: 'hi' }],
    usage: { latencyMs: 0 },
    createdAt: '2026-01-02T03:04:05.000Z',
    updatedAt: '2026-01-02T03:04:06.000Z',
  })
  await insertEvent(agents.sql, organizationId(), id, 6)
  const second = await get(`${SESSIONS}/${id}?limit=3&cursor=${next_cursor}`)
  expect(second.body.events.data.map((event: { sequence: number }) => event.sequence)).toEqual([6, 7, 12])
  expect(second.body.events).toMatchObject({ has_more: false, next_cursor: null })
})

test('a page of large events ends early, and the cursors lead through all of them', async () => {
  const application = await createApplication()
  const id = await application.session()
  const sizes = [900_000, 900_000, 900_000, 10, 10, 3_000_000, 10]
  for (const [sequence, size] of sizes.entries())
    await insertEvent(agents.sql, organizationId(), id, sequence, {
      body: agents.sql.json({ content: 'x'.repeat(size) }),
    })
  const pages: number[][] = []
  let cursor = ''
  do {
    const { events } = (await get(`${SESSIONS}/${id}?limit=5${cursor}`)).body
    pages.push(events.data.map((event: { sequence: number }) => event.sequence))
    expect(events.has_more).toBe(events.next_cursor !== null)
    cursor = events.next_cursor === null ? '' : `&cursor=${events.next_cursor}`
  } while (cursor !== '')
  expect(pages).toEqual([[0, 1, 2], [3, 4, 5], [6]])
})

test('the revisions of an event are read oldest first, the newest one without replacedAt', async () => {
  const application = await createApplication()
  const id = await application.session()
  const eventId = 'm/1 ä?'
  await insertEvent(agents.sql, organizationId(), id, 1, {
    external_event_id: eventId,
    revision: 5,
    body: agents.sql.json({ content: 'new' }),
  })
  for (const revision of [1, 3]) {
    await agents.sql`
      insert into agent_event_revision ${agents.sql({
        organization_id: organizationId(),
        session_id: id,
        external_event_id: eventId,
        revision,
        final: false,
        occurred_at: '2026-01-02T03:04:05Z',
        body: agents.sql.json({ content: `old ${revision}` }),
        fingerprint: Buffer.alloc(32),
        settings_version: 1,
        created_at: '2026-01-02T03:04:05Z',
        replaced_at: '2026-01-02T03:04:06Z',
      })}`
  }
  const path = `${SESSIONS}/${id}/events/${encodeURIComponent(eventId)}/revisions`
  const { body } = await get(`${path}?limit=2`)
  expect(body.data).toEqual(
    [1, 3].map((revision) => ({
      revision,
      final: false,
      occurredAt: '2026-01-02T03:04:05.000Z',
      content: `old ${revision}`,
      createdAt: '2026-01-02T03:04:05.000Z',
      replacedAt: '2026-01-02T03:04:06.000Z',
    })),
  )
  const rest = await get(`${path}?limit=2&cursor=${body.next_cursor}`)
  expect(rest.body.data).toMatchObject([{ revision: 5, content: 'new', replacedAt: null }])
  expect(rest.body.has_more).toBe(false)
})

test.each(['e2', 'e1%00', '%ED%A0%80', '%', encodeURIComponent('\u0000')])(
  'the revisions of an unknown event %s are 404',
  async (event) => {
    const application = await createApplication()
    const id = await application.session()
    await insertEvent(agents.sql, organizationId(), id, 1)
    const answer = await get(`${SESSIONS}/${id}/events/${event}/revisions?limit=x`)
    expect(answer).toMatchObject({ status: 404, body: { code: 'agent_event_not_found' } })
  },
)

const badCursors = [
  'x',
  '',
  'a'.repeat(600),
  Buffer.from('[]').toString('base64url'),
  Buffer.from('["agent_sessions",1]').toString('base64url'),
  Buffer.from('["agent_sessions",-1,"00000000-0000-7000-8000-000000000000"]').toString('base64url'),
  Buffer.from('["agent_sessions",1e300,"00000000-0000-7000-8000-000000000000"]').toString('base64url'),
  Buffer.from('["agent_sessions",1,"x"]').toString('base64url'),
  Buffer.from('["signals",1,"00000000-0000-7000-8000-000000000000"]').toString('base64url'),
]
test.each([
  'limit=0',
  'limit=101',
  'limit=5.5',
  'limit=1e1',
  'limit=',
  'limit=5&limit=5',
  'agentKey=a&agentKey=b',
  'colour=red',
  'constructor=1',
  'status=closed',
  'processingStatus=done',
  'since=2026-02-30T00:00:00Z',
  'since=2026-01-01',
  'until=2026-01-01T00:00:00',
  'since=yesterday',
  'since=0001-01-01T00:00:00%2B10:00',
  'agentKey=%00',
  ...badCursors.map((cursor) => `cursor=${cursor}`),
])('the list of sessions refuses the query %s with 400', async (query) => {
  expect((await get(`${SESSIONS}?${query}`)).status).toBe(400)
})

test('an unknown session is 404 even with a bad query, a known one with a bad query is 400', async () => {
  const application = await createApplication()
  const id = await application.session()
  expect((await get(`${SESSIONS}/${newId()}?limit=x`)).status).toBe(404)
  for (const query of ['limit=x', 'limit=501', 'cursor=x', 'status=open'])
    expect((await get(`${SESSIONS}/${id}?${query}`)).status).toBe(400)
})
