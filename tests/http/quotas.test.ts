/** Quotas of storage: refused beyond them, exact under concurrency, and free again after deletions. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { QUOTA_CHANGES } from '../../src/access/quotas/backfill.ts'
import { foldUsage } from '../../src/access/quotas/fold.ts'
import { nearQuotas, quotasOf, setQuotas } from '../../src/access/quotas/service.ts'
import { loadConfig } from '../../src/app/config.ts'
import { runDataChange } from '../../src/platform/db/data-change.ts'
import { newId } from '../../src/platform/ids.ts'
import { type Agent, assistantMessage, openAgent, userMessage } from '../support/agents.ts'
import { RECORDINGS } from '../support/recordings.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

setDefaultTimeout(300_000)

const EVENTS = 10
const GB = 1_000_000_000
const never = new AbortController().signal

let server: TestServer
/** A second process on the same database. */
let second: TestServer
beforeAll(async () => {
  const env = { QUOTA_EVENTS: String(EVENTS), QUOTA_MEDIA_GB: '1' }
  server = await startTestServer({ env })
  second = await startTestServer({ env, beside: server })
})
afterAll(async () => {
  await second.stop()
  await server.stop()
})

const usesOf = (organizationId: string) => quotasOf(server.database.sql, server.deps.config, organizationId)
const eventsOf = async (organizationId: string) => (await usesOf(organizationId)).events.used
const mediaOf = async (organizationId: string) => (await usesOf(organizationId)).mediaBytes.used

/** Events `from` up to `from + count`, without the last. */
const messages = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) =>
    (from + index) % 2 === 1 ? userMessage(from + index) : assistantMessage(from + index),
  )

const own = (organizationId: string, change: { media?: number | null; events?: number | null }) =>
  setQuotas(
    server.database.sql,
    organizationId,
    { media: change.media, events: change.events },
    async () => {},
  )

describe('events of conversations', () => {
  test('up to the quota are stored; one more is 507 and leaves nothing, and others are not affected', async () => {
    const [agent, other] = [await openAgent(server), await openAgent(server)]
    await agent.accept(messages(1, EVENTS))
    const refused = await agent.send(messages(EVENTS + 1, 1))
    expect(refused).toMatchObject({ status: 507, body: { code: 'quota_exceeded' } })
    expect(refused.headers.get('retry-after')).toBeNull()
    expect(await eventsOf(agent.organizationId)).toBe(EVENTS)
    await other.accept(messages(1, 1))
    const counted = await server.deps.metrics.registry.getSingleMetricAsString('earshot_quota_refused_total')
    expect(counted).toContain('quota="events"')
  })

  test('requests at once do not pass it together', async () => {
    const agent = await openAgent(server)
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        agent.send(messages(1, 2), { externalSessionId: `session ${index}` }),
      ),
    )
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(EVENTS / 2)
    expect(statuses.filter((status) => status === 507)).toHaveLength(30 - EVENTS / 2)
    expect(await eventsOf(agent.organizationId)).toBe(EVENTS)
  })

  test('a deletion makes room at once, and the count follows folds', async () => {
    const { sql } = server.database
    const agent = await openAgent(server)
    const { sessionId } = await agent.accept(messages(1, 6), { externalSessionId: 'one' })
    await agent.accept(messages(1, 4), { externalSessionId: 'two' })
    await foldUsage(sql, never)
    expect(await eventsOf(agent.organizationId)).toBe(EVENTS)
    expect((await agent.send(messages(5, 1), { externalSessionId: 'two' })).status).toBe(507)
    const path = `/v3/rest/agent-conversations/sessions/${sessionId}`
    expect((await server.as(agent.tenant).send('DELETE', path)).status).toBe(204)
    expect(await eventsOf(agent.organizationId)).toBe(4)
    await agent.accept(messages(5, 6), { externalSessionId: 'two' })
    await foldUsage(sql, never)
    expect(await eventsOf(agent.organizationId)).toBe(EVENTS)
  })

  test('an own figure replaces that of the settings, and none lifts it', async () => {
    const agent = await openAgent(server)
    await own(agent.organizationId, { events: 2 })
    await agent.accept(messages(1, 2))
    expect((await agent.send(messages(3, 1))).status).toBe(507)
    await own(agent.organizationId, { events: -1 })
    await agent.accept(messages(3, 2 * EVENTS))
    await own(agent.organizationId, { events: null })
    expect((await usesOf(agent.organizationId)).events).toEqual({ used: 2 + 2 * EVENTS, limit: EVENTS })
  })

  test('traces are 507 while the quota is full, so exporters drop them', async () => {
    const agent = await openAgent(server)
    await own(agent.organizationId, { events: 0 })
    const answer = await fetch(`${server.baseUrl}/v1/traces`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-service-agent-key': agent.agentSecret },
      body: JSON.stringify({ resourceSpans: [] }),
    })
    expect(answer.status).toBe(507)
    expect(await answer.text()).toContain('quota_exceeded')
  })

  test('from before the counts are counted once, and leave the count when they are deleted', async () => {
    const { sql } = server.database
    const agent = await openAgent(server)
    await own(agent.organizationId, { events: -1 })
    const kept = await agent.accept(messages(1, 3), { externalSessionId: 'kept' })
    const early = await agent.accept(messages(1, 4), { externalSessionId: 'deleted before' })
    const late = await agent.accept(messages(1, 5), { externalSessionId: 'deleted after' })
    // As an older version has left them.
    await sql`delete from usage_change where organization_id = ${agent.organizationId}`
    await sql`delete from usage_count where organization_id = ${agent.organizationId}`
    await sql`update agent_event set counted = null where organization_id = ${agent.organizationId}`
    await sql`update agent_session set events_counted = null where organization_id = ${agent.organizationId}`
    const remove = ({ sessionId }: { readonly sessionId: string }) =>
      server.as(agent.tenant).send('DELETE', `/v3/rest/agent-conversations/sessions/${sessionId}`)
    await remove(early)
    await agent.accept(messages(4, 2), { externalSessionId: 'kept' })
    expect(await eventsOf(agent.organizationId)).toBe(2)
    await runChanges()
    expect(await eventsOf(agent.organizationId)).toBe(10)
    await remove(late)
    expect(await eventsOf(agent.organizationId)).toBe(5)
    await remove(kept)
    expect(await eventsOf(agent.organizationId)).toBe(0)
  })
})

async function runChanges(): Promise<void> {
  const { sql } = server.database
  for (const change of QUOTA_CHANGES) {
    await sql`delete from data_change where name = ${change.name}`
    expect(await runDataChange(sql, change, { runner: newId(), stopping: never })).toBe('finished')
  }
}

describe('media', () => {
  const recordingOf = async (agent: Agent) =>
    (await server.as(agent.tenant).post(RECORDINGS, { displayName: 'Call' })).body.id as string

  const upload = async (agent: Agent, fileSize: number, at = server) =>
    at
      .as(agent.tenant)
      .post(`${RECORDINGS}/${await recordingOf(agent)}/uploads`, { fileName: 'call.wav', fileSize })

  test('an upload takes its size when it begins; cancelled or deleted, it gives it back', async () => {
    const agent = await openAgent(server)
    const first = await upload(agent, 0.6 * GB)
    expect(first.status).toBe(201)
    expect(await mediaOf(agent.organizationId)).toBe(0.6 * GB)
    const refused = await upload(agent, 0.5 * GB)
    expect(refused).toMatchObject({ status: 507, body: { code: 'quota_exceeded' } })
    await upload(agent, 0.4 * GB)
    expect(await mediaOf(agent.organizationId)).toBe(GB)
    const { recordingId, uploadId } = first.body
    const path = `${RECORDINGS}/${recordingId}/uploads/${uploadId}`
    expect((await server.as(agent.tenant).send('DELETE', path)).status).toBeLessThan(300)
    expect(await mediaOf(agent.organizationId)).toBe(0.4 * GB)
    const [row] = await server.database.sql`
      select id from recording where organization_id = ${agent.organizationId} and id <> ${recordingId} order by id desc limit 1`
    await server.as(agent.tenant).send('DELETE', `${RECORDINGS}/${row?.id}`)
    expect(await mediaOf(agent.organizationId)).toBe(0)
  })

  test('uploads at once, through two processes, do not pass it together', async () => {
    const agent = await openAgent(server)
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, index) => upload(agent, 0.3 * GB, index % 2 === 0 ? server : second)),
    )
    const statuses = answers.map(({ status }) => status).toSorted()
    expect(statuses).toEqual([201, 201, 201, ...Array(9).fill(507)])
    expect(await mediaOf(agent.organizationId)).toBeCloseTo(0.9 * GB, 0)
  })

  test('from before the counts are counted once', async () => {
    const { sql } = server.database
    const agent = await openAgent(server)
    const { body } = await upload(agent, 1_000)
    await sql`
      update recording
      set asset_status = 'completed', asset_object_key = ${newId()}, asset_file_size = 500, asset_source_bytes = 70
      where id = ${body.recordingId}`
    expect(await mediaOf(agent.organizationId)).toBe(1_570)
    await sql`delete from usage_change where organization_id = ${agent.organizationId}`
    await sql`alter table recording disable trigger count_media_changed`
    await sql`alter table upload disable trigger count_media_changed`
    await sql`update recording set media_counted = null where organization_id = ${agent.organizationId}`
    await sql`update upload set media_counted = null where organization_id = ${agent.organizationId}`
    await sql`alter table recording enable trigger count_media_changed`
    await sql`alter table upload enable trigger count_media_changed`
    await runChanges()
    await runChanges()
    expect(await mediaOf(agent.organizationId)).toBe(1_570)
  })

  test('an organization that is near or beyond a quota is named', async () => {
    const agent = await openAgent(server)
    await own(agent.organizationId, { media: 1_000, events: 10 })
    await upload(agent, 790)
    const near = async () =>
      (await nearQuotas(server.database.sql, loadConfig({}))).filter(
        ({ organizationId }) => organizationId === agent.organizationId,
      )
    expect(await near()).toEqual([])
    await upload(agent, 10)
    expect(await near()).toMatchObject([{ metric: 'media_bytes', used: 800, limit: 1_000 }])
  })
})
