/** Reading signals over HTTP: every filter, both orders, paging, answers to bad queries. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Agents, createApplicationOf, ids, readAll, startAgents } from '../support/agents-http.ts'

const SIGNALS = '/v3/rest/signals'

let agents: Agents
beforeAll(async () => {
  agents = await startAgents()
})
afterAll(() => agents?.stop())

const get = (path: string) => agents.call(agents.organization.key, 'GET', path)
const createApplication = (settings: object = {}) => createApplicationOf(agents, settings)

test('every signal filter narrows the list, alone and together', async () => {
  const application = await createApplication()
  const session = await application.session()
  const other = await application.session()
  const at = (created_at: string) => ({ created_at })
  const positive = await application.signal(session, { rating: 'positive', ...at('2026-01-01T00:00:00Z') })
  const negative = await application.signal(session, { rating: 'negative', ...at('2026-01-02T00:00:00Z') })
  const inferred = await application.signal(other, {
    source: 'qualitative_inference',
    kind: 'complaint',
    rating: 'negative',
    ...at('2026-01-03T00:00:00Z'),
  })
  const list = async (query: string) => ids(await get(`${SIGNALS}?agentKey=${application.agentKey}${query}`))
  expect(await list('')).toEqual([inferred, negative, positive])
  expect(await list('&source=explicit_feedback')).toEqual([negative, positive])
  expect(await list('&source=qualitative_inference')).toEqual([inferred])
  expect(await list('&rating=positive')).toEqual([positive])
  expect(await list('&rating=negative')).toEqual([inferred, negative])
  expect(await list('&kind=complaint')).toEqual([inferred])
  expect(await list(`&sessionId=${other.toUpperCase()}`)).toEqual([inferred])
  expect(await list('&createdAfter=2026-01-02T00:00:00Z')).toEqual([inferred, negative])
  expect(await list('&createdBefore=2026-01-02T00:00:00Z')).toEqual([positive])
  expect(await list(`&rating=negative&sessionId=${session}&source=explicit_feedback`)).toEqual([negative])
  expect(ids(await get(`${SIGNALS}?agentKey=nobody`))).toEqual([])
})

test('a signal names its session, its event, its target and its comment', async () => {
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
    channel: 'conversation',
    recordId: null,
    feedbackSourceId: null,
    recordingId: null,
    productArea: null,
    agentVersion: null,
    personId: null,
    agentKey: application.agentKey,
    sessionId,
    externalSessionId: 'chat-9',
    source: 'explicit_feedback',
    kind: 'message_feedback',
    rating: 'positive',
    labels: ['accurate'],
    comment: 'Thanks',
    confidence: null,
    evidence: null,
    analyzer: null,
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
  const newest = await readAll(agents, `${SIGNALS}?agentKey=${application.agentKey}&limit=2`, () =>
    application.signal(session, { sequence: 20 }),
  )
  expect(newest).toHaveLength(7)
  expect(new Set(newest.map((item) => item.id))).toEqual(all)
  const inOrder = await readAll(
    agents,
    `${SIGNALS}?sessionId=${session}&createdBefore=2026-02-02T00:00:00Z&limit=2`,
  )
  expect(inOrder.map((item) => item.sequence)).toEqual([1, 2, 2, 2, 5, 7, 9])
})

test('since and until bound the time of the event, createdAfter and createdBefore the arrival', async () => {
  const application = await createApplication()
  const session = await application.session()
  const signal = (occurred_at: string, created_at: string) =>
    application.signal(session, { occurred_at, created_at })
  // Arrived in the reverse of the order in which they occurred, at the ends of what a moment may be.
  const third = await signal('9999-12-31T23:59:59Z', '2026-03-01T00:00:00Z')
  const second = await signal('2026-01-02T00:00:00Z', '2026-03-02T00:00:00Z')
  const first = await signal('0001-01-01T00:00:00Z', '2026-03-03T00:00:00Z')
  const list = async (query: string) => ids(await get(`${SIGNALS}?agentKey=${application.agentKey}${query}`))
  expect(await list('')).toEqual([first, second, third])
  expect(await list('&since=2026-01-02T00:00:00Z')).toEqual([third, second])
  expect(await list('&until=2026-01-02T00:00:00Z')).toEqual([first])
  expect(await list('&createdAfter=2026-03-02T00:00:00Z')).toEqual([first, second])
  expect(await list('&createdBefore=2026-03-03T00:00:00Z&since=2026-01-02T00:00:00Z')).toEqual([
    second,
    third,
  ])
  const all = `${SIGNALS}?agentKey=${application.agentKey}&since=0001-01-01T00:00:00Z&limit=1`
  expect((await readAll(agents, all)).map(({ id }) => id)).toEqual([third, second, first])
})

test('a cursor of signals by arrival is refused in a list by time of the event', async () => {
  const application = await createApplication()
  const session = await application.session()
  await application.signal(session)
  await application.signal(session)
  const { body } = await get(`${SIGNALS}?agentKey=${application.agentKey}&limit=1`)
  const query = `since=2000-01-01T00:00:00Z&cursor=${body.next_cursor}`
  expect((await get(`${SIGNALS}?${query}`)).status).toBe(400)
})

test.each([
  'source=explicit',
  'rating=neutral',
  'sessionId=x',
  'limit=101',
  'status=open',
  'kind=praise&kind=complaint',
  'kind=nope',
])('the list of signals refuses the query %s with 400', async (query) => {
  expect((await get(`${SIGNALS}?${query}`)).status).toBe(400)
})

test('a cursor of signals by time is refused within a session', async () => {
  const application = await createApplication()
  const session = await application.session()
  await application.signal(session)
  await application.signal(session)
  const { body } = await get(`${SIGNALS}?agentKey=${application.agentKey}&limit=1`)
  expect((await get(`${SIGNALS}?sessionId=${session}&cursor=${body.next_cursor}`)).status).toBe(400)
})
