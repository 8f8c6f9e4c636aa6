/** tus 1.0.0, rule by rule: the core protocol and the extensions checksum, expiration and termination. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { startTestServer, type TestServer, type TestTenant } from '../support/server.ts'
import { at, createTestUpload, noise, offsetOf, patch, type TestUpload, TUS } from '../support/uploads.ts'

const FILE = noise(1_000)

let server: TestServer
let tenant: TestTenant

beforeAll(async () => {
  server = await startTestServer()
  tenant = await server.createTenant()
})

afterAll(() => server?.stop())

const create = (fileSize = FILE.byteLength) => createTestUpload(server, tenant, { fileSize })
const send = (
  url: string,
  method: string,
  headers: Record<string, string> = {},
  body?: Uint8Array<ArrayBuffer>,
) => fetch(url, { method, headers, ...(body === undefined ? {} : { body }) })
const unknown = () => `${server.baseUrl}/uploads/${'A'.repeat(43)}`

async function created(bytes: number): Promise<TestUpload> {
  const upload = await create()
  expect((await patch(upload.uploadUrl, 0, FILE.slice(0, bytes))).status).toBe(204)
  return upload
}

async function expire({ uploadId }: TestUpload): Promise<void> {
  await server.database.sql`
    update upload
    set expires_at = now() - interval '1 second'
    where organization_id = ${tenant.organizationId}
      and id = ${uploadId}`
}

async function storedBytes({ uploadId }: TestUpload): Promise<number> {
  const [row] = await server.database.sql`
    select bytes_received
    from upload
    where organization_id = ${tenant.organizationId}
      and id = ${uploadId}`
  return Number(row?.bytes_received)
}

describe('Tus-Resumable', () => {
  test('is in every response, also of refusals', async () => {
    const { uploadUrl } = await create()
    const responses = await Promise.all([
      send(uploadUrl, 'OPTIONS'),
      send(uploadUrl, 'HEAD', TUS),
      send(uploadUrl, 'PATCH', { ...at(5) }, FILE),
      send(uploadUrl, 'PATCH', TUS, FILE),
      send(uploadUrl, 'DELETE', { 'tus-resumable': '0.2.2' }),
      send(unknown(), 'HEAD', TUS),
    ])
    expect(responses.map(({ status }) => status)).toEqual([204, 200, 409, 415, 412, 404])
    expect(responses.map(({ headers }) => headers.get('tus-resumable'))).toEqual(Array(6).fill('1.0.0'))
  })

  test.each(['0.2.2', '1.0.1', '2.0.0', '1', ''])(
    'a version that is not supported is 412 with Tus-Version, and the request is not processed: "%s"',
    async (version) => {
      const upload = await create()
      const response = await patch(upload.uploadUrl, 0, FILE, { 'tus-resumable': version })
      expect(response.status).toBe(412)
      expect(response.headers.get('tus-version')).toBe('1.0.0')
      expect(await response.json()).toMatchObject({ code: 'unsupported_tus_version' })
      expect(await storedBytes(upload)).toBe(0)
      for (const method of ['HEAD', 'DELETE'])
        expect((await send(upload.uploadUrl, method, { 'tus-resumable': version || '0' })).status).toBe(412)
      expect(await offsetOf(upload.uploadUrl)).toBe(0)
    },
  )

  test('a PATCH without it is 412', async () => {
    const upload = await create()
    const { 'tus-resumable': _, ...headers } = at(0)
    expect((await send(upload.uploadUrl, 'PATCH', headers, FILE)).status).toBe(412)
    expect(await storedBytes(upload)).toBe(0)
  })
})

describe('OPTIONS', () => {
  test('states version, extensions, maximum size and checksum algorithms, including sha1', async () => {
    const { uploadUrl } = await create()
    const { status, headers } = await send(uploadUrl, 'OPTIONS')
    expect(status).toBe(204)
    expect(headers.get('tus-version')).toBe('1.0.0')
    expect(headers.get('tus-extension')?.split(',').sort()).toEqual(['checksum', 'expiration', 'termination'])
    expect(Number(headers.get('tus-max-size'))).toBe(9_007_199_254_740_991)
    expect(headers.get('tus-checksum-algorithm')?.split(',')).toContain('sha1')
  })

  test('ignores a Tus-Resumable', async () => {
    const { uploadUrl } = await create()
    expect((await send(uploadUrl, 'OPTIONS', { 'tus-resumable': '0.2.2' })).status).toBe(204)
  })
})

describe('HEAD', () => {
  test('returns Upload-Offset and Upload-Length, and is not cacheable', async () => {
    const { uploadUrl } = await created(300)
    const { status, headers } = await send(uploadUrl, 'HEAD', TUS)
    expect(status).toBe(200)
    expect(headers.get('upload-offset')).toBe('300')
    expect(headers.get('upload-length')).toBe('1000')
    expect(headers.get('cache-control')).toBe('no-store')
  })

  test('of an upload without bytes: Upload-Offset is 0', async () => {
    expect(await offsetOf((await create()).uploadUrl)).toBe(0)
  })

  test('of an unknown upload is 404 without Upload-Offset', async () => {
    const { status, headers } = await send(unknown(), 'HEAD', TUS)
    expect(status).toBe(404)
    expect(headers.has('upload-offset')).toBe(false)
  })

  test('keeps working after completion', async () => {
    const { uploadUrl } = await created(1_000)
    const { status, headers } = await send(uploadUrl, 'HEAD', TUS)
    expect(status).toBe(200)
    expect([headers.get('upload-offset'), headers.get('upload-length')]).toEqual(['1000', '1000'])
    expect(headers.has('upload-expires')).toBe(false)
  })
})

describe('PATCH', () => {
  test('is 204 with the new Upload-Offset, from the current one on, until the file is whole', async () => {
    const { uploadUrl, uploadId, recordingId } = await create()
    for (const [from, to] of [
      [0, 400],
      [400, 401],
      [401, 1_000],
    ] as const) {
      const response = await patch(uploadUrl, from, FILE.slice(from, to))
      expect([response.status, response.headers.get('upload-offset')]).toEqual([204, String(to)])
      expect(await response.text()).toBe('')
    }
    const path = `/v3/rest/recordings/${recordingId}/uploads/${uploadId}`
    expect((await server.as({ apiKey: tenant.apiKey }).get(path)).body).toMatchObject({ phase: 'processing' })
  })

  test.each([0, 299, 301, 1_000])(
    'at another offset is 409 with the right one, and changes nothing: %p',
    async (offset) => {
      const upload = await created(300)
      const response = await patch(upload.uploadUrl, offset, FILE.slice(300, 400))
      expect(response.status).toBe(409)
      expect(response.headers.get('upload-offset')).toBe('300')
      expect(await response.json()).toMatchObject({ code: 'upload_offset_mismatch', offset: 300 })
      expect(await offsetOf(upload.uploadUrl)).toBe(300)
    },
  )

  test.each([undefined, '', '-1', '1.5', '0x10', 'abc', '1 2', '9007199254740993'])(
    'Upload-Offset that is no non-negative integer is 400: %p',
    async (offset) => {
      const { uploadUrl } = await create()
      const { 'upload-offset': _, ...headers } = at(0)
      const own: Record<string, string> = offset === undefined ? {} : { 'upload-offset': offset }
      const response = await send(uploadUrl, 'PATCH', { ...headers, ...own }, FILE)
      expect(response.status).toBe(400)
      expect(await response.json()).toMatchObject({
        code: 'validation_failed',
        details: [{ path: 'Upload-Offset' }],
      })
    },
  )

  test.each(['application/octet-stream', 'application/offset', 'text/plain', 'application/json'])(
    'with another Content-Type is 415: %s',
    async (type) => {
      const upload = await create()
      const response = await patch(upload.uploadUrl, 0, FILE, { 'content-type': type })
      expect(response.status).toBe(415)
      expect(await response.json()).toMatchObject({ code: 'unsupported_media_type' })
      expect(await storedBytes(upload)).toBe(0)
    },
  )

  test('of an unknown upload is 404', async () => {
    const response = await patch(unknown(), 0, FILE)
    expect(response.status).toBe(404)
    expect(await response.json()).toMatchObject({ code: 'upload_not_found' })
  })

  test('without bytes is 204 and changes nothing', async () => {
    const { uploadUrl } = await created(300)
    const response = await patch(uploadUrl, 300, new Uint8Array())
    expect([response.status, response.headers.get('upload-offset')]).toEqual([204, '300'])
  })

  test('with more bytes than are missing is 413, and none is kept', async () => {
    const upload = await created(300)
    const response = await patch(upload.uploadUrl, 300, noise(701))
    expect(response.status).toBe(413)
    expect(await response.json()).toMatchObject({ code: 'upload_too_large', limitBytes: 700 })
    expect(await offsetOf(upload.uploadUrl)).toBe(300)
  })

  test('after completion: at the end without bytes 204, with bytes 413, anywhere else 409', async () => {
    const { uploadUrl } = await created(1_000)
    expect((await patch(uploadUrl, 1_000, new Uint8Array())).status).toBe(204)
    expect((await patch(uploadUrl, 1_000, noise(1))).status).toBe(413)
    const early = await patch(uploadUrl, 0, FILE)
    expect([early.status, early.headers.get('upload-offset')]).toEqual([409, '1000'])
  })
})

describe('X-HTTP-Method-Override', () => {
  test('is the method, whatever the method of the request is', async () => {
    const { uploadUrl } = await create()
    const overridden = await send(
      uploadUrl,
      'POST',
      { ...at(0), 'x-http-method-override': 'PATCH' },
      FILE.slice(0, 10),
    )
    expect([overridden.status, overridden.headers.get('upload-offset')]).toEqual([204, '10'])
    const cancelled = await send(uploadUrl, 'POST', { ...TUS, 'x-http-method-override': 'DELETE' })
    expect(cancelled.status).toBe(204)
  })

  test('without it other methods are 405 with Allow', async () => {
    const { uploadUrl } = await create()
    for (const method of ['GET', 'POST']) {
      const response = await send(uploadUrl, method, TUS)
      expect(response.status).toBe(405)
      expect(response.headers.get('allow')).toBe('DELETE, HEAD, OPTIONS, PATCH, PUT')
    }
  })
})

describe('checksum', () => {
  const digest = (algorithm: 'sha1' | 'sha256' | 'md5', bytes: Uint8Array) =>
    `${algorithm} ${new Bun.CryptoHasher(algorithm).update(bytes).digest('base64')}`
  const crc32 = (bytes: Uint8Array) => {
    const buffer = Buffer.alloc(4)
    buffer.writeUInt32BE(Bun.hash.crc32(bytes))
    return `crc32 ${buffer.toString('base64')}`
  }

  test('bytes that match are taken, by each algorithm that OPTIONS names', async () => {
    const { uploadUrl } = await create()
    const offered = (await send(uploadUrl, 'OPTIONS')).headers.get('tus-checksum-algorithm')?.split(',')
    const part = FILE.slice(0, 250)
    const checksums = [digest('sha1', part), digest('sha256', part), digest('md5', part), crc32(part)]
    expect(checksums.map((text) => text.split(' ')[0] ?? '').sort()).toEqual(offered?.sort() ?? [])
    for (const [index, checksum] of checksums.entries()) {
      const response = await patch(uploadUrl, index * 250, part, { 'upload-checksum': checksum })
      expect([checksum, response.status]).toEqual([checksum, 204])
    }
  })

  test('bytes that do not match are 460, and none is kept', async () => {
    const { uploadUrl } = await created(300)
    for (const checksum of [digest('sha1', FILE), digest('sha256', FILE), digest('md5', FILE), crc32(FILE)]) {
      const response = await patch(uploadUrl, 300, FILE.slice(300), { 'upload-checksum': checksum })
      expect(response.status).toBe(460)
      expect(await response.json()).toMatchObject({ code: 'upload_checksum_mismatch' })
      expect(await offsetOf(uploadUrl)).toBe(300)
    }
    const right = await patch(uploadUrl, 300, FILE.slice(300), {
      'upload-checksum': digest('sha1', FILE.slice(300)),
    })
    expect(right.status).toBe(204)
  })

  test.each([
    'sha512 z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==',
    'sha1',
    'sha1 ???',
    'sha1 AAAA',
    'SHA1 2jmj7l5rSw0yVb/vlWAYkK/YBwk=',
    '2jmj7l5rSw0yVb/vlWAYkK/YBwk=',
  ])('an algorithm that is not offered, or no digest of it, is 400: %s', async (checksum) => {
    const upload = await create()
    const response = await patch(upload.uploadUrl, 0, FILE, { 'upload-checksum': checksum })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ details: [{ path: 'Upload-Checksum' }] })
    expect(await storedBytes(upload)).toBe(0)
  })
})

describe('expiration', () => {
  test('Upload-Expires is an HTTP date in every response to PATCH and HEAD of an unfinished upload', async () => {
    const { uploadUrl } = await create()
    const responses = [await send(uploadUrl, 'HEAD', TUS), await patch(uploadUrl, 0, FILE.slice(0, 10))]
    for (const { headers } of responses) {
      const text = headers.get('upload-expires') ?? ''
      expect(text).toMatch(
        /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/,
      )
      expect(Date.parse(text)).toBeGreaterThan(Date.now())
    }
  })

  test('an expired upload is 410, for every method', async () => {
    const upload = await created(300)
    await expire(upload)
    expect((await send(upload.uploadUrl, 'HEAD', TUS)).status).toBe(410)
    const response = await patch(upload.uploadUrl, 300, FILE.slice(300))
    expect(response.status).toBe(410)
    expect(await response.json()).toMatchObject({ code: 'upload_closed' })
    expect((await send(upload.uploadUrl, 'DELETE', TUS)).status).toBe(410)
    expect((await send(upload.uploadUrl, 'PUT', {}, FILE)).status).toBe(410)
  })
})

describe('termination', () => {
  test('DELETE is 204, and every later request 410', async () => {
    const upload = await created(300)
    const response = await send(upload.uploadUrl, 'DELETE', TUS)
    expect(response.status).toBe(204)
    expect((await send(upload.uploadUrl, 'HEAD', TUS)).status).toBe(410)
    expect((await patch(upload.uploadUrl, 300, FILE.slice(300))).status).toBe(410)
    expect((await send(upload.uploadUrl, 'DELETE', TUS)).status).toBe(410)
    const path = `/v3/rest/recordings/${upload.recordingId}/uploads/${upload.uploadId}`
    expect((await server.as({ apiKey: tenant.apiKey }).get(path)).body).toMatchObject({ phase: 'cancelled' })
  })

  test('DELETE of a whole upload is 409: it is being processed', async () => {
    const { uploadUrl } = await created(1_000)
    const response = await send(uploadUrl, 'DELETE', TUS)
    expect(response.status).toBe(409)
    expect(await response.json()).toMatchObject({ code: 'upload_not_cancellable' })
    expect(await offsetOf(uploadUrl)).toBe(1_000)
  })

  test('DELETE of an unknown upload is 404', async () => {
    expect((await send(unknown(), 'DELETE', TUS)).status).toBe(404)
  })
})
