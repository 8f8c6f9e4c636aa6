/**
 * Every type of event is written where it becomes true, with data of its documented shape, and only for organizations that have a
 * webhook for it.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Value } from '@sinclair/typebox/value'
import { EVENT_TYPES } from '../../src/tell/webhooks/event-types.ts'
import { type Agent, assistantMessage, feedbackOn, openAgent, userMessage } from '../support/agents.ts'
import { eventually } from '../support/eventually.ts'
import { createSource, field, recordsOf } from '../support/feedback.ts'
import { insertTheme } from '../support/insert-theme.ts'
import { startRawOrigin, wav } from '../support/media.ts'
import { createRecording, RECORDINGS, utterance } from '../support/recordings.ts'
import type { Client, TestTenant } from '../support/server.ts'
import { createTestUpload } from '../support/uploads.ts'
import { createWebhook, type SendingServer, startSendingServer } from '../support/webhooks.ts'

let server: SendingServer
const stops: (() => void)[] = []
beforeAll(async () => {
  server = await startSendingServer()
})
afterAll(async () => {
  for (const stop of stops) stop()
  await server.stop()
})

type Type = keyof typeof EVENT_TYPES
interface Written {
  readonly type: Type
  readonly seq: number
  readonly data: Record<string, unknown>
}

const seen = new Set<string>()

/** The events of the organization so far, each of its documented shape. */
async function written(organizationId: string): Promise<readonly Written[]> {
  const rows = await server.database.sql<Written[]>`
    select type, seq, data from webhook_event where organization_id = ${organizationId} order by seq`
  for (const { type, data } of rows) {
    seen.add(type)
    expect([type, ...Value.Errors(EVENT_TYPES[type].data, data)]).toEqual([type])
    const unknown = Object.keys(data).filter((name) => !(name in EVENT_TYPES[type].data.properties))
    expect([type, unknown]).toEqual([type, []])
  }
  return rows
}

const typesOf = async (organizationId: string) => (await written(organizationId)).map(({ type }) => type)

/** Waits for an event of the type. */
const event = (organizationId: string, type: Type) =>
  eventually(async () => {
    const found = (await written(organizationId)).find((one) => one.type === type)
    return found ?? false
  })

interface Subscriber extends TestTenant {
  readonly client: Client
}

async function subscriber(body: object = {}): Promise<Subscriber> {
  const tenant = await server.createTenant()
  const client = server.as({ apiKey: tenant.apiKey })
  // It is not sent: these tests look at what is written.
  await createWebhook(client, { url: 'https://example.com/', enabled: false, ...body })
  return { ...tenant, client }
}

describe('feedback', () => {
  test('feedback_record.created has the record', async () => {
    const { client, organizationId } = await subscriber()
    const sourceId = await createSource(client)
    const sent = { fields: [field()], external_id: 'x', display_ts: '2026-01-02T03:04:05.678Z' }
    const { body } = await client.post(recordsOf(sourceId), sent)
    const { data } = await event(organizationId, 'feedback_record.created')
    expect(data).toMatchObject({
      id: body.id,
      sourceId,
      externalId: 'x',
      personId: null,
      displayTs: '2026-01-02T03:04:05.678Z',
      fields: [field()],
    })
    expect((await client.get(data.path as string)).body.id).toBe(body.id)
  })

  test('too long for a body: fields are left out and named', async () => {
    const { client, organizationId } = await subscriber()
    const sourceId = await createSource(client)
    const fields = Array.from({ length: 30 }, (_, index) =>
      field({ name: `n${index}`, value: 'x'.repeat(10_000) }),
    )
    expect((await client.post(recordsOf(sourceId), { fields })).status).toBe(201)
    const { data } = await event(organizationId, 'feedback_record.created')
    expect(data.omitted).toEqual(['fields'])
    expect(data).not.toHaveProperty('fields')
  })

  test('a refused record writes no event', async () => {
    const { client, organizationId } = await subscriber()
    const sourceId = await createSource(client)
    for (const status of [201, 409])
      expect((await client.post(recordsOf(sourceId), { fields: [field()], external_id: 'x' })).status).toBe(
        status,
      )
    expect(await typesOf(organizationId)).toEqual(['feedback_record.created'])
  })
})

describe('conversations', () => {
  async function subscribedAgent(body?: object): Promise<Agent> {
    const tenant = await subscriber(body)
    return openAgent(server, { tenant })
  }

  test('a session that ends: signals, the end, and that it is processed', async () => {
    const agent = await subscribedAgent()
    const events = [userMessage(1), assistantMessage(2), feedbackOn('a2', 3, { comment: 'good' })]
    const { sessionId } = await agent.accept(events, { status: 'ended' })
    const { organizationId } = agent
    const processed = await event(organizationId, 'agent_session.processed')
    expect(processed.data).toMatchObject({
      id: sessionId,
      agentKey: agent.agentKey,
      externalSessionId: 'chat',
      status: 'ended',
      processingStatus: 'completed',
    })
    const all = await written(organizationId)
    expect(all[0]).toMatchObject({ type: 'agent_session.ended', data: { id: sessionId, status: 'ended' } })
    const signal = all.find(
      ({ type, data }) => type === 'signal.created' && data.source === 'explicit_feedback',
    )
    expect(signal?.data).toMatchObject({
      sessionId,
      rating: 'positive',
      comment: 'good',
      externalEventId: 'f3',
    })
    expect(all.map(({ seq }) => seq)).toEqual(all.map((_, index) => index + 1))
    const shown = await server.as({ apiKey: agent.tenant.apiKey }).get(signal!.data.path as string)
    expect(shown.body.id).toBe(signal!.data.id)
  })

  test('revised feedback is signal.updated; the same again is not', async () => {
    const agent = await subscribedAgent({ types: ['signal.updated', 'signal.created'] })
    const { organizationId } = agent
    await agent.accept([userMessage(1), assistantMessage(2), feedbackOn('a2', 3)])
    await event(organizationId, 'signal.created')
    const revised = { ...feedbackOn('a2', 3, { rating: 'negative' }), revision: 2 }
    await agent.accept([revised])
    const { data } = await event(organizationId, 'signal.updated')
    expect(data).toMatchObject({ rating: 'negative', revision: 2, externalEventId: 'f3' })
    await agent.accept([revised])
    const { sql } = server.database
    await sql`update agent_signal set updated_at = now() where organization_id = ${organizationId}`
    const updated = (await typesOf(organizationId)).filter((type) => type === 'signal.updated')
    expect(updated).toHaveLength(1)
  })

  test('abandoned, then ended: one event each, also from requests without events of their own', async () => {
    const agent = await subscribedAgent({ types: ['agent_session.ended', 'agent_session.abandoned'] })
    const first = [userMessage(1)]
    await agent.accept(first)
    await agent.accept(first, { status: 'abandoned' })
    await agent.accept(first, { status: 'abandoned' })
    await agent.accept(first, { status: 'ended' })
    expect(await typesOf(agent.organizationId)).toEqual(['agent_session.abandoned', 'agent_session.ended'])
  })
})

describe('recordings and uploads', () => {
  test('recording.created has the external id; a given transcript is completed', async () => {
    const { client, organizationId } = await subscriber()
    const { id } = await createRecording(client, {
      displayName: 'Call',
      record: { externalId: 'call-1' },
      transcript: [utterance(0, 1)],
    })
    const all = await written(organizationId)
    expect(all.map(({ type }) => type)).toEqual(['recording.created', 'recording.transcript.completed'])
    expect(all[0]!.data).toMatchObject({
      id,
      displayName: 'Call',
      externalId: 'call-1',
      asset: null,
      transcript: { status: 'completed', source: 'api' },
      path: `${RECORDINGS}/${id}`,
    })
  })

  test('a recording that is not stored writes no event', async () => {
    const { client, organizationId } = await subscriber()
    for (const status of [201, 409])
      expect((await client.post(RECORDINGS, { record: { externalId: 'x' } })).status).toBe(status)
    expect(await typesOf(organizationId)).toEqual(['recording.created'])
  })

  test('media by URL: completed with its facts, failed with its code', async () => {
    const { client, organizationId } = await subscriber()
    const bytes = wav(1)
    const origin = startRawOrigin(({ head, write, end }) => {
      const isThere = head.startsWith('GET /talk')
      write(
        `HTTP/1.1 ${isThere ? 200 : 404} X\r\nContent-Type: audio/wav\r\nContent-Length: ${isThere ? bytes.byteLength : 0}\r\n\r\n`,
      )
      if (isThere) write(bytes)
      end()
    })
    stops.push(() => origin.stop())
    const url = `http://127.0.0.1:${origin.port}`
    await createRecording(client, { assetUrl: `${url}/talk` })
    const completed = await event(organizationId, 'recording.asset.completed')
    expect(completed.data.asset).toMatchObject({ status: 'completed', durationSeconds: 1, isAudio: true })
    await createRecording(client, { assetUrl: `${url}/gone` })
    const failed = await event(organizationId, 'recording.asset.failed')
    expect(failed.data.asset).toMatchObject({ status: 'failed', errorCode: 'url_not_found' })
    const types = await typesOf(organizationId)
    expect(types.filter((type) => type === 'recording.asset.completed')).toHaveLength(1)
  }, 300_000)

  test('uploads: ready, cancelled, failed', async () => {
    const tenant = await subscriber()
    const { client, organizationId } = tenant
    const bytes = wav(1)
    const upload = await createTestUpload(server, tenant, { fileSize: bytes.byteLength })
    expect((await fetch(upload.uploadUrl, { method: 'PUT', body: bytes })).status).toBeLessThan(300)
    const ready = await event(organizationId, 'upload.ready')
    expect(ready.data).toMatchObject({
      uploadId: upload.uploadId,
      recordingId: upload.recordingId,
      phase: 'ready',
    })
    const other = await createTestUpload(server, tenant, { fileSize: 10 })
    const path = `${RECORDINGS}/${other.recordingId}/uploads/${other.uploadId}`
    await client.delete(path)
    expect((await event(organizationId, 'upload.cancelled')).data).toMatchObject({ path, phase: 'cancelled' })
    const broken = await createTestUpload(server, tenant, { fileSize: 5 })
    await fetch(broken.uploadUrl, { method: 'PUT', body: 'hello' })
    const failed = await event(organizationId, 'upload.failed')
    expect(failed.data).toMatchObject({ uploadId: broken.uploadId, errorCode: 'processing_failed' })
  }, 300_000)

  test('a transcription that fails', async () => {
    const { client, organizationId } = await subscriber()
    const { id } = await createRecording(client)
    const { sql } = server.database
    // As the actor of a transcription ends it.
    await sql`update recording set transcript_status = 'processing' where id = ${id}`
    await sql`update recording set transcript_status = 'failed' where id = ${id}`
    const { data } = await event(organizationId, 'recording.transcript.failed')
    expect(data.transcript).toMatchObject({ status: 'failed' })
  })
})

describe('themes', () => {
  test('that are created, renamed or merged', async () => {
    const { client, organizationId } = await subscriber()
    const { themeId, otherThemeId } = await insertTheme(server.database.sql, organizationId)
    const { data } = await event(organizationId, 'theme.created')
    const path = `/v3/rest/themes/${data.id}`
    expect([themeId, otherThemeId]).toContain(String(data.id))
    expect(data).toMatchObject({ title: 'export', count: 2, mergedInto: null, path })
    await client.patch(`/v3/rest/themes/${themeId}`, { title: 'Exports' })
    expect((await event(organizationId, 'theme.changed')).data).toMatchObject({
      id: themeId,
      title: 'Exports',
    })
  })
})

describe('what is written', () => {
  test('is nothing for an organization without a webhook, or without one for the type', async () => {
    const tenant = await server.createTenant()
    const client = server.as({ apiKey: tenant.apiKey })
    const other = await subscriber({ types: ['upload.ready', 'theme.created', 'theme.changed'] })
    await createRecording(client)
    await createRecording(other.client)
    expect(await typesOf(tenant.organizationId)).toEqual([])
    expect(await typesOf(other.organizationId)).toEqual([])
    const { sql } = server.database
    expect(
      await sql`select from webhook_stream where organization_id = ${tenant.organizationId}`,
    ).toHaveLength(0)
  })

  test('and committed together is numbered without gaps, however many transactions run at once', async () => {
    const { client, organizationId } = await subscriber()
    await Promise.all(
      Array.from({ length: 40 }, () => createRecording(client, { transcript: [utterance(0, 1)] })),
    )
    const all = await written(organizationId)
    expect(all.map(({ seq }) => seq)).toEqual(Array.from({ length: 80 }, (_, index) => index + 1))
  })

  test('disappears with a transaction that is rolled back', async () => {
    const { client, organizationId } = await subscriber()
    const { sql } = server.database
    const failure = await sql
      .begin(async (tx) => {
        await tx`
          insert into recording (id, organization_id, source, transcript_status)
          values (${crypto.randomUUID()}, ${organizationId}, 'api', 'waiting')`
        throw new Error('no')
      })
      .catch((error: Error) => error.message)
    expect(failure).toBe('no')
    await createRecording(client)
    expect((await written(organizationId)).map(({ seq }) => seq)).toEqual([1])
  })

  test('covers every declared type', () => {
    expect([...seen, 'ping'].sort()).toEqual(Object.keys(EVENT_TYPES).sort())
  })
})
