/** What was read: `analysis` of sessions, feedback records and recordings, and `coverage` of counts. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { runDataChange } from '../../src/platform/db/data-change.ts'
import { newId } from '../../src/platform/ids.ts'
import { COVERAGE_CHANGES } from '../../src/understand/counts/backfill.ts'
import { type Agent, openAgent, userMessage } from '../support/agents.ts'
import { createRecord, createSource } from '../support/feedback.ts'
import { createFolder, createRecording } from '../support/recordings.ts'
import { type Client, startTestServer, type TestServer } from '../support/server.ts'

const SESSIONS = '/v3/rest/agent-conversations/sessions'
const COUNTS = '/v3/rest/insights/counts'
const AT = '2026-03-04T09:00:00Z'
const PERIOD = 'since=2026-03-01T00:00:00Z&until=2026-04-01T00:00:00Z'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.stop())

const clientOf = ({ tenant }: Agent) => server.as({ apiKey: tenant.apiKey })
const coverageOf = async (client: Client, query: string) =>
  (await client.get(`${COUNTS}?${PERIOD}&by=day&${query}`)).body.coverage

/** What an analysis stores about a session, a record or a recording. */
async function subject(
  organizationId: string,
  of: { session_id: string } | { feedback_record_id: number } | { recording_id: string },
  values: Readonly<Record<string, unknown>>,
) {
  const channel = 'session_id' in of ? 'conversation' : 'recording_id' in of ? 'recording' : 'feedback'
  const row = {
    ...{ id: newId(), organization_id: organizationId, channel, occurred_at: AT },
    ...{ analyzer_name: 'builtin', analyzer_version: '9' },
    ...of,
    ...values,
  }
  await server.database.sql`insert into insight_subject ${server.database.sql(row)}`
  return row.id
}

describe('a session', () => {
  test.each([
    ['analyzed', { state: 'read', reason: null }],
    ['not_supported', { state: 'not_read', reason: 'language' }],
    ['no_words', { state: 'not_read', reason: 'no_words' }],
    ['failed', { state: 'not_read', reason: null }],
    ['pending', { state: 'waiting', reason: null }],
  ])('of which %s is stored is %j', async (state, expected) => {
    const agent = await openAgent(server)
    const { sessionId } = await agent.accept([userMessage(1, { occurredAt: AT })])
    await subject(
      agent.organizationId,
      { session_id: sessionId },
      { state, application_id: agent.applicationId },
    )
    const { body } = await clientOf(agent).get(`${SESSIONS}/${sessionId}`)
    expect(body.analysis).toEqual({ ...expected, analyzer: 'builtin', version: '9' })
    const listed = await clientOf(agent).get(SESSIONS)
    expect(listed.body.data[0].analysis).toEqual(body.analysis)
    const counted = { read: 0, waiting: 0, notRead: 0 }
    counted[expected.state === 'not_read' ? 'notRead' : (expected.state as 'read' | 'waiting')] = 1
    expect(await coverageOf(clientOf(agent), 'metric=sessions')).toEqual(counted)
    expect(await coverageOf(clientOf(agent), 'metric=signals')).toEqual(counted)
    expect(await coverageOf(clientOf(agent), 'metric=feedback')).toEqual({ read: 0, waiting: 0, notRead: 0 })
  })

  test('that was never analysed waits, and nobody has read it', async () => {
    const agent = await openAgent(server)
    const { sessionId } = await agent.accept([userMessage(1, { occurredAt: AT })])
    const { body } = await clientOf(agent).get(`${SESSIONS}/${sessionId}`)
    expect(body.analysis).toEqual({ state: 'waiting', reason: null, analyzer: null, version: null })
    expect(await coverageOf(clientOf(agent), 'metric=sessions')).toEqual({ read: 0, waiting: 1, notRead: 0 })
  })

  test('whose content is not stored, or whose responses wait for credits, is not read until it is', async () => {
    const agent = await openAgent(server, { settings: { captureContent: false } })
    const { sessionId } = await agent.accept([userMessage(1, { occurredAt: AT })])
    const { sql } = server.database
    const read = async () => (await clientOf(agent).get(`${SESSIONS}/${sessionId}`)).body.analysis
    const counted = () => coverageOf(clientOf(agent), `metric=sessions&agentKey=${agent.agentKey}`)
    expect(await read()).toMatchObject({ state: 'not_read', reason: 'capture_disabled' })
    expect(await counted()).toEqual({ read: 0, waiting: 0, notRead: 1 })
    await subject(
      agent.organizationId,
      { session_id: sessionId },
      { state: 'analyzed', application_id: agent.applicationId },
    )
    expect(await counted()).toEqual({ read: 0, waiting: 0, notRead: 1 })
    await sql`update agent_session set processing_status = 'billing_blocked' where id = ${sessionId}`
    expect(await read()).toMatchObject({ state: 'not_read', reason: 'billing' })
    expect(await counted()).toEqual({ read: 0, waiting: 0, notRead: 1 })
    await sql`update agent_session set processing_status = 'completed' where id = ${sessionId}`
    expect(await read()).toMatchObject({ state: 'read', reason: null })
    expect(await counted()).toEqual({ read: 1, waiting: 0, notRead: 0 })
  })

  test('has the basis of its outcome', async () => {
    const agent = await openAgent(server)
    const { sessionId } = await agent.accept([userMessage(1, { occurredAt: AT })])
    const values = { state: 'analyzed', outcome: 'unresolved', outcome_basis: 'stated' }
    await subject(agent.organizationId, { session_id: sessionId }, values)
    const { body } = await clientOf(agent).get(`${SESSIONS}/${sessionId}`)
    expect(body).toMatchObject({ outcome: 'unresolved', outcomeBasis: 'stated' })
  })
})

test('records and recordings say whether they were read, alone and in lists', async () => {
  const agent = await openAgent(server)
  const { organizationId } = agent
  const key = clientOf(agent)
  const source = await createSource(key, 'Survey')
  const { id: record } = await createRecord(key, source, { display_ts: AT })
  const records = `/v3/rest/feedback-sources/${source}/records`
  const waiting = { state: 'waiting', reason: null, analyzer: null, version: null }
  expect((await key.get(`${records}/${record}`)).body.analysis).toEqual(waiting)
  await subject(organizationId, { feedback_record_id: Number(record) }, { state: 'not_supported' })
  const language = { state: 'not_read', reason: 'language', analyzer: 'builtin', version: '9' }
  expect((await key.get(`${records}/${record}`)).body.analysis).toEqual(language)
  expect((await key.get(records)).body.data[0].analysis).toEqual(language)
  const { id } = await createRecording(key, { startedAt: AT })
  const recordings = '/v3/rest/recordings'
  const noWords = { state: 'not_read', reason: 'no_words', analyzer: null, version: null }
  expect((await key.get(`${recordings}/${id}`)).body.analysis).toEqual(noWords)
  expect((await key.get(recordings)).body.data[0].analysis).toEqual(noWords)
  expect(await coverageOf(key, 'metric=signals')).toEqual({ read: 0, waiting: 0, notRead: 2 })
  await server.database.sql`update recording set transcript_status = 'completed' where id = ${id}`
  expect((await key.get(`${recordings}/${id}`)).body.analysis).toEqual(waiting)
  await subject(organizationId, { recording_id: id }, { state: 'analyzed' })
  expect(await coverageOf(key, 'metric=signals')).toEqual({ read: 1, waiting: 0, notRead: 1 })
  expect(await coverageOf(key, 'metric=signals&channel=recording')).toEqual({
    read: 1,
    waiting: 0,
    notRead: 0,
  })
  await key.delete(`${recordings}/${id}`)
  expect(await coverageOf(key, 'metric=outcomes')).toEqual({ read: 0, waiting: 0, notRead: 0 })
})

test('recordings in private folders of others are in no coverage', async () => {
  const agent = await openAgent(server)
  const [ada, bob] = await Promise.all(
    [1, 2].map(async () =>
      server.as({ userToken: (await server.createUser(agent.organizationId)).userToken }),
    ),
  )
  const folderIds = [await createFolder(bob!, false)]
  const { id } = await createRecording(bob!, { startedAt: AT, folderIds })
  expect(await coverageOf(ada!, 'metric=recordings')).toEqual({ read: 0, waiting: 0, notRead: 0 })
  expect(await coverageOf(bob!, 'metric=recordings')).toEqual({ read: 0, waiting: 0, notRead: 1 })
  await server.database.sql`update recording set transcript_status = 'completed' where id = ${id}`
  await subject(agent.organizationId, { recording_id: id }, { state: 'analyzed' })
  expect(await coverageOf(ada!, 'metric=recordings')).toEqual({ read: 0, waiting: 0, notRead: 0 })
  expect(await coverageOf(bob!, 'metric=recordings')).toEqual({ read: 1, waiting: 0, notRead: 0 })
})

test('what an older version stored is covered in the background', async () => {
  const agent = await openAgent(server)
  const { sql } = server.database
  const ids: string[] = []
  for (const externalSessionId of ['read', 'blocked', 'both'])
    ids.push((await agent.accept([userMessage(1, { occurredAt: AT })], { externalSessionId })).sessionId)
  const [read, blocked, both] = ids as [string, string, string]
  const values = { state: 'analyzed', application_id: agent.applicationId }
  for (const session_id of [read, both]) await subject(agent.organizationId, { session_id }, values)
  await sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`
    await tx`update agent_session set processing_status = 'billing_blocked' where id in (${blocked}, ${both})`
    await tx`update insight_subject set coverage = null where organization_id = ${agent.organizationId}`
    await tx`delete from insight_count_change where organization_id = ${agent.organizationId} and metric = 'coverage'`
    await tx`delete from data_change where name like 'coverage_%'`
  })
  const counted = async () => (await clientOf(agent).get(`${COUNTS}?${PERIOD}&by=day&metric=sessions`)).body
  expect(await counted()).toMatchObject({ complete: false, coverage: { read: 0, waiting: 3, notRead: 0 } })
  const options = { runner: crypto.randomUUID(), stopping: new AbortController().signal }
  for (const change of COVERAGE_CHANGES) expect(await runDataChange(sql, change, options)).toBe('finished')
  expect(await counted()).toMatchObject({ complete: true, coverage: { read: 1, waiting: 0, notRead: 2 } })
})
