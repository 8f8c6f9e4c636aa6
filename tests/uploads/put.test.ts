/** `PUT` of a whole file, and of chunks with `Content-Range` (as UpChunk and Google's resumable uploads send them). */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { eventually } from '../support/eventually.ts'
import { sha256 } from '../support/media.ts'
import { openRequest } from '../support/raw-request.ts'
import { startTestServer, type TestServer, type TestTenant } from '../support/server.ts'
import { createTestUpload, noise, offsetOf, patch, type TestUpload } from '../support/uploads.ts'
import { storedBytes } from './support/stored.ts'

const SIZE = 1_000
const FILE = noise(SIZE)

let server: TestServer
let tenant: TestTenant

beforeAll(async () => {
  server = await startTestServer()
  tenant = await server.createTenant()
})

afterAll(() => server?.stop())

const create = (fileSize = SIZE) => createTestUpload(server, tenant, { fileSize })

/** The status and the `Range` header. */
interface Outcome {
  readonly status: number
  readonly range: string | null
  // biome-ignore lint/suspicious/noExplicitAny: the test checks the response itself
  readonly body: any
}

async function put(url: string, body: Uint8Array<ArrayBuffer>, contentRange?: string): Promise<Outcome> {
  const headers: Record<string, string> = contentRange === undefined ? {} : { 'content-range': contentRange }
  const response = await fetch(url, { method: 'PUT', headers, body, redirect: 'manual' })
  const text = await response.text()
  return {
    status: response.status,
    range: response.headers.get('range'),
    body: text === '' ? null : JSON.parse(text),
  }
}

/** The bytes of the range, with `Content-Range`. */
const chunk = (url: string, first: number, last: number, total: number | '*' = SIZE) =>
  put(url, FILE.slice(first, last + 1), `bytes ${first}-${last}/${total}`)

const probe = (url: string, total: number | '*' = SIZE) => put(url, new Uint8Array(), `bytes */${total}`)

/** A body without a length: `Transfer-Encoding: chunked`. */
function unsized(bytes: Uint8Array): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      // A body that is complete when it is sent would get a length nevertheless.
      await Bun.sleep(0)
      controller.enqueue(bytes)
      controller.close()
    },
  })
}

async function expectWhole(upload: TestUpload): Promise<void> {
  expect(sha256(await storedBytes(server.deps, upload.uploadId))).toBe(sha256(FILE))
}

describe('PUT of the whole file', () => {
  test('is 201 with the upload, and 200 when sent again', async () => {
    const upload = await create()
    const { status, body } = await put(upload.uploadUrl, FILE)
    expect(status).toBe(201)
    expect(body).toMatchObject({
      uploadId: upload.uploadId,
      recordingId: upload.recordingId,
      phase: 'processing',
      fileName: 'call.wav',
      fileSize: SIZE,
      errorCode: null,
    })
    expect((await put(upload.uploadUrl, FILE)).status).toBe(200)
    await expectWhole(upload)
  })

  test.each([
    [SIZE + 1, 413, 'upload_too_large'],
    [SIZE - 1, 400, 'upload_length_mismatch'],
    [0, 400, 'upload_length_mismatch'],
  ] as const)(
    'a Content-Length other than the file size is refused at once: %p',
    async (size, status, code) => {
      const { uploadUrl } = await create()
      const answer = await put(uploadUrl, noise(size))
      expect([answer.status, answer.body.code]).toEqual([status, code])
      expect(await offsetOf(uploadUrl)).toBe(0)
    },
  )

  test('without Content-Length the body must be exactly as long as the file', async () => {
    const send = async (url: string, bytes: Uint8Array) =>
      (await fetch(url, { method: 'PUT', body: unsized(bytes) })).status
    const [exact, short, long] = [await create(), await create(), await create()]
    expect(await send(exact.uploadUrl, FILE)).toBe(201)
    await expectWhole(exact)
    expect(await send(short.uploadUrl, FILE.slice(0, 999))).toBe(400)
    expect(await send(long.uploadUrl, noise(SIZE + 1))).toBe(413)
    for (const { uploadUrl } of [short, long]) expect((await put(uploadUrl, FILE)).status).toBe(201)
  })

  test('overwrites bytes sent with another protocol', async () => {
    const upload = await create()
    await patch(upload.uploadUrl, 0, FILE.slice(0, 300))
    expect((await put(upload.uploadUrl, FILE)).status).toBe(201)
    await expectWhole(upload)
  })
})

describe('PUT with Content-Range', () => {
  test('is 308 with Range while bytes are missing, then 200 with the upload', async () => {
    const upload = await create()
    expect(await chunk(upload.uploadUrl, 0, 399)).toEqual({ status: 308, range: 'bytes=0-399', body: null })
    expect(await chunk(upload.uploadUrl, 400, 998, '*')).toEqual({
      status: 308,
      range: 'bytes=0-998',
      body: null,
    })
    const last = await chunk(upload.uploadUrl, 999, 999)
    expect([last.status, last.body.uploadId, last.body.phase]).toEqual([200, upload.uploadId, 'processing'])
    await expectWhole(upload)
  })

  test('a probe returns the stored range: no Range without bytes, 200 when complete', async () => {
    const { uploadUrl } = await create()
    expect(await probe(uploadUrl)).toEqual({ status: 308, range: null, body: null })
    await chunk(uploadUrl, 0, 0)
    expect(await probe(uploadUrl, '*')).toEqual({ status: 308, range: 'bytes=0-0', body: null })
    await chunk(uploadUrl, 1, 999)
    expect((await probe(uploadUrl)).status).toBe(200)
  })

  test('stored bytes are skipped', async () => {
    const upload = await create()
    await chunk(upload.uploadUrl, 0, 399)
    const wrong = new Uint8Array(400)
    expect(await put(upload.uploadUrl, wrong, 'bytes 0-399/1000')).toMatchObject({
      status: 308,
      range: 'bytes=0-399',
    })
    expect(await chunk(upload.uploadUrl, 100, 599)).toMatchObject({ status: 308, range: 'bytes=0-599' })
    expect((await chunk(upload.uploadUrl, 0, 999)).status).toBe(200)
    expect((await chunk(upload.uploadUrl, 0, 999)).status).toBe(200)
    await expectWhole(upload)
  })

  test('a chunk after a gap is 308 with the stored range, from which the client continues', async () => {
    const upload = await create()
    expect(await chunk(upload.uploadUrl, 1, 999)).toEqual({ status: 308, range: null, body: null })
    await chunk(upload.uploadUrl, 0, 99)
    expect(await chunk(upload.uploadUrl, 500, 999)).toEqual({ status: 308, range: 'bytes=0-99', body: null })
    expect((await chunk(upload.uploadUrl, 100, 999)).status).toBe(200)
    await expectWhole(upload)
  })

  test('a body without a length is read to the end of the range', async () => {
    const upload = await create()
    const send = async (bytes: Uint8Array<ArrayBuffer>, range: string) => {
      const body = unsized(bytes)
      return fetch(upload.uploadUrl, {
        method: 'PUT',
        headers: { 'content-range': range },
        body,
        redirect: 'manual',
      })
    }
    const first = await send(FILE, 'bytes 0-99/1000')
    expect([first.status, first.headers.get('range')]).toEqual([308, 'bytes=0-99'])
    // Shorter than announced: the received bytes are kept.
    const short = await send(FILE.slice(100, 150), 'bytes 100-199/1000')
    expect([short.status, short.headers.get('range')]).toEqual([308, 'bytes=0-149'])
    expect((await send(FILE.slice(150), 'bytes 150-999/1000')).status).toBe(200)
    await expectWhole(upload)
  })

  test.each([
    ['a total that is not the size of the file', 'bytes 0-99/1001', 100, 400, 'upload_length_mismatch'],
    ['a probe with another total', 'bytes */999', 0, 400, 'upload_length_mismatch'],
    ['a range that is not as long as the body', 'bytes 0-99/1000', 99, 400, 'upload_length_mismatch'],
    ['a range behind the end of the file', 'bytes 900-1000/*', 101, 413, 'upload_too_large'],
    ['a probe with a body', 'bytes */1000', 5, 400, 'validation_failed'],
    ['a range that is none', 'bytes 5-1/1000', 5, 400, 'validation_failed'],
    ['another unit', 'items 0-4/1000', 5, 400, 'validation_failed'],
  ] as const)('%s is refused', async (_, range, size, status, code) => {
    const { uploadUrl } = await create()
    const answer = await put(uploadUrl, noise(size), range)
    expect([answer.status, answer.body.code]).toEqual([status, code])
    expect(await offsetOf(uploadUrl)).toBe(0)
  })
})

describe('connections', () => {
  test.each(['end', 'reset'] as const)(
    'bytes received before the client disconnected are kept: %s',
    async (way) => {
      const upload = await create()
      const request = openRequest('PUT', upload.uploadUrl, { 'content-length': String(SIZE) })
      await request.write(FILE.slice(0, 600))
      // The bytes are on the way until the service has seen the first of them.
      await eventually(async () => (await assetStatus(upload)) === 'uploading')
      request[way]()
      await request.closed
      await eventually(async () => (await offsetOf(upload.uploadUrl)) === 600)
      expect(await probe(upload.uploadUrl)).toMatchObject({ range: 'bytes=0-599' })
      expect((await chunk(upload.uploadUrl, 600, 999)).status).toBe(200)
      await expectWhole(upload)
    },
  )

  test('the newest request wins: a stalled one gets 503 and loses none of its sent bytes', async () => {
    const upload = await create()
    const stalled = openRequest('PUT', upload.uploadUrl, {
      'content-length': String(SIZE),
      'content-range': `bytes 0-${SIZE - 1}/${SIZE}`,
    })
    await stalled.write(FILE.slice(0, 250))
    await eventually(async () => (await assetStatus(upload)) === 'uploading')
    expect(await probe(upload.uploadUrl)).toMatchObject({ status: 308, range: 'bytes=0-249' })
    const answer = await stalled.response
    expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '1' } })
    expect(JSON.parse(answer?.body ?? '')).toMatchObject({ code: 'upload_busy' })
    stalled.reset()
    expect((await chunk(upload.uploadUrl, 250, 999)).status).toBe(200)
    await expectWhole(upload)
  })

  test('no chunk closes the connection, accepted or not; an unneeded large body is not waited for', async () => {
    const file = noise(3 * 1024 ** 2)
    const { uploadUrl } = await create(file.byteLength)
    const half = file.byteLength / 2
    for (const first of [0, half]) {
      const headers = { 'content-range': `bytes ${first}-${first + half - 1}/${file.byteLength}` }
      const { status, headers: answered } = await fetch(uploadUrl, {
        method: 'PUT',
        headers,
        body: file.slice(first, first + half),
        redirect: 'manual',
      })
      expect([status, answered.get('connection')]).toEqual([first === 0 ? 308 : 200, null])
    }
    const length = { 'content-length': String(file.byteLength) }
    const range = { 'content-range': `bytes 0-${file.byteLength - 1}/${file.byteLength}` }
    for (const headers of [length, { ...length, ...range }]) {
      const again = openRequest('PUT', uploadUrl, headers)
      const answer = await again.response
      expect([answer?.status, answer?.headers.connection]).toEqual([200, undefined])
      again.reset()
    }
  })

  test('a refusal does not wait for a large body', async () => {
    const { uploadUrl } = await create()
    const request = openRequest('PUT', uploadUrl, { 'content-length': String(6 * 1024 ** 3) })
    const answer = await request.response
    expect([answer?.status, answer?.headers.connection]).toEqual([413, undefined])
    request.reset()
  })
})

async function assetStatus({ recordingId }: TestUpload): Promise<string> {
  const { body } = await server.as({ apiKey: tenant.apiKey }).get(`/v3/rest/recordings/${recordingId}`)
  return body.asset?.status
}
