/** When sessions began and ended: by when it was said, in any order of arrival, for lists and counts; not by when it arrived. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { sessionTimesChange } from '../../src/hear/agents/sessions/times.ts'
import { runDataChange } from '../../src/platform/db/data-change.ts'
import { type Agent, openAgent, userMessage } from '../support/agents.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

const SESSIONS = '/v3/rest/agent-conversations/sessions'
const COUNTS = '/v3/rest/insights/counts'
const at = (minute: number) => `2025-03-04T09:${String(minute).padStart(2, '0')}:00Z`
const shown = (minute: number) => at(minute).replace('Z', '.000Z')

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.stop())

const keyOf = ({ tenant }: Agent) => server.as({ apiKey: tenant.apiKey })
const sessionOf = async (agent: Agent, id: string) => (await keyOf(agent).get(`${SESSIONS}/${id}`)).body
const message = (sequence: number, minute: number, revision = 1) =>
  userMessage(sequence, { occurredAt: at(minute), revision })

test('a session begins and ends with the first and the last event, also with ones that come late', async () => {
  const agent = await openAgent(server)
  const { sessionId } = await agent.accept([message(5, 20), message(6, 22)])
  expect(await sessionOf(agent, sessionId)).toMatchObject({ startedAt: shown(20), endedAt: shown(22) })
  await agent.accept([message(7, 30)])
  await agent.accept([message(1, 10)])
  expect(await sessionOf(agent, sessionId)).toMatchObject({ startedAt: shown(10), endedAt: shown(30) })
})

test('a revision that moves the first or the last event moves the session', async () => {
  const agent = await openAgent(server)
  const { sessionId } = await agent.accept([message(1, 10), message(2, 20), message(3, 30)])
  await agent.accept([message(1, 15, 2), message(3, 25, 2)])
  expect(await sessionOf(agent, sessionId)).toMatchObject({ startedAt: shown(15), endedAt: shown(25) })
  await agent.accept([message(1, 5, 3), message(3, 45, 3)])
  expect(await sessionOf(agent, sessionId)).toMatchObject({ startedAt: shown(5), endedAt: shown(45) })
})

test('times differ in the length of their fraction', async () => {
  const agent = await openAgent(server)
  const said = (sequence: number, fraction: string) =>
    userMessage(sequence, { occurredAt: `2025-03-04T09:00:00${fraction}Z` })
  const { sessionId } = await agent.accept([said(1, '.25'), said(2, ''), said(3, '.3')])
  expect(await sessionOf(agent, sessionId)).toMatchObject({
    startedAt: '2025-03-04T09:00:00.000Z',
    endedAt: '2025-03-04T09:00:00.300Z',
  })
})

test('any order of events and revisions ends with the times of the newest revisions', async () => {
  const agent = await openAgent(server)
  let n = 0
  const sent = fc.record({ sequence: fc.nat(3), minute: fc.nat(59), alone: fc.boolean() })
  const property = fc.asyncProperty(fc.array(sent, { minLength: 1, maxLength: 8 }), async (all) => {
    const externalSessionId = `any-${n++}`
    const [revisions, present] = [new Map<number, number>(), new Map<number, number>()]
    let sessionId = ''
    let waiting: unknown[] = []
    for (const [place, { sequence, minute, alone }] of all.entries()) {
      const revision = (revisions.get(sequence) ?? 0) + 1
      revisions.set(sequence, revision)
      present.set(sequence, minute)
      waiting.push(message(sequence, minute, revision))
      if (!alone && place < all.length - 1) continue
      ;({ sessionId } = await agent.accept(waiting, { externalSessionId }))
      waiting = []
    }
    const minutes = [...present.values()]
    expect(await sessionOf(agent, sessionId)).toMatchObject({
      startedAt: shown(Math.min(...minutes)),
      endedAt: shown(Math.max(...minutes)),
    })
  })
  await fc.assert(property, { numRuns: 40 })
})

test('lists go by when sessions began, and createdAfter by their arrival', async () => {
  const agent = await openAgent(server)
  const before = new Date().toISOString()
  const open = async (externalSessionId: string, minute: number) =>
    (await agent.accept([message(1, minute)], { externalSessionId })).sessionId
  const [middle, newest, oldest] = [await open('m', 20), await open('n', 30), await open('o', 10)]
  const list = async (query: string) =>
    (await keyOf(agent).get(`${SESSIONS}?${query}`)).body.data.map(({ id }: { id: string }) => id)
  expect(await list('')).toEqual([newest, middle, oldest])
  expect(await list(`since=${at(20)}`)).toEqual([newest, middle])
  expect(await list(`until=${at(20)}`)).toEqual([oldest])
  expect(await list(`since=${before}`)).toEqual([])
  expect(await list(`createdAfter=${before}`)).toEqual([oldest, newest, middle])
  expect(await list(`createdBefore=${before}`)).toEqual([])
  expect(await list(`createdAfter=${before}&until=${at(30)}`)).toEqual([middle, oldest])
  expect(await list(`createdAfter=${before}&externalSessionId=m`)).toEqual([middle])
  for (const query of ['', `createdAfter=${before}`, `createdAfter=${before}&since=${at(0)}`]) {
    const first = (await keyOf(agent).get(`${SESSIONS}?${query}&limit=2`)).body
    const rest = (await keyOf(agent).get(`${SESSIONS}?${query}&limit=2&cursor=${first.next_cursor}`)).body
    const paged = [...first.data, ...rest.data].map(({ id }) => id)
    expect(paged).toEqual(await list(query))
  }
})

test('conversations of last year count on their days, and change nothing of today', async () => {
  const agent = await openAgent(server)
  const total = async (query: string) =>
    (await keyOf(agent).get(`${COUNTS}?metric=sessions&by=day&${query}`)).body.data
  const lastYear = 'since=2025-03-01T00:00:00Z&until=2025-04-01T00:00:00Z'
  await agent.accept([message(1, 10)])
  expect(await total('')).toEqual([])
  expect(await total(lastYear)).toEqual([{ day: '2025-03-04', count: 1 }])
  await agent.accept([userMessage(0, { occurredAt: '2025-03-02T23:00:00Z' })])
  expect(await total(lastYear)).toEqual([{ day: '2025-03-02', count: 1 }])
})

test('sessions of older versions get their times in the background, with what was found in them', async () => {
  const agent = await openAgent(server)
  const { sql } = server.database
  const { organizationId } = agent
  const { sessionId } = await agent.accept([message(1, 10), message(2, 20)])
  await sql`
    insert into insight_subject (id, organization_id, channel, session_id, application_id, occurred_at, state, outcome)
    values (gen_random_uuid(), ${organizationId}, 'conversation', ${sessionId}, ${agent.applicationId}, now(), 'analyzed', 'resolved')`
  await sql`update agent_session set started_at = null, ended_at = null where id = ${sessionId}`
  await agent.accept([message(3, 30)])
  const { startedAt, createdAt } = await sessionOf(agent, sessionId)
  expect(startedAt).toBe(createdAt)
  await sql`delete from data_change where name = 'session_times'`
  const options = { runner: crypto.randomUUID(), stopping: new AbortController().signal }
  expect(await runDataChange(sql, sessionTimesChange, options)).toBe('finished')
  expect(await sessionOf(agent, sessionId)).toMatchObject({ startedAt: shown(10), endedAt: shown(30) })
  const [subject] = await sql<{ at: Date }[]>`
    select occurred_at as at from insight_subject where session_id = ${sessionId}`
  expect(subject?.at.toISOString()).toBe(shown(10))
})
