/** Limits of uploads: waiting for slow clients, the number of waiting uploads, space in the store, statements. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createApp } from '../../src/app/app.ts'
import { loadConfig } from '../../src/app/config.ts'
import type { ServiceDeps } from '../../src/app/container.ts'
import {
  createUploadReceiver,
  Superseded,
  TooSlow,
  type UploadReceiver,
} from '../../src/calls/uploads/upload-receiver.ts'
import { createS3Store } from '../../src/platform/storage/s3.ts'
import { openRequest } from '../support/raw-request.ts'
import { createRecording, RECORDINGS } from '../support/recordings.ts'
import { clientOf, startTestServer, type TestServer, type TestTenant } from '../support/server.ts'
import { at, createTestUpload, createUpload, noise, offsetOf, patch, TUS } from '../support/uploads.ts'

setDefaultTimeout(300_000)

const MAX_WAITING = 3
const SIZE = 100_000
const CONTENT = noise(SIZE)
const PACE = { bytes: 1_000, ms: 300 }
const LIMITS = { pace: PACE, graceMs: 50 }

let server: TestServer
const stops: (() => unknown)[] = []

beforeAll(async () => {
  server = await startTestServer({
    env: { MAX_WAITING_UPLOADS: String(MAX_WAITING), DATABASE_POOL_SIZE: '20' },
  })
})
afterAll(async () => {
  for (const stop of stops) await stop()
  await server?.stop()
})

const receiverWith = (
  storage: Partial<ServiceDeps['storage']['incoming']> = {},
  limits = LIMITS,
): UploadReceiver => {
  const incoming = { ...server.deps.storage.incoming, ...storage }
  const deps = { ...server.deps, storage: { ...server.deps.storage, incoming } }
  const receiver = createUploadReceiver(deps, limits)
  stops.push(() => receiver.stop())
  return receiver
}
/** A process of the service of its own. */
const serve = (deps: ServiceDeps, receiver?: UploadReceiver): string => {
  const features =
    receiver === undefined ? {} : { features: { ...server.features, uploadReceiver: receiver } }
  const app = createApp(deps, features).listen({ hostname: '127.0.0.1', port: 0 })
  stops.push(() => app.stop(true))
  return `http://127.0.0.1:${app.server?.port}`
}
const newUpload = async (fileSize = SIZE) => {
  const tenant = await server.createTenant()
  const upload = await createTestUpload(server, tenant, { fileSize })
  const { organizationId } = tenant
  return { ...upload, id: upload.uploadId, organizationId }
}
const outcome = (promise: Promise<unknown>) =>
  promise.then(
    (value) => value,
    (error: unknown) => error,
  )
function feed() {
  let controller: ReadableStreamDefaultController<Uint8Array>
  const body = new ReadableStream<Uint8Array>({
    start(own) {
      controller = own
    },
  })
  return { body, push: (from: number, to: number) => controller.enqueue(CONTENT.subarray(from, to)) }
}
const never = new AbortController().signal
const request = (body: ReadableStream<Uint8Array>, more = {}) => ({
  offset: 0,
  skip: 0,
  body,
  signal: never,
  ...more,
})

describe('a slow client', () => {
  test.each([
    ['with Content-Length', { 'content-length': String(SIZE) }],
    ['in chunks', { 'transfer-encoding': 'chunked' }],
  ])('is ended with 503 upload_too_slow, and goes on from what had come: %s', async (_, headers) => {
    const baseUrl = serve(server.deps, receiverWith())
    const { uploadUrl } = await newUpload()
    const url = uploadUrl.replace(server.baseUrl, baseUrl)
    const isChunked = 'transfer-encoding' in headers
    const framed = (bytes: Uint8Array) =>
      isChunked
        ? Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
        : bytes
    const sending = openRequest('PATCH', url, { ...at(0), ...headers })
    await sending.write(framed(CONTENT.subarray(0, 500)))
    let isAnswered = false
    const answer = sending.response.finally(() => {
      isAnswered = true
    })
    for (let sent = 500; !isAnswered && sent < 900; sent++) {
      await sending.write(framed(CONTENT.subarray(sent, sent + 1)))
      await Bun.sleep(10) // the pace of this client
    }
    const response = await answer
    expect([response?.status, JSON.parse(response?.body ?? '{}').code]).toEqual([503, 'upload_too_slow'])
    expect(response?.headers).toMatchObject({ 'retry-after': '1', connection: 'close' })
    await sending.closed
    const offset = await offsetOf(uploadUrl)
    expect(offset).toBeWithin(500, 900)
    expect((await patch(uploadUrl, offset ?? 0, CONTENT.subarray(offset ?? 0))).status).toBe(204)
  })

  test('is disconnected even if it sends nothing at all', async () => {
    const upload = await newUpload()
    expect(await outcome(receiverWith().receive(upload, request(feed().body)))).toBeInstanceOf(TooSlow)
  })

  test('loses the bytes of a request with a checksum', async () => {
    const upload = await newUpload()
    const { body, push } = feed()
    push(0, 500)
    const checksum = { algorithm: 'sha1', digest: new Uint8Array(20) } as const
    expect(await outcome(receiverWith().receive(upload, request(body, { checksum })))).toBeInstanceOf(TooSlow)
    expect(await offsetOf(upload.uploadUrl)).toBe(0)
  })

  test('completes the file once its last byte arrives', async () => {
    const upload = await newUpload()
    const { body, push } = feed()
    push(0, SIZE - 1)
    push(SIZE - 1, SIZE)
    expect(await receiverWith().receive(upload, request(body))).toMatchObject({ phase: 'processing' })
  })

  test('is tolerated at the minimum pace, however long it takes', async () => {
    const upload = await newUpload()
    const { body, push } = feed()
    const pace = { bytes: 1_000, ms: 1_000 }
    const running = receiverWith({}, { ...LIMITS, pace }).receive(upload, request(body))
    const since = performance.now()
    let sent = 0
    while (performance.now() - since < 2 * pace.ms) {
      push(sent, sent + 500)
      sent += 500
      await Bun.sleep(20) // the pace of this client
    }
    push(sent, SIZE)
    expect(await running).toMatchObject({ phase: 'processing', offset: SIZE })
  })

  test('is not blamed for waiting for the store', async () => {
    const [upload, ...silent] = await Promise.all([newUpload(), newUpload(), newUpload()])
    const { body, push } = feed()
    const { incoming } = server.deps.storage
    const opened = Promise.withResolvers<void>()
    const receiver = receiverWith({
      async append(...args) {
        // Longer than two clients that say nothing are waited for, one after the other.
        for (const other of silent)
          expect(await outcome(receiverWith().receive(other, request(feed().body)))).toBeInstanceOf(TooSlow)
        opened.resolve()
        return incoming.append(...args)
      },
    })
    const running = receiver.receive(upload, request(body))
    push(0, 10)
    await opened.promise
    await new Promise(setImmediate)
    push(10, SIZE)
    expect(await running).toMatchObject({ phase: 'processing' })
  })
})

describe('a store that does not answer', () => {
  /** Until the signal says so. */
  const silent = (signal: AbortSignal | undefined) =>
    new Promise<never>((_, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
    })

  test('does not delay the newest request: the older one ends', async () => {
    const upload = await newUpload()
    const opening = Promise.withResolvers<void>()
    const receiver = receiverWith({
      append(_, __, { signal }) {
        opening.resolve()
        return silent(signal)
      },
    })
    const { body, push } = feed()
    const older = outcome(receiver.receive(upload, request(body)))
    push(0, 10)
    await opening.promise
    const found = await receiver.find(upload.uploadUrl.split('/').at(-1) ?? '')
    expect(await receiver.interrupt(found as NonNullable<typeof found>)).toMatchObject({ offset: 0 })
    expect(await older).toBeInstanceOf(Superseded)
  })

  test('does not delay the end of the process', async () => {
    const upload = await newUpload()
    const opening = Promise.withResolvers<void>()
    const receiver = receiverWith({
      append(_, __, { signal }) {
        opening.resolve()
        return silent(signal)
      },
    })
    const { body, push } = feed()
    const running = receiver.receive(upload, request(body))
    push(0, 10)
    await opening.promise
    await receiver.stop()
    expect(await running).toMatchObject({ phase: 'waiting', offset: 0 })
  })

  test('does not delay a cancellation: received bytes are deleted later', async () => {
    const upload = await newUpload()
    const receiver = receiverWith({ discard: (_, __, signal) => silent(signal) })
    expect(await receiver.cancel(upload)).toMatchObject({ phase: 'cancelled' })
    const entered = await server.database.sql`
      select 1 from upload_garbage g join upload u using (object_key) where u.id = ${upload.id}`
    expect(entered).toHaveLength(1)
  })
})

describe('uploads that wait for their bytes', () => {
  const clientFor = (tenant: TestTenant) => server.as({ apiKey: tenant.apiKey })
  const create = async (tenant: TestTenant) => {
    const client = clientFor(tenant)
    const { id } = await createRecording(client)
    const path = `${RECORDINGS}/${id}/uploads`
    return { path, ...(await client.post(path, { fileName: 'a.wav', fileSize: 10 })) }
  }

  test('of one organization are limited: one more is 429 too_many_uploads, and changes nothing', async () => {
    const tenant = await server.createTenant()
    const created = []
    for (let index = 0; index < MAX_WAITING; index++) created.push(await create(tenant))
    expect(created.map(({ status }) => status)).toEqual([201, 201, 201])
    const refused = await create(tenant)
    expect([refused.status, refused.body.code]).toEqual([429, 'too_many_uploads'])
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/)
    const recording = await clientFor(tenant).get(refused.path.replace('/uploads', ''))
    expect(recording.body.asset).toBeNull()
    // The identical request is no further upload.
    const [first] = created
    const again = await clientFor(tenant).post(first?.path ?? '', { fileName: 'a.wav', fileSize: 10 })
    expect([again.status, again.body.uploadId]).toEqual([201, first?.body.uploadId])
    expect((await create(await server.createTenant())).status).toBe(201)
  })

  test.each([
    ['cancelled', (path: string, tenant: TestTenant) => clientFor(tenant).delete(path)],
    [
      'overdue',
      (path: string) =>
        server.database.sql`update upload set expires_at = now() where id = ${path.split('/').at(-1) ?? ''}`,
    ],
    [
      'whole',
      (_: string, __: TestTenant, url: string) => fetch(url, { method: 'PUT', body: CONTENT.slice(0, 10) }),
    ],
  ])('make room when one is %s', async (_, end) => {
    const tenant = await server.createTenant()
    const [first] = [await create(tenant), await create(tenant), await create(tenant)]
    expect((await create(tenant)).status).toBe(429)
    await end(`${first.path}/${first.body.uploadId}`, tenant, first.body.uploadUrl)
    expect((await create(tenant)).status).toBe(201)
    expect((await create(tenant)).status).toBe(429)
  })

  test('never exceed the limit, however many requests are concurrent', async () => {
    const tenant = await server.createTenant()
    const created = await Promise.all(Array.from({ length: 12 }, () => create(tenant)))
    expect(created.filter(({ status }) => status === 201)).toHaveLength(MAX_WAITING)
    expect(created.filter(({ status }) => status === 429)).toHaveLength(12 - MAX_WAITING)
  })

  test('are unlimited if the setting is 0; the default is 1000', async () => {
    expect(loadConfig({}).maxWaitingUploads).toBe(1_000)
    const deps = { ...server.deps, config: { ...server.deps.config, maxWaitingUploads: 0 } }
    const baseUrl = serve(deps)
    const { apiKey } = await server.createTenant()
    for (let index = 0; index <= MAX_WAITING; index++) await createUpload(baseUrl, apiKey, { fileSize: 10 })
  })
})

describe('a file that the store cannot hold', () => {
  const MAX_BYTES = 5 * 1024 ** 4

  test('is refused before any byte is sent: 413 upload_too_large', async () => {
    const baseUrl = serve({ ...server.deps, storage: { ...server.deps.storage, maxBytes: MAX_BYTES } })
    const client = clientOf(baseUrl, { apiKey: (await server.createTenant()).apiKey })
    const { id } = await createRecording(client)
    const create = (fileSize: number) =>
      client.post(`${RECORDINGS}/${id}/uploads`, { fileName: 'a.wav', fileSize })
    const { status, body } = await create(MAX_BYTES + 1)
    expect([status, body.code, body.limitBytes]).toEqual([413, 'upload_too_large', MAX_BYTES])
    const fitting = await create(MAX_BYTES)
    expect(fitting.status).toBe(201)
    const options = await fetch(fitting.body.uploadUrl, { method: 'OPTIONS', headers: TUS })
    expect(options.headers.get('tus-max-size')).toBe(String(MAX_BYTES))
  })

  test('on S3 has more than 5 TiB', () => {
    const store = createS3Store({
      bucket: 'media',
      endpoint: null,
      region: 'us-east-1',
      forcePathStyle: false,
      checksum: 'md5',
      credentials: null,
    })
    expect(store.maxBytes).toBe(MAX_BYTES)
    store.close()
  })
})

describe('HEAD', () => {
  /** The same database, and how many statements it was asked. */
  const counting = () => {
    const counts = { statements: 0 }
    const sql = new Proxy(server.deps.sql, {
      apply(target, self, args) {
        const query = Reflect.apply(target as never, self, args) as Promise<unknown>
        const then = query.then.bind(query)
        // Fragments of other statements are never awaited.
        const counted: typeof query.then = (...callbacks) => {
          counts.statements++
          return then(...callbacks)
        }
        return Object.defineProperty(query, 'then', { value: counted })
      },
    })
    return { counts, sql }
  }

  test('costs two statements while bytes are awaited, and one afterwards', async () => {
    const { counts, sql } = counting()
    const baseUrl = serve({ ...server.deps, sql })
    const upload = await newUpload()
    const url = upload.uploadUrl.replace(server.baseUrl, baseUrl)
    const cost = async () => {
      counts.statements = 0
      const { status, headers } = await fetch(url, { method: 'HEAD', headers: TUS })
      return [status, headers.get('upload-offset'), counts.statements]
    }
    expect(await cost()).toEqual([200, '0', 2])
    await patch(upload.uploadUrl, 0, CONTENT.subarray(0, 10))
    expect(await cost()).toEqual([200, '10', 2])
    await patch(upload.uploadUrl, 10, CONTENT.subarray(10))
    expect(await cost()).toEqual([200, String(SIZE), 1])
    await server.database.sql`delete from upload where id = ${upload.id}`
    expect(await cost()).toEqual([404, null, 1])
  })

  test('concurrent with the last byte states that the upload is complete', async () => {
    const upload = await newUpload()
    const receiver = receiverWith()
    const found = await receiver.find(upload.uploadUrl.split('/').at(-1) ?? '')
    expect(found?.phase).toBe('waiting')
    await patch(upload.uploadUrl, 0, CONTENT)
    const settled = await receiver.interrupt(found as NonNullable<typeof found>)
    expect(settled).toMatchObject({ phase: 'processing', offset: SIZE })
  })
})
