/** Reading sessions, events, revisions and signals over HTTP: every filter, paging, conversation access, deletion. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../src/platform/ids.ts'
import { type Agents, insertEvent, insertSession, insertSignal, startAgents } from '../support/agents-http.ts'
import type { Credential } from '../support/server.ts'

const SESSIONS = '/v3/rest/agent-conversations/sessions'
const SIGNALS = '/v3/rest/signals'

let agents: Agents
beforeAll(async () => {
  agents = await startAgents()
})
afterAll(() => agents?.stop())

const organizationId = () => agents.organization.id
const get = (path: string, caller: Credential = agents.organization.key) => agents.call(caller, 'GET', path)
const ids = (answer: { body: { data: { id: string }[] } }) => answer.body.data.map((item) => item.id)

/** An application of its own per test keeps tests apart: `agentKey` filters its rows. */
async function createApplication(settings: object = {}) {
  const application = await agents.applications.create(organizationId(), {
    agentKey: newId(),
    name: 'Test',
    settings,
  })
  return {
    ...application,
    session: (values?: Readonly<Record<string, unknown>>) =>
      insertSession(agents.sql, organizationId(), application.id, values),
    signal: (sessionId: string, values?: Readonly<Record<string, unknown>>) =>
      insertSignal(
        agents.sql,
        { organizationId: organizationId(), applicationId: application.id, sessionId },
        values,
      ),
  }
}

/** Reads a list to its end; `between` runs after each page. */
async function readAll(path: string, between: () => Promise<unknown> = async () => {}) {
  const items: { id: string; sequence: number }[] = []
  let cursor = ''
  for (;;) {
    const { body } = await get(`${path}${cursor}`)
    items.push(...body.data)
    expect(body.has_more).toBe(body.next_cursor !== null)
    if (!body.has_more) return items
    cursor = `&cursor=${body.next_cursor}`
    await between()
  }
}

test('a session has its identity, state, context and progress', async () => {
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
    processedThroughSequence: 4,
    gapsPermanentThrough: 3,
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
  expect(await list(`&externalSessionId=${encodeURIComponent('chat 1/ä')}`)).toEqual([named])
  expect(await list('&since=2026-01-03T00:00:00Z&until=2026-01-05T00:00:00Z')).toEqual([staging, failed])
  expect(await list('&until=2026-01-01T00:00:00.000001Z')).toEqual([])
  expect(await list('&since=2026-01-01T01:00:00.000001%2B01:00&until=2026-01-01T00:00:00.000002Z')).toEqual([
    plain,
  ])
  expect(await list('&status=ended&since=2026-01-05T00:00:00Z')).toEqual([named])
  expect(ids(await get(`${SESSIONS}?agentKey=nobody`))).toEqual([])
})

test('paging reaches every session once, while newer ones arrive, also where moments are equal', async () => {
  const application = await createApplication()
  const old = new Set<string>()
  for (let index = 0; index < 23; index++) {
    const created_at = `2026-02-01T00:00:00.00000${Math.floor(index / 6)}Z`
    old.add(await application.session({ created_at }))
  }
  const seen = await readAll(`${SESSIONS}?agentKey=${application.agentKey}&limit=5`, () =>
    application.session(),
  )
  expect(seen.map((item) => item.id)).toHaveLength(23)
  expect(new Set(seen.map((item) => item.id))).toEqual(old)
})

test('a session carries its events page by page in the order of sequence', async () => {
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

test('every signal filter narrows the list, alone and together', async () => {
  const application = await createApplication()
  const session = await application.session()
  const other = await application.session()
  const at = (created_at: string) => ({ created_at })
  const positive = await application.signal(session, { rating: 'positive', ...at('2026-01-01T00:00:00Z') })
  const negative = await application.signal(session, { rating: 'negative', ...at('2026-01-02T00:00:00Z') })
  const inferred = await application.signal(other, {
    source: 'qualitative_inference',
    kind: 'sentiment',
    rating: 'negative',
    ...at('2026-01-03T00:00:00Z'),
  })
  const list = async (query: string) => ids(await get(`${SIGNALS}?agentKey=${application.agentKey}${query}`))
  expect(await list('')).toEqual([inferred, negative, positive])
  expect(await list('&source=explicit_feedback')).toEqual([negative, positive])
  expect(await list('&source=qualitative_inference')).toEqual([inferred])
  expect(await list('&rating=positive')).toEqual([positive])
  expect(await list('&rating=negative')).toEqual([inferred, negative])
  expect(await list('&kind=sentiment')).toEqual([inferred])
  expect(await list(`&sessionId=${other.toUpperCase()}`)).toEqual([inferred])
  expect(await list('&since=2026-01-02T00:00:00Z')).toEqual([inferred, negative])
  expect(await list('&until=2026-01-02T00:00:00Z')).toEqual([positive])
  expect(await list(`&rating=negative&sessionId=${session}&source=explicit_feedback`)).toEqual([negative])
  expect(ids(await get(`${SIGNALS}?agentKey=nobody`))).toEqual([])
})

test('a signal names its session, its event, its target and what was said', async () => {
  const application = await createApplication()
  const sessionId = await application.session({ external_session_id: 'chat-9' })
  const id = await application.signal(sessionId, {
    rating: 'positive',
    labels: agents.sql.json(['accurate']),
    comment: 'Thanks',
    external_event_id: 'f1',
    target_event_external_id: 'm2',
    sequence: 3,
    revision: 2,
    participant_external_id: 'p1',
    created_at: '2026-01-02T03:04:06Z',
    updated_at: '2026-01-02T03:04:07Z',
  })
  const { body } = await get(`${SIGNALS}/${id}`)
  expect(body).toEqual({
    id,
    agentKey: application.agentKey,
    sessionId,
    externalSessionId: 'chat-9',
    source: 'explicit_feedback',
    kind: 'feedback',
    rating: 'positive',
    labels: ['accurate'],
    comment: 'Thanks',
    externalEventId: 'f1',
    targetEventExternalId: 'm2',
    sequence: 3,
    revision: 2,
    participantExternalId: 'p1',
    occurredAt: '2026-01-02T03:04:05.000Z',
    createdAt: '2026-01-02T03:04:06.000Z',
    updatedAt: '2026-01-02T03:04:07.000Z',
  })
})

test('signals are paged newest first, and in the order of sequence within a session', async () => {
  const application = await createApplication()
  const session = await application.session()
  const all = new Set<string>()
  for (const sequence of [9, 2, 2, 5, 1, 7, 2])
    all.add(await application.signal(session, { sequence, created_at: '2026-02-01T00:00:00.000001Z' }))
  const newest = await readAll(`${SIGNALS}?agentKey=${application.agentKey}&limit=2`, () =>
    application.signal(session, { sequence: 20 }),
  )
  expect(newest).toHaveLength(7)
  expect(new Set(newest.map((item) => item.id))).toEqual(all)
  const inOrder = await readAll(`${SIGNALS}?sessionId=${session}&until=2026-02-02T00:00:00Z&limit=2`)
  expect(inOrder.map((item) => item.sequence)).toEqual([1, 2, 2, 2, 5, 7, 9])
})

test('restricted conversation access: listed users and the organization key read, others find nothing', async () => {
  const { ada, bob, key } = agents.organization
  const application = await createApplication({
    conversationAccess: { type: 'restricted', userIds: [ada.id] },
  })
  const id = await application.session()
  await insertEvent(agents.sql, organizationId(), id, 1)
  const signal = await application.signal(id)
  const paths = [`${SESSIONS}/${id}`, `${SESSIONS}/${id}/events/e1/revisions`, `${SIGNALS}/${signal}`]
  const lists = [
    `${SESSIONS}?agentKey=${application.agentKey}`,
    `${SIGNALS}?sessionId=${id}`,
    `${SIGNALS}?agentKey=${application.agentKey}`,
  ]
  const may = async (caller: Credential, yes: boolean) => {
    for (const path of paths) expect((await get(path, caller)).status).toBe(yes ? 200 : 404)
    for (const path of lists) expect(ids(await get(path, caller))).toHaveLength(yes ? 1 : 0)
  }
  await may(key, true)
  await may(ada.caller, true)
  await may(bob.caller, false)
  expect((await agents.call(bob.caller, 'DELETE', `${SESSIONS}/${id}`)).status).toBe(404)
  // The access in force now counts, not the one under which the session was stored.
  await agents.applications.update(organizationId(), application.id, {
    settings: { conversationAccess: { type: 'restricted', userIds: [bob.id] } },
  })
  await may(ada.caller, false)
  await may(bob.caller, true)
  await agents.applications.update(organizationId(), application.id, {
    settings: { conversationAccess: { type: 'workspace' } },
  })
  await may(ada.caller, true)
})

test('deleting a session removes all of it but the ledger, and only it', async () => {
  const application = await createApplication()
  const [gone, kept] = [await application.session(), await application.session()]
  for (const id of [gone, kept]) {
    await insertEvent(agents.sql, organizationId(), id, 1)
    await application.signal(id)
    await agents.sql`
      insert into agent_usage (organization_id, application_id, session_id, external_event_id, unit)
      values (${organizationId()}, ${application.id}, ${id}, 'e1', 'agent_response_processed')`
    await agents.sql`insert into actor (key) values (${`session:${id}`})`
  }
  const deletion = () => agents.call(agents.organization.ada.caller, 'DELETE', `${SESSIONS}/${gone}`)
  const answers = await Promise.all([deletion(), deletion(), deletion()])
  expect(answers.map((answer) => answer.status).sort()).toEqual([204, 404, 404])
  expect(answers.find((answer) => answer.status === 204)?.body).toBeNull()
  const count = async (id: string) => {
    const [row] = await agents.sql`
      select
        (select count(*)::int from agent_session where id = ${id}) as sessions,
        (select count(*)::int from agent_event where session_id = ${id}) as events,
        (select count(*)::int from agent_signal where session_id = ${id}) as signals,
        (select count(*)::int from actor where key = ${`session:${id}`}) as actors,
        (select count(*)::int from agent_usage where session_id = ${id}) as usage`
    return { ...row }
  }
  expect(await count(gone)).toEqual({ sessions: 0, events: 0, signals: 0, actors: 0, usage: 1 })
  expect(await count(kept)).toEqual({ sessions: 1, events: 1, signals: 1, actors: 1, usage: 1 })
})

test('deleting a session waits for whoever has locked it', async () => {
  const application = await createApplication()
  const id = await application.session()
  const locked = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  const holder = agents.sql.begin(async (tx) => {
    await tx`select id from agent_session where id = ${id} for update`
    locked.resolve()
    await release.promise
    await insertEvent(agents.sql, organizationId(), id, 1)
  })
  await locked.promise
  const deletion = agents.call(agents.organization.key, 'DELETE', `${SESSIONS}/${id}`)
  for (;;) {
    const waiting = await agents.sql`
      select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    if (waiting.length > 0) break
  }
  release.resolve()
  await holder
  expect((await deletion).status).toBe(204)
  expect(await agents.sql`select 1 from agent_event where session_id = ${id}`).toHaveLength(0)
})

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

test.each(['source=explicit', 'rating=neutral', 'sessionId=x', 'limit=101', 'status=open', 'kind=a&kind=b'])(
  'the list of signals refuses the query %s with 400',
  async (query) => {
    expect((await get(`${SIGNALS}?${query}`)).status).toBe(400)
  },
)

test('a cursor of signals by time is refused within a session', async () => {
  const application = await createApplication()
  const session = await application.session()
  await application.signal(session)
  await application.signal(session)
  const { body } = await get(`${SIGNALS}?agentKey=${application.agentKey}&limit=1`)
  expect((await get(`${SIGNALS}?sessionId=${session}&cursor=${body.next_cursor}`)).status).toBe(400)
})

test('an unknown session is 404 before its query is judged, a known one with a bad query is 400', async () => {
  const application = await createApplication()
  const id = await application.session()
  expect((await get(`${SESSIONS}/${newId()}?limit=x`)).status).toBe(404)
  for (const query of ['limit=x', 'limit=501', 'cursor=x', 'status=open'])
    expect((await get(`${SESSIONS}/${id}?${query}`)).status).toBe(400)
})
