/** What the stream tells, and whom: types and ids of events, access rules that hold for each event, and where a stream begins. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { MOST_STREAMS } from '../../src/tell/event-stream/service.ts'
import { QUICK } from '../support/actors.ts'
import { assistantMessage, feedbackOn, openAgent, userMessage } from '../support/agents.ts'
import { openStream, STREAM, type StreamClient } from '../support/event-stream.ts'
import { eventually } from '../support/eventually.ts'
import { createRecord, createSource } from '../support/feedback.ts'
import { createRecording, utterance } from '../support/recordings.ts'
import {
  type Client,
  type Credential,
  startTestServer,
  type TestServer,
  type TestTenant,
} from '../support/server.ts'

let server: TestServer
let tenant: TestTenant
let key: Client

beforeAll(async () => {
  server = await startTestServer({ actors: QUICK })
  tenant = await server.createTenant()
  key = server.as({ apiKey: tenant.apiKey })
}, 300_000)
afterAll(() => server?.stop())

const opened: StreamClient[] = []
afterAll(() => Promise.all(opened.map((one) => one.close())))

async function follow(credential: Credential, lastEventId?: string): Promise<StreamClient> {
  const client = await openStream(
    server.baseUrl,
    credential,
    lastEventId === undefined ? {} : { lastEventId },
  )
  opened.push(client)
  expect(client.status).toBe(200)
  if (lastEventId === undefined) await eventually(() => client.all[0]?.event === 'ready')
  return client
}

const with_ = (client: StreamClient, type: string) => client.events.filter(({ event }) => event === type)

/** A change that everyone in the organization sees, so that everything before it has been sent. */
async function fence(...clients: readonly StreamClient[]): Promise<number> {
  const { id } = await createRecord(key, await createSource(key))
  for (const client of clients)
    await eventually(() => client.events.some(({ data }) => data.feedbackRecordId === id))
  return id
}

test('a client hears of sessions, signals, feedback and recordings, by their ids', async () => {
  const client = await follow({ userToken: tenant.userToken })
  expect(client.headers.get('content-type')).toBe('text/event-stream')
  expect(client.headers.get('cache-control')).toContain('no-store')
  const agent = await openAgent(server, { tenant })
  const { sessionId } = await agent.accept([userMessage(1), assistantMessage(2), feedbackOn('a2', 3)])
  const source = await createSource(key)
  const record = await createRecord(key, source)
  const recording = await createRecording(key, { transcript: [utterance(0, 1)] })
  await eventually(() => with_(client, 'agent_session.processed').length > 0)
  await eventually(() => with_(client, 'signal.created').length > 0)
  await fence(client)

  const { applicationId } = agent
  expect(with_(client, 'agent_session.created').map(({ data }) => data)).toMatchObject([
    { sessionId, applicationId },
  ])
  expect(with_(client, 'recording.created').map(({ data }) => data)).toMatchObject([
    { recordingId: recording.id },
  ])
  expect(with_(client, 'feedback_record.created')[0]?.data).toMatchObject({
    feedbackRecordId: record.id,
    feedbackSourceId: source,
  })
  const signals = await key.get(`/v3/rest/signals?sessionId=${sessionId}`)
  const told = with_(client, 'signal.created').map(({ data }) => data)
  expect(told.map(({ signalId }) => signalId).toSorted()).toEqual(
    signals.body.data.map(({ id }: { id: string }) => id).toSorted(),
  )
  for (const { id, event, data } of client.events) {
    expect(data).toMatchObject({ id, type: event })
    expect(JSON.stringify(data).length).toBeLessThan(400)
    expect(Number.isNaN(Date.parse(data.occurredAt))).toBeFalse()
  }
  expect(new Set(client.events.map(({ id }) => id)).size).toBe(client.events.length)
})

test('a user of several organizations names one in the address, because browsers send no header', async () => {
  const other = await server.createTenant()
  const { userId, userToken } = await server.createUser(other.organizationId)
  const [user] = await server.database.sql<{ email: string }[]>`
    select email from app_user where id = ${userId}`
  const member = { email: user?.email ?? '', name: 'x', role: 'viewer' } as const
  await server.features.identity.createUser(tenant.organizationId, member)
  const open = async (query: string) => {
    const client = await openStream(server.baseUrl, { userToken }, { query })
    opened.push(client)
    return client
  }
  expect((await open('')).status).toBe(401)
  expect((await open(`?organization=${crypto.randomUUID()}`)).status).toBe(401)
  const [here, there] = [
    await open(`?organization=${tenant.organizationId}`),
    await open(`?organization=${other.organizationId}`),
  ]
  for (const client of [here, there]) await eventually(() => client.all[0]?.event === 'ready')
  await fence(here)
  const foreign = server.as({ apiKey: other.apiKey })
  const { id } = await createRecord(foreign, await createSource(foreign))
  await eventually(() => with_(there, 'feedback_record.created').length > 0)
  expect(there.events.map(({ data }) => data.feedbackRecordId)).toEqual([id])
  expect(here.events.some(({ data }) => data.feedbackRecordId === id)).toBe(false)
})

test('a signal that is hidden is not told; one that is shown later is', async () => {
  const client = await follow({ apiKey: tenant.apiKey })
  const agent = await openAgent(server, { tenant })
  const { sessionId } = await agent.accept([userMessage(1), assistantMessage(2)])
  const { sql } = server.database
  // By one statement, as an analysis writes them.
  const rows = await sql<{ id: string; shown: boolean }[]>`
    insert into agent_signal (id, organization_id, application_id, session_id, source, kind, external_event_id, sequence, revision,
      occurred_at, shown)
    select gen_random_uuid(), ${tenant.organizationId}, ${agent.applicationId}, ${sessionId}, 'qualitative_inference', kind, 'u1', 1, 1,
      now(), kind = 'complaint'
    from unnest(array['complaint', 'confusion']) as kind
    returning id, shown`
  const shown = rows.find((row) => row.shown)?.id ?? ''
  const hidden = rows.find((row) => !row.shown)?.id ?? ''
  await eventually(() => client.events.some(({ data }) => data.signalId === shown))
  expect(client.events.some(({ data }) => data.signalId === hidden)).toBeFalse()
  await sql`update agent_signal set shown = true where id = ${hidden}`
  await eventually(() =>
    client.events.some(({ event, data }) => event === 'signal.created' && data.signalId === hidden),
  )
  await sql`update agent_signal set kind = 'praise' where id = ${hidden}`
  await eventually(() =>
    client.events.some(({ event, data }) => event === 'signal.updated' && data.signalId === hidden),
  )
})

test('every state of the transcript and the media of a recording is told', async () => {
  const client = await follow({ apiKey: tenant.apiKey })
  const { id } = await createRecording(key)
  const { sql } = server.database
  await sql`update recording set transcript_status = 'processing' where id = ${id}`
  await sql`update recording set transcript_status = 'completed', asset_status = 'failed' where id = ${id}`
  await sql`update recording set display_name = 'unchanged state' where id = ${id}`
  await fence(client)
  const told = client.events.filter(({ data }) => data.recordingId === id).map(({ event }) => event)
  expect(told).toEqual([
    'recording.created',
    'recording.transcript.changed',
    'recording.asset.changed',
    'recording.transcript.changed',
  ])
})

describe('access', () => {
  test('every role hears what its lists show, and another organization hears nothing', async () => {
    const stranger = await server.createTenant()
    const viewer = await server.createUser(tenant.organizationId, 'viewer')
    const analyst = await server.createUser(tenant.organizationId, 'analyst')
    const folder = Bun.randomUUIDv7()
    await server.database.sql`
      insert into folder (id, organization_id, owner_user_id, name)
      values (${folder}, ${tenant.organizationId}, ${viewer.userId}, 'mine')`
    const clients = {
      key: await follow({ apiKey: tenant.apiKey }),
      administrator: await follow({ userToken: tenant.userToken }),
      analyst: await follow({ userToken: analyst.userToken }),
      viewer: await follow({ userToken: viewer.userToken }),
    }
    // Numbers of both organizations overlap.
    await (await follow({ userToken: stranger.userToken })).close()
    await server.database.sql`
      update event_stream set last_seq = (select last_seq from event_stream where organization_id = ${tenant.organizationId})
      where organization_id = ${stranger.organizationId}`
    const foreign = await follow({ userToken: stranger.userToken })
    const conversationAccess = { type: 'restricted' as const, userIds: [analyst.userId] }
    const restricted = await openAgent(server, { tenant, settings: { conversationAccess } })
    const { sessionId } = await restricted.accept([userMessage(1)])
    const recordingId = Bun.randomUUIDv7()
    await server.database.sql.begin(async (tx) => {
      await tx`
        insert into recording (id, organization_id, source, transcript_status)
        values (${recordingId}, ${tenant.organizationId}, 'api', 'waiting')`
      await tx`
        insert into recording_folder (organization_id, recording_id, folder_id)
        values (${tenant.organizationId}, ${recordingId}, ${folder})`
    })
    await fence(...Object.values(clients))
    const hears = Object.fromEntries(
      Object.entries(clients).map(([name, { events }]) => [
        name,
        [
          events.some(({ data }) => data.sessionId === sessionId),
          events.some(({ data }) => data.recordingId === recordingId),
        ],
      ]),
    )
    expect(hears).toEqual({
      key: [true, false],
      administrator: [false, false],
      analyst: [true, false],
      viewer: [false, true],
    })
    const own = server.as({ apiKey: stranger.apiKey })
    const source = await createSource(own)
    const ids: number[] = []
    for (let n = 0; n < 5; n++) ids.push((await createRecord(own, source)).id)
    await eventually(() => foreign.events.some(({ data }) => data.feedbackRecordId === ids.at(-1)))
    expect(foreign.events.map(({ data }) => data.feedbackRecordId)).toEqual(ids)
    await fence(...Object.values(clients))
    for (const { events } of Object.values(clients))
      expect(events.some(({ data }) => ids.includes(data.feedbackRecordId))).toBeFalse()
  })

  test('a rule that changes holds from the next event on', async () => {
    const client = await follow({ userToken: tenant.userToken })
    const agent = await openAgent(server, { tenant })
    const before = await agent.accept([userMessage(1)])
    await eventually(() => client.events.some(({ data }) => data.sessionId === before.sessionId))
    const path = `/v3/rest/agent-applications/${agent.applicationId}`
    const changed = await key.patch(path, {
      settings: { conversationAccess: { type: 'restricted', userIds: [] } },
    })
    expect(changed.status).toBe(200)
    const { sessionId } = await agent.accept([userMessage(1)], { externalSessionId: 'after the change' })
    await fence(client)
    expect(client.events.some(({ data }) => data.sessionId === sessionId)).toBeFalse()
  })

  test('a stream ends when its key is revoked, before the next event', async () => {
    const { id, apiKey } = await server.features.identity.createApiKey(tenant.organizationId, 'short-lived')
    const client = await follow({ apiKey })
    await server.features.identity.revokeApiKey(tenant.organizationId, id)
    const witness = await follow({ apiKey: tenant.apiKey })
    await fence(witness)
    await client.ended
    expect(client.events).toEqual([])
    expect((await openStream(server.baseUrl, { apiKey })).status).toBe(401)
  })

  test('a stream ends when its user leaves the organization', async () => {
    const member = await server.createUser(tenant.organizationId, 'viewer')
    const client = await follow({ userToken: member.userToken })
    const admin = server.as({ userToken: tenant.userToken })
    expect((await admin.delete(`/v3/rest/members/${member.userId}`)).status).toBe(200)
    const witness = await follow({ apiKey: tenant.apiKey })
    await fence(witness)
    await client.ended
    expect(client.events).toEqual([])
  })

  test('nobody and an agent secret are refused', async () => {
    const { agentSecret } = await server.createApplication(tenant.organizationId, { agentKey: 'refused' })
    for (const credential of ['nobody', { agentSecret }] as const)
      expect((await openStream(server.baseUrl, credential)).status).toBe(401)
  })
})

describe('a stream begins', () => {
  test('behind the event that the client saw last, without loss or doubling', async () => {
    const first = await follow({ apiKey: tenant.apiKey })
    const seen = await fence(first)
    await first.close()
    const missed = [await fence(), await fence()]
    const second = await follow({ apiKey: tenant.apiKey }, first.lastEventId())
    const last = await fence(second)
    // Actors may still end what earlier tests began.
    const records = second.all.filter(({ event }) => event === 'feedback_record.created')
    expect(records.map(({ data }) => data.feedbackRecordId)).toEqual([...missed, last])
    expect(second.all.map(({ event }) => event)).not.toContain('reset')
    expect(missed).not.toContain(seen)
  })

  test.each([['no id'], ['1.00000000'], ['-1.00000000'], ['99999999999999999999.00000000']])(
    'with reset where Last-Event-ID is %p',
    async (lastEventId) => {
      const client = await follow({ apiKey: tenant.apiKey }, lastEventId)
      await eventually(() => client.all.length > 0)
      expect(client.all[0]?.event).toBe('reset')
      await fence(client)
      expect(client.all.filter(({ event }) => event === 'reset').length).toBe(1)
      expect(with_(client, 'feedback_record.created').length).toBe(1)
    },
  )

  test('with reset where events after Last-Event-ID are deleted', async () => {
    const first = await follow({ apiKey: tenant.apiKey })
    await fence(first)
    const lastEventId = first.lastEventId()
    await fence(first)
    const { sql } = server.database
    await sql`
      update event_stream_entry set occurred_at = now() - interval '61 minutes'
      where organization_id = ${tenant.organizationId}`
    await runMaintenance()
    const second = await follow({ apiKey: tenant.apiKey }, lastEventId)
    await eventually(() => second.all[0]?.event === 'reset')
    // A client that saw all of them lost nothing.
    const third = await follow({ apiKey: tenant.apiKey }, first.lastEventId())
    await fence(second, third)
    expect(third.all.map(({ event }) => event)).toEqual(['feedback_record.created'])
  })

  test('only after every transaction that could miss it has ended', async () => {
    const other = await server.createTenant()
    const { sql } = server.database
    const source = await createSource(server.as({ apiKey: other.apiKey }))
    const written = Promise.withResolvers<void>()
    const release = Promise.withResolvers<void>()
    const transaction = sql.begin(async (tx) => {
      await tx`
        insert into feedback_record (organization_id, feedback_source_id, fields, display_ts)
        values (${other.organizationId}, ${source}, '[]', now())`
      written.resolve()
      await release.promise
    })
    await written.promise
    const client = await openStream(server.baseUrl, { apiKey: other.apiKey })
    opened.push(client)
    await eventually(() => client.text().includes('retry:'))
    // It has looked twice and goes on waiting.
    const looks = new Set<string>()
    await eventually(async () => {
      const found = await sql`
        select query_start::text as at from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and query like '%age(backend_xid)%'`
      for (const { at } of found) looks.add(at)
      return looks.size > 1
    })
    expect(client.all).toEqual([])
    release.resolve()
    await transaction
    await eventually(() => client.all[0]?.event === 'ready')
  })
})

async function runMaintenance(): Promise<void> {
  const task = server.features.maintenance.find(({ name }) => name === 'event_stream_log')
  await task?.run(new AbortController().signal)
}

describe('costs', () => {
  test('an organization without a client writes no entries, and none an hour after its last client', async () => {
    const quiet = await server.createTenant()
    const client = server.as({ apiKey: quiet.apiKey })
    const { sql } = server.database
    const entries = async () => {
      const [row] = await sql`
        select count(*)::int as n from event_stream_entry where organization_id = ${quiet.organizationId}`
      return row?.n
    }
    const source = await createSource(client)
    await createRecord(client, source)
    expect(await entries()).toBe(0)
    const stream = await follow({ apiKey: quiet.apiKey })
    await createRecord(client, source)
    await eventually(async () => (await entries()) === 1)
    await eventually(() => stream.events.length === 1)
    await stream.close()
    await sql`
      update event_stream set listened_at = now() - interval '61 minutes' where organization_id = ${quiet.organizationId}`
    await runMaintenance()
    await createRecord(client, source)
    expect(await entries()).toBe(1)
    const again = await follow({ apiKey: quiet.apiKey }, stream.lastEventId())
    await eventually(() => again.all[0]?.event === 'reset')
  })

  test('an organization has a limited number of streams', async () => {
    const busy = await server.createTenant()
    const clients = await Promise.all(
      Array.from({ length: MOST_STREAMS.ofOrganization }, () =>
        openStream(server.baseUrl, { apiKey: busy.apiKey }),
      ),
    )
    opened.push(...clients)
    expect(clients.every(({ status }) => status === 200)).toBeTrue()
    const refused = await server.as({ apiKey: busy.apiKey }).get(STREAM)
    expect(refused).toMatchObject({ status: 429, body: { code: 'too_many_streams' } })
    expect(refused.headers.get('retry-after')).toBe('30')
    const other = await follow({ apiKey: tenant.apiKey })
    await Promise.all([...clients, other].map((one) => one.close()))
    await eventually(async () => {
      const one = await openStream(server.baseUrl, { apiKey: busy.apiKey })
      opened.push(one)
      return one.status === 200
    })
  })

  test('a process that stops ends its streams with a pause, and refuses new ones', async () => {
    const second = await startTestServer({ beside: server })
    const client = await openStream(second.baseUrl, { apiKey: tenant.apiKey })
    await eventually(() => client.all[0]?.event === 'ready')
    await second.features.eventStream.stop()
    await client.ended
    expect(client.retryMs()).toBeWithin(500, 5_001)
    expect(client.text()).toMatch(/retry: \d+\n\n$/)
    const refused = await second.as({ apiKey: tenant.apiKey }).get(STREAM)
    expect(refused).toMatchObject({ status: 503, body: { code: 'streams_full' } })
    await second.stop()
  })

  test('HEAD answers without a stream', async () => {
    const answer = await key.send('HEAD', STREAM)
    expect(answer).toMatchObject({ status: 200, body: null })
    expect(answer.headers.get('content-type')).toStartWith('text/event-stream')
  })
})
