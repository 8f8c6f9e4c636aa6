/** Creating uploads, rule by rule (specification, "Create upload"). */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createApp } from '../../src/app/app.ts'
import { newId } from '../../src/platform/ids.ts'
import { createFolder, createRecording, RECORDINGS } from '../support/recordings.ts'
import {
  type Client,
  clientOf,
  startTestServer,
  type TestServer,
  type TestTenant,
} from '../support/server.ts'

const ORIGIN = 'https://app.example.com'
const BODY = { fileName: 'call.mp4', fileSize: 1_000 }
const MAX_SIZE = Number.MAX_SAFE_INTEGER

let server: TestServer
let tenant: TestTenant
let key: Client
/** A user who always sends `Origin`. */
let user: Client

beforeAll(async () => {
  server = await startTestServer({ env: { DATABASE_POOL_SIZE: '20' } })
  tenant = await server.createTenant()
  key = server.as({ apiKey: tenant.apiKey })
  user = server.as({ userToken: tenant.userToken })
})
afterAll(() => server?.stop())

const newRecording = async (body: object = {}): Promise<string> => (await createRecording(key, body)).id
const create = (recordingId: string, body: unknown = BODY, client = key, headers = {}) =>
  client.post(`${RECORDINGS}/${recordingId}/uploads`, body, headers)
const createAsUser = (recordingId: string, body: unknown = BODY) =>
  create(recordingId, body, user, { origin: ORIGIN })
const assetOf = async (recordingId: string) => (await key.get(`${RECORDINGS}/${recordingId}`)).body.asset
const rowsOf = (recordingId: string) =>
  server.database.sql`select * from upload where recording_id = ${recordingId} order by created_at`
const setAsset = (recordingId: string, status: string | null) => server.database.sql`
  update recording set asset_status = ${status} where id = ${recordingId}`
const newBatch = async (): Promise<string> => (await user.post('/v3/rest/upload-batches', {})).body.id

describe('POST …/uploads', () => {
  test('201 with uploadId, uploadUrl, timeoutSeconds and the phase waiting, and Location', async () => {
    const recordingId = await newRecording()
    const { status, body, headers } = await create(recordingId)
    expect(status).toBe(201)
    expect(body).toEqual({
      uploadId: expect.stringMatching(/^[0-9a-f-]{14}7/),
      recordingId,
      phase: 'waiting',
      uploadUrl: expect.stringMatching(new RegExp(`^${server.baseUrl}/uploads/[\\w-]{43}$`)),
      timeoutSeconds: 3600,
      expiresAt: expect.any(String),
      fileName: 'call.mp4',
      fileSize: 1_000,
      encodeProgress: null,
      errorCode: null,
    })
    expect(headers.get('location')).toBe(`${RECORDINGS}/${recordingId}/uploads/${body.uploadId}`)
    const { uploadUrl: _, timeoutSeconds: __, ...state } = body
    expect((await key.get(headers.get('location') ?? '')).body).toEqual(state)
  })

  test('the asset is waiting afterwards', async () => {
    const recordingId = await newRecording()
    expect(await assetOf(recordingId)).toBeNull()
    await create(recordingId)
    expect(await assetOf(recordingId)).toMatchObject({ status: 'waiting', url: null, errorCode: null })
  })

  test('the database does not store the token of the URL', async () => {
    const recordingId = await newRecording()
    const token = new URL((await create(recordingId)).body.uploadUrl).pathname.split('/').at(-1) ?? ''
    expect(Buffer.from(token, 'base64url')).toHaveLength(32)
    const [row] = await server.database
      .sql`select to_jsonb(u)::text as text from upload u where recording_id = ${recordingId}`
    expect(row?.text).toContain(new Bun.CryptoHasher('sha256').update(token).digest('hex'))
    expect(row?.text).not.toContain(token)
    expect(row?.text).not.toContain(Buffer.from(token, 'base64url').toString('hex'))
  })

  test('401, then 404, then 400', async () => {
    const { status } = await server.as('nobody').post(`${RECORDINGS}/${newId()}/uploads`, '{')
    expect(status).toBe(401)
    expect((await create(newId(), '{', user)).body.code).toBe('recording_not_found')
    expect((await create(await newRecording(), '{')).body.code).toBe('malformed_json')
  })
})

describe('the body', () => {
  test.each([
    ['fileName', [undefined, null, 5, '', ' \t', 'a'.repeat(256), 'a\0b']],
    ['fileSize', [undefined, null, '1000', 0, -1, 1.5, MAX_SIZE + 1, 1e300]],
    ['folderId', [null, 5, 'x', '12']],
    ['batchId', [null, 5, 'x', '12']],
    ['source', [null, 5, '', 'A', 'a b', 'ä', 'a'.repeat(65)]],
    ['inMobileApp', [null, 'true', 1]],
  ] as const)('%s that does not fit is 400 and creates nothing', async (member, values) => {
    const recordingId = await newRecording()
    for (const value of values) {
      const answer = await createAsUser(recordingId, { ...BODY, [member]: value })
      expect([value, answer.status, answer.body.code]).toEqual([value, 400, 'validation_failed'])
    }
    expect(await rowsOf(recordingId)).toHaveLength(0)
    expect(await assetOf(recordingId)).toBeNull()
  })

  test.each([
    ['fileName', ['a', 'ü'.repeat(255), '😀'.repeat(255), '../../etc/passwd', 'a/b\\c "d".mp4']],
    ['fileSize', [1, 5 * 1024 ** 3, MAX_SIZE]],
    ['source', ['a', 'zoom_2.0-beta', 'a'.repeat(64)]],
    ['inMobileApp', [true, false]],
  ] as const)('%s of every kind is 201', async (member, values) => {
    for (const value of values) {
      const { status, body } = await create(await newRecording(), { ...BODY, [member]: value })
      expect([value, status]).toEqual([value, 201])
      if (member.startsWith('file')) expect(body[member]).toBe(value)
    }
  })

  test('fileName is stored trimmed', async () => {
    expect((await create(await newRecording(), { ...BODY, fileName: ' a b.mp4\n' })).body.fileName).toBe(
      'a b.mp4',
    )
  })

  test('source is api for a key and web for a user where it is absent', async () => {
    const [byKey, byUser] = [await newRecording(), await newRecording()]
    await create(byKey)
    await createAsUser(byUser)
    expect([(await rowsOf(byKey))[0]?.source, (await rowsOf(byUser))[0]?.source]).toEqual(['api', 'web'])
    expect((await create(byKey, { ...BODY, source: 'api' })).status).toBe(201)
    expect((await create(byKey, { ...BODY, source: 'web' })).status).toBe(409)
  })

  test('folderId must be visible, else 404; the recording is added to that folder', async () => {
    const [first, second, hidden] = [
      await createFolder(key),
      await createFolder(key),
      await createFolder(user, false),
    ]
    const recordingId = await newRecording({ folderIds: [first] })
    const stranger = server.as({ apiKey: (await server.createTenant()).apiKey })
    for (const folderId of [newId(), hidden, await createFolder(stranger)]) {
      const answer = await create(recordingId, { ...BODY, folderId })
      expect([answer.status, answer.body.code]).toEqual([404, 'folder_not_found'])
    }
    expect(await rowsOf(recordingId)).toHaveLength(0)
    expect((await create(recordingId, { ...BODY, folderId: second.toUpperCase() })).status).toBe(201)
    expect((await key.get(`${RECORDINGS}/${recordingId}`)).body.folderIds.toSorted()).toEqual(
      [first, second].toSorted(),
    )
    expect((await create(recordingId, { ...BODY, folderId: second })).status).toBe(201)
  })

  test('batchId must belong to the user, else 404', async () => {
    const other = server.as({ userToken: (await server.createUser(tenant.organizationId)).userToken })
    const foreign = (await other.post('/v3/rest/upload-batches', {})).body.id
    const recordingId = await newRecording()
    for (const batchId of [newId(), foreign]) {
      const answer = await createAsUser(recordingId, { ...BODY, batchId })
      expect([answer.status, answer.body.code]).toEqual([404, 'batch_not_found'])
    }
    const batchId = await newBatch()
    expect((await createAsUser(recordingId, { ...BODY, batchId })).status).toBe(201)
    expect((await rowsOf(recordingId))[0]?.batch_id).toBe(batchId)
  })

  test('an organization API key cannot attach a batch: 400 batch_requires_user', async () => {
    const answer = await create(await newRecording(), { ...BODY, batchId: await newBatch() })
    expect([answer.status, answer.body.code]).toEqual([400, 'batch_requires_user'])
  })
})

describe('Origin', () => {
  test('a user must send it, else 400 origin_required; a server with an API key need not', async () => {
    const recordingId = await newRecording()
    for (const headers of [{}, { origin: '' }, { origin: 'example' }, { origin: `${ORIGIN}/path` }]) {
      const answer = await create(recordingId, BODY, user, headers)
      expect([headers, answer.status, answer.body.code]).toEqual([headers, 400, 'origin_required'])
    }
    expect((await createAsUser(recordingId)).status).toBe(201)
    expect((await rowsOf(recordingId))[0]?.origin).toBe(ORIGIN)
    expect((await create(await newRecording())).status).toBe(201)
  })

  test('of opaque pages and of apps is accepted', async () => {
    for (const origin of ['null', 'capacitor://localhost', 'http://localhost:5173'])
      expect((await create(await newRecording(), BODY, user, { origin })).status).toBe(201)
  })
})

describe('the identical request', () => {
  test('returns the waiting upload with the same uploadId and uploadUrl, and slides nothing', async () => {
    const recordingId = await newRecording()
    const [folderId, batchId] = [await createFolder(key), await newBatch()]
    const body = { ...BODY, source: 'studio', folderId, batchId }
    const first = await createAsUser(recordingId, body)
    await server.database.sql`
      update upload set expires_at = now() + interval '100.5 seconds', bytes_received = 5 where recording_id = ${recordingId}`
    await key.patch(`${RECORDINGS}/${recordingId}`, { folderIds: [] })
    const before = await rowsOf(recordingId)
    const again = await createAsUser(recordingId, { ...body, fileName: ' call.mp4 ', inMobileApp: true })
    expect(again.status).toBe(201)
    expect(again.headers.get('location')).toBe(first.headers.get('location'))
    expect(again.body).toEqual({
      ...first.body,
      expiresAt: before[0]?.expires_at.toISOString(),
      timeoutSeconds: expect.any(Number),
    })
    expect(again.body.timeoutSeconds).toBeLessThanOrEqual(100)
    expect(again.body.timeoutSeconds).toBeGreaterThan(50)
    expect(await rowsOf(recordingId)).toEqual(before)
    expect((await key.get(`${RECORDINGS}/${recordingId}`)).body.folderIds).toEqual([])
  })

  test('sent twenty times at once creates one upload', async () => {
    const recordingId = await newRecording()
    const answers = await Promise.all(Array.from({ length: 20 }, () => create(recordingId)))
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(201))
    expect(new Set(answers.map(({ body }) => `${body.uploadId} ${body.uploadUrl}`)).size).toBe(1)
    expect(await rowsOf(recordingId)).toHaveLength(1)
  })

  test('gets the same uploadUrl from another process with the same keys', async () => {
    const recordingId = await newRecording()
    const first = await create(recordingId)
    const app = createApp(server.deps).listen({ hostname: '127.0.0.1', port: 0 })
    try {
      const baseUrl = `http://127.0.0.1:${app.server?.port}`
      const second = await create(recordingId, BODY, clientOf(baseUrl, { apiKey: tenant.apiKey }))
      expect(new URL(second.body.uploadUrl).pathname).toBe(new URL(first.body.uploadUrl).pathname)
    } finally {
      await app.stop(true)
    }
  })

  test('returns a working upload even after the service key was lost', async () => {
    const recordingId = await newRecording()
    await create(recordingId)
    await server.database.sql`update upload set token_hash = 'other' where recording_id = ${recordingId}`
    const { uploadUrl } = (await create(recordingId)).body
    const head = await fetch(uploadUrl, { method: 'HEAD', headers: { 'tus-resumable': '1.0.0' } })
    expect(head.status).toBe(200)
  })

  test('creates a new upload after the previous one has ended', async () => {
    const recordingId = await newRecording()
    const first = (await create(recordingId)).body
    await key.delete(`${RECORDINGS}/${recordingId}/uploads/${first.uploadId}`)
    const second = (await create(recordingId)).body
    expect(second.uploadId).not.toBe(first.uploadId)
    expect(second.uploadUrl).not.toBe(first.uploadUrl)
    expect(await assetOf(recordingId)).toMatchObject({ status: 'waiting' })
  })

  test('creates a new upload if the previous one is overdue', async () => {
    const recordingId = await newRecording()
    const first = (await create(recordingId)).body
    await server.database.sql`update upload set expires_at = now() where recording_id = ${recordingId}`
    const second = await create(recordingId)
    expect(second.status).toBe(201)
    expect(second.body.uploadId).not.toBe(first.uploadId)
    const { body } = await key.get(`${RECORDINGS}/${recordingId}/uploads/${first.uploadId}`)
    expect([body.phase, body.errorCode]).toEqual(['failed', 'upload_expired'])
    expect(await assetOf(recordingId)).toMatchObject({ status: 'waiting', errorCode: null })
  })
})

describe('one active media ingestion', () => {
  test.each(['fileName', 'fileSize', 'source', 'folderId', 'batchId'] as const)(
    'a request with another %s is 409 media_ingestion_active while an upload waits',
    async (member) => {
      const recordingId = await newRecording()
      const other = {
        fileName: 'Call.mp4',
        fileSize: 1_001,
        source: 'other',
        folderId: await createFolder(key),
        batchId: await newBatch(),
      }[member]
      const first = await createAsUser(recordingId)
      const answer = await createAsUser(recordingId, { ...BODY, [member]: other })
      expect([answer.status, answer.body.code]).toEqual([409, 'media_ingestion_active'])
      expect((await rowsOf(recordingId)).map(({ id }) => id)).toEqual([first.body.uploadId])
      expect((await key.get(`${RECORDINGS}/${recordingId}`)).body.folderIds).toEqual([])
    },
  )

  test('exactly one of different concurrent requests gets 201; the others get 409', async () => {
    const recordingId = await newRecording()
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, index) => create(recordingId, { ...BODY, fileSize: index + 1 })),
    )
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, ...Array(11).fill(409)])
    expect(await rowsOf(recordingId)).toHaveLength(1)
  })

  test.each(['processing', 'encoding'])(
    'an identical request is 409, too, while the upload is %s',
    async (phase) => {
      const recordingId = await newRecording()
      await create(recordingId)
      await server.database.sql`update upload set phase = ${phase} where recording_id = ${recordingId}`
      await setAsset(recordingId, 'processing')
      expect((await create(recordingId)).body.code).toBe('media_ingestion_active')
    },
  )

  test('an upload is 409 while media from assetUrl is being fetched', async () => {
    const recordingId = await newRecording({ assetUrl: 'https://media.example.com/a.mp3' })
    for (const status of ['queued', 'uploading', 'processing']) {
      await setAsset(recordingId, status)
      expect((await create(recordingId)).body.code).toBe('media_ingestion_active')
    }
    expect(await rowsOf(recordingId)).toHaveLength(0)
  })

  test('an upload replaces existing media; the asset stays available meanwhile', async () => {
    const recordingId = await newRecording()
    await setAsset(recordingId, 'completed')
    const before = await assetOf(recordingId)
    const { status, body } = await create(recordingId)
    expect([status, body.phase]).toEqual([201, 'waiting'])
    expect(await assetOf(recordingId)).toEqual(before)
    const other = await create(recordingId, { ...BODY, fileSize: 1_001 })
    expect([other.status, other.body.code]).toEqual([409, 'media_ingestion_active'])
    await key.delete(`${RECORDINGS}/${recordingId}/uploads/${body.uploadId}`)
    expect(await assetOf(recordingId)).toEqual(before)
  })

  test.each(['failed', 'cancelled'])('a new upload is accepted after the media has %s', async (status) => {
    const recordingId = await newRecording({ assetUrl: 'https://media.example.com/a.mp3' })
    await server.database.sql`
      update recording set asset_status = ${status}, asset_error_code = 'media_empty' where id = ${recordingId}`
    expect((await create(recordingId)).status).toBe(201)
    expect(await assetOf(recordingId)).toMatchObject({ status: 'waiting', errorCode: null })
    const [row] = await server.database
      .sql`select asset_source_url as url from recording where id = ${recordingId}`
    expect(row?.url).toBeNull()
  })
})

describe('visibility', () => {
  test('a recording in an invisible private folder is 404', async () => {
    const hidden = await createRecording(user, { folderIds: [await createFolder(user, false)] })
    expect((await create(hidden.id)).body.code).toBe('recording_not_found')
    const { uploadId } = (await createAsUser(hidden.id)).body
    for (const method of ['GET', 'DELETE']) {
      const path = `${RECORDINGS}/${hidden.id}/uploads/${uploadId}`
      expect((await key.send(method, path)).body.code).toBe('recording_not_found')
      expect((await user.send(method, path)).status).toBe(200)
    }
  })
})
