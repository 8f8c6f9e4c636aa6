/** Files of coding-agent sessions by resumable upload: every format, twice, longer, broken off, refused, and bound. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../src/platform/ids.ts'
import { fixture, readText } from '../support/coding-session-files.ts'
import { createSessionUpload, SESSIONS, uploadSessionFile } from '../support/coding-sessions.ts'
import { eventually } from '../support/eventually.ts'
import { createTenant, type Tenant } from '../support/metadata.ts'
import { type Client, startTestServer, type TestServer } from '../support/server.ts'

const UPLOADS = `${SESSIONS}/uploads`

let server: TestServer
let tenant: Tenant
let bob: Client
beforeAll(async () => {
  server = await startTestServer({ actors: true })
  tenant = await createTenant(server)
  bob = server.as({ userToken: (await server.createUser(tenant.organizationId)).userToken })
})
afterAll(() => server.stop())

/** A user without sessions, so that nothing is known. */
async function newUser(): Promise<Client> {
  return server.as({ userToken: (await server.createUser(tenant.organizationId)).userToken })
}

const eventsOf = async (client: Client, sessionId: string) =>
  (await client.get(`${SESSIONS}/${sessionId}/events?limit=500`)).body.data

describe('a session file', () => {
  test.each([
    [
      'claude-code.jsonl',
      'claude-code',
      { eventCount: 14, messages: 6, fileEdits: 1, toolCalls: 2, skippedLines: 2 },
    ],
    ['codex.jsonl', 'codex', { eventCount: 15, messages: 6, fileEdits: 2, toolCalls: 2, skippedLines: 2 }],
    [
      'codex-fork.jsonl',
      'codex',
      { eventCount: 12, deduplicatedEventCount: 9, messages: 4, skippedLines: 0 },
    ],
    ['gemini-cli.jsonl', 'gemini-cli', { eventCount: 8, messages: 6, fileEdits: 1, skippedLines: 2 }],
    ['gemini-cli.json', 'gemini-cli', { eventCount: 3, messages: 3, fileEdits: 1, skippedLines: 0 }],
  ])('%s is recognised by its content and stored', async (name, agent, counts) => {
    const user = await newUser()
    const upload = await uploadSessionFile(user, fixture(name), { fileName: name })
    expect(upload).toMatchObject({
      phase: 'ready',
      errorCode: null,
      processedBytes: upload.fileSize,
      session: { agent, deduplicatedEventCount: 0, ...counts },
    })
    expect(await eventsOf(user, upload.session.sessionId)).toHaveLength(upload.session.eventCount)
  })

  test('twice adds nothing; REST with its text adds nothing either', async () => {
    const user = await newUser()
    const text = fixture('codex.jsonl')
    const first = await uploadSessionFile(user, text)
    const events = await eventsOf(user, first.session.sessionId)
    const second = await uploadSessionFile(user, text)
    expect(second.session).toEqual({ ...first.session, deduplicatedEventCount: 15 })
    const third = await user.post(SESSIONS, { format: 'codex', jsonl: text })
    expect(third.body).toEqual(second.session)
    expect(await eventsOf(user, first.session.sessionId)).toEqual(events)
  })

  test('that an earlier version has stored, with other ids of its tokens, adds nothing, and neither does its fork', async () => {
    const user = await newUser()
    const text = fixture('codex.jsonl')
    const first = await uploadSessionFile(user, text)
    const { merged } = readText('codex', text)
    const ids = merged.flatMap((one) =>
      one.type === 'event' && one.event.formerId !== undefined ? [[one.event.id, one.event.formerId]] : [],
    )
    expect(ids).toHaveLength(3)
    const { sql } = server.database
    for (const [id, former] of ids) {
      const { sessionId } = first.session
      const changed = await sql`
        update coding_session_event set event_id = ${former as string}
        where session_id = ${sessionId} and event_id = ${id as string}
        returning 1`
      expect(changed).toHaveLength(1)
    }
    const second = await uploadSessionFile(user, text)
    expect(second.session).toEqual({ ...first.session, deduplicatedEventCount: 15 })
    const fork = await uploadSessionFile(user, fixture('codex-fork.jsonl'))
    expect(fork.session).toMatchObject({ eventCount: 12, deduplicatedEventCount: 9 })
  })

  test.each(['claude-code.jsonl', 'codex.jsonl', 'gemini-cli.jsonl'])(
    'in a longer version adds what is new: %s',
    async (name) => {
      const text = fixture(name)
      const [one, two] = [await newUser(), await newUser()]
      const whole = await uploadSessionFile(one, text)
      const prefix = await uploadSessionFile(two, text.slice(0, Math.floor(text.length * 0.45)))
      const longer = await uploadSessionFile(two, text)
      expect(prefix.session.eventCount).toBeLessThan(whole.session.eventCount)
      expect(longer.session).toEqual({
        ...whole.session,
        sessionId: prefix.session.sessionId,
        deduplicatedEventCount: prefix.session.eventCount,
      })
      expect(await eventsOf(two, prefix.session.sessionId)).toEqual(
        await eventsOf(one, whole.session.sessionId),
      )
    },
  )

  test('comes in pieces and is continued by tus', async () => {
    const bytes = new TextEncoder().encode(fixture('claude-code.jsonl'))
    const { body } = await tenant.user.post(UPLOADS, {
      fileName: 'a.jsonl',
      fileSize: bytes.length,
      format: 'claude-code',
    })
    const send = (from: number, to: number) =>
      fetch(body.uploadUrl, {
        method: 'PATCH',
        headers: {
          'tus-resumable': '1.0.0',
          'upload-offset': String(from),
          'content-type': 'application/offset+octet-stream',
        },
        body: bytes.slice(from, to),
      })
    expect((await send(0, 4_001)).headers.get('upload-offset')).toBe('4001')
    const head = await fetch(body.uploadUrl, { method: 'HEAD', headers: { 'tus-resumable': '1.0.0' } })
    expect(head.headers.get('upload-offset')).toBe('4001')
    expect((await send(4_001, bytes.length)).status).toBe(204)
    await eventually(async () => {
      const { phase, session } = (await tenant.user.get(`${UPLOADS}/${body.uploadId}`)).body
      expect([phase, session?.eventCount]).toEqual(['ready', 14])
    })
  })

  test('causes no webhook event about media', async () => {
    const own = await createTenant(server)
    const url = 'https://hooks.example.com/upload'
    const webhook = await own.key.post('/v3/rest/webhooks', { url, types: ['*'], enabled: true })
    expect(webhook.status).toBe(201)
    await uploadSessionFile(own.user, fixture('gemini-cli.jsonl'))
    const events = await server.database.sql`
      select type from webhook_event where organization_id = ${own.organizationId}`
    expect(events).toBeEmpty()
  })

  test('leaves no bytes behind', async () => {
    const { uploadId } = await uploadSessionFile(tenant.user, fixture('gemini-cli.jsonl'))
    const [row] = await server.database.sql`
      select g.object_key as key from upload_garbage g join upload u on u.object_key = g.object_key where u.id = ${uploadId}`
    expect(row?.key).toStartWith(`coding-sessions/${uploadId}/`)
  })

  test.each([
    ['plain text', 'hello\nworld\n', 'unsupported_session_format', {}],
    ['lines of an unknown format', '{"a":1}\n'.repeat(500), 'unsupported_session_format', {}],
    ['lines without a message', `{"type":"progress","sessionId":"s"}\n`, 'coding_session_empty', {}],
    ['no known event', '{"kind":"dance"}\n', 'coding_session_empty', { format: 'normalized' }],
  ])('with %s fails', async (_, text, errorCode, members) => {
    const upload = await uploadSessionFile(tenant.user, text, members)
    expect(upload).toMatchObject({ phase: 'failed', errorCode, session: null })
    const bound = await tenant.user.post(SESSIONS, { format: 'normalized', uploadId: upload.uploadId })
    expect(bound).toMatchObject({ status: 409, body: { code: 'coding_session_upload_failed' } })
  })
})

describe('an upload', () => {
  test('is 201 with its URL, then 200 with its state, and can be cancelled while it waits', async () => {
    const { status, headers, body } = await tenant.user.post(UPLOADS, { fileName: ' a.jsonl ', fileSize: 10 })
    expect(status).toBe(201)
    expect(headers.get('location')).toBe(`${UPLOADS}/${body.uploadId}`)
    expect(body).toMatchObject({
      phase: 'waiting',
      fileName: 'a.jsonl',
      fileSize: 10,
      timeoutSeconds: expect.any(Number),
      session: null,
    })
    const bound = await tenant.user.post(SESSIONS, { format: 'codex', uploadId: body.uploadId })
    expect(bound).toMatchObject({ status: 409, body: { code: 'coding_session_upload_not_ready' } })
    for (let time = 0; time < 2; time++)
      expect((await tenant.user.delete(`${UPLOADS}/${body.uploadId}`)).body.phase).toBe('cancelled')
    expect((await fetch(body.uploadUrl, { method: 'PUT', body: '0123456789' })).status).toBe(410)
  })

  test('with a known uploadKey is the same upload, however often it is created at once', async () => {
    const input = { fileName: 'a.jsonl', fileSize: 10, uploadKey: newId() }
    const answers = await Promise.all(Array.from({ length: 10 }, () => tenant.user.post(UPLOADS, input)))
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(201))
    expect(new Set(answers.map(({ body }) => body.uploadUrl)).size).toBe(1)
    const other = await tenant.user.post(UPLOADS, { ...input, fileSize: 11 })
    expect(other).toMatchObject({ status: 400, body: { code: 'validation_failed' } })
    const bobs = await bob.post(UPLOADS, input)
    expect(bobs.body.uploadId).not.toBe(answers[0]?.body.uploadId)
  })

  test('is 404 for another user and for a key, and a key has its own', async () => {
    const id = await createSessionUpload(tenant.user)
    for (const client of [bob, tenant.key]) {
      const missing = { status: 404, body: { code: 'coding_session_upload_not_found' } }
      expect(await client.get(`${UPLOADS}/${id}`)).toMatchObject(missing)
      expect(await client.post(SESSIONS, { format: 'codex', uploadId: id })).toMatchObject(missing)
    }
    expect((await tenant.key.get(`${UPLOADS}/${await createSessionUpload(tenant.key)}`)).status).toBe(200)
  })

  test('is no upload of a recording, and a recording has no such upload', async () => {
    const id = await createSessionUpload(tenant.key)
    const { body } = await tenant.key.post('/v3/rest/recordings', {})
    expect((await tenant.key.get(`/v3/rest/recordings/${body.id}/uploads/${id}`)).status).toBe(404)
  })

  test('expires', async () => {
    const id = await createSessionUpload(tenant.user)
    const { sql } = server.database
    await sql`update upload set expires_at = now() - interval '1 second' where id = ${id}`
    const expired = { phase: 'failed', errorCode: 'upload_expired' }
    expect((await tenant.user.get(`${UPLOADS}/${id}`)).body).toMatchObject(expired)
    const task = server.features.maintenance.find(({ name }) => name === 'upload_expiry')
    await task?.run(new AbortController().signal)
    expect(await sql`select phase from upload where id = ${id}`).toEqual([{ phase: 'failed' }] as never)
  })

  test('is bound by its id, with what the caller states', async () => {
    const externalSessionId = newId()
    const upload = await uploadSessionFile(tenant.user, fixture('gemini-cli.jsonl'), {
      externalSessionId,
      agent: 'gem',
    })
    const key = `ghp_${'a'.repeat(36)}`
    const input = { format: 'gemini-cli', uploadId: upload.uploadId, title: `Limits ${key}`, repo: 'shop' }
    const bound = await tenant.user.post(SESSIONS, input)
    expect(bound).toMatchObject({ status: 201, body: upload.session })
    const { body } = await tenant.user.get(`${SESSIONS}/${upload.session.sessionId}`)
    expect(body).toMatchObject({ title: 'Limits [redacted]', repo: 'shop', agent: 'gem', externalSessionId })
    const both = await tenant.user.post(SESSIONS, { ...input, jsonl: '{}' })
    expect(both).toMatchObject({ status: 400, body: { code: 'validation_failed' } })
    await tenant.user.delete(`${SESSIONS}/${upload.session.sessionId}`)
    expect(await tenant.user.post(SESSIONS, input)).toMatchObject({
      status: 404,
      body: { code: 'coding_session_not_found' },
    })
  })
})
