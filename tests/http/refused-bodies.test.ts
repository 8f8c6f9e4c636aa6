/** A client whose body is refused can read the refusal, even if it sends the whole body first. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { connect } from 'node:net'
import { pino } from 'pino'
import { createApp } from '../../src/app/app.ts'
import { eventually } from '../support/eventually.ts'
import { openRequest } from '../support/raw-request.ts'
import { startTestServer, type TestServer, type TestTenant } from '../support/server.ts'
import { createTestUpload, type TestUpload, TUS } from '../support/uploads.ts'

setDefaultTimeout(300_000)

const BODY_BYTES = 12 * 1024 * 1024
const ATTEMPTS = 15
const CHUNK = Buffer.alloc(64 * 1024, ' ')

let server: TestServer
let tenant: TestTenant

beforeAll(async () => {
  server = await startTestServer()
  tenant = await server.createTenant()
})
afterAll(() => server.stop())

/** Sends the whole body before it reads anything. @returns the status; null where the connection was cut instead */
function sendThenRead(
  method: string,
  url: string,
  headers: Readonly<Record<string, string>>,
  bytes: number,
): Promise<number | null> {
  const { hostname, port, pathname } = new URL(url)
  const { promise, resolve } = Promise.withResolvers<number | null>()
  const socket = connect({ host: hostname, port: Number(port) })
  socket.pause()
  socket.on('error', () => resolve(null))
  socket.on('close', () => resolve(null))
  socket.on('data', (data: Buffer) => {
    resolve(Number(data.toString('latin1').slice(9, 12)))
    socket.destroy()
  })
  const isChunked = headers['transfer-encoding'] === 'chunked'
  const length = isChunked ? {} : { 'content-length': String(bytes) }
  const lines = Object.entries({ host: `${hostname}:${port}`, ...length, ...headers })
  socket.write(
    `${method} ${pathname} HTTP/1.1\r\n${lines.map((line) => line.join(': ')).join('\r\n')}\r\n\r\n`,
  )
  let left = bytes
  const writeOn = () => {
    while (left > 0) {
      const chunk = CHUNK.subarray(0, left)
      left -= chunk.byteLength
      if (isChunked) socket.write(`${chunk.byteLength.toString(16)}\r\n`)
      const isDrained = socket.write(chunk)
      if (isChunked) socket.write(left === 0 ? '\r\n0\r\n\r\n' : '\r\n')
      if (!isDrained && left > 0) return void socket.once('drain', writeOn)
    }
    socket.write('', () => socket.resume())
  }
  writeOn()
  return promise
}

async function statuses(send: () => Promise<number | null>): Promise<readonly (number | null)[]> {
  const seen = new Set<number | null>()
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) seen.add(await send())
  return [...seen]
}

const create = (fileSize = BODY_BYTES) => createTestUpload(server, tenant, { fileSize })

describe('a client that sends 12 MiB before reading always gets the response', () => {
  test.each(['plain', 'chunked'])('404 for an unknown upload: %s', async (framing) => {
    const url = `${server.baseUrl}/uploads/${'x'.repeat(43)}`
    const headers: Record<string, string> = framing === 'chunked' ? { 'transfer-encoding': 'chunked' } : {}
    expect(await statuses(() => sendThenRead('PUT', url, headers, BODY_BYTES))).toEqual([404])
  })

  test('410 for a cancelled upload, for PUT and PATCH', async () => {
    const { uploadUrl } = await create()
    expect((await fetch(uploadUrl, { method: 'DELETE', headers: TUS })).status).toBe(204)
    expect(await statuses(() => sendThenRead('PUT', uploadUrl, {}, BODY_BYTES))).toEqual([410])
    const patch = { ...TUS, 'upload-offset': '0', 'content-type': 'application/offset+octet-stream' }
    expect(await statuses(() => sendThenRead('PATCH', uploadUrl, patch, BODY_BYTES))).toEqual([410])
  })

  test('410 for an expired upload', async () => {
    const upload = await create()
    await expire(upload)
    expect(await statuses(() => sendThenRead('PUT', upload.uploadUrl, {}, BODY_BYTES))).toEqual([410])
  })

  test.each(['plain', 'chunked'])('413 for a body larger than the file: %s', async (framing) => {
    const { uploadUrl } = await create(1024)
    const headers: Record<string, string> = framing === 'chunked' ? { 'transfer-encoding': 'chunked' } : {}
    expect(await statuses(() => sendThenRead('PUT', uploadUrl, headers, BODY_BYTES))).toEqual([413])
  })

  test.each(['plain', 'chunked'])('400 for oversized JSON, and 401: %s', async (framing) => {
    // A recording may have more bytes than these, because it may bring its transcript.
    const url = `${server.baseUrl}/v3/rest/feedback-sources`
    const headers: Record<string, string> = {
      'content-type': 'application/json',
      ...(framing === 'chunked' ? { 'transfer-encoding': 'chunked' } : {}),
    }
    const withKey = { ...headers, 'x-service-api-key': tenant.apiKey }
    expect(await statuses(() => sendThenRead('POST', url, withKey, BODY_BYTES))).toEqual([400])
    expect(await statuses(() => sendThenRead('POST', url, headers, BODY_BYTES))).toEqual([401])
  })

  test('the connection stays usable after a refused body', async () => {
    const request = openRequest('PUT', `${server.baseUrl}/uploads/${'x'.repeat(43)}`, {
      'content-length': String(2 * CHUNK.byteLength),
    })
    expect((await request.response)?.status).toBe(404)
    await request.write(CHUNK)
    await request.write(CHUNK)
    expect(await request.write(Buffer.from('GET /health HTTP/1.1\r\nhost: a\r\n\r\n'))).toBe(true)
    request.end()
    await request.closed
  })
})

describe('a client that hangs up', () => {
  test.each([
    ['PUT', {}],
    ['PUT', { 'content-range': 'bytes 0-999999/1000000' }],
    ['PATCH', { ...TUS, 'upload-offset': '0', 'content-type': 'application/offset+octet-stream' }],
  ] as const)('in the middle of a %s is 499 in log and metrics, never 503: %o', async (method, headers) => {
    const lines: { readonly level: number; readonly status?: number; readonly path?: string }[] = []
    const log = pino({}, { write: (line) => void lines.push(JSON.parse(line)) })
    const app = createApp({ ...server.deps, log }).listen({ hostname: '127.0.0.1', port: 0 })
    const { uploadUrl } = await create(1_000_000)
    const here = uploadUrl.replace(server.baseUrl, `http://127.0.0.1:${app.server?.port}`)
    for (const leave of ['end', 'reset'] as const) {
      // A reset may overtake what was sent before it.
      await eventually(async () => {
        lines.length = 0
        const request = openRequest(method, here, { ...headers, 'content-length': '1000000' })
        await request.write(CHUNK)
        request[leave]()
        await request.closed
        return eventually(() => lines.some(({ path }) => path === '/uploads/…'), { deadlineMs: 2_000 }).catch(
          () => false,
        )
      })
      expect(lines.filter(({ status }) => status !== undefined).map(({ status }) => status)).toEqual([499])
      expect(lines.filter(({ level }) => level > 30)).toEqual([])
    }
    const metrics = await (await fetch(`${server.baseUrl}/metrics`)).text()
    expect(metrics).toContain(`{method="${method}",route="/uploads/:token",status="499"}`.slice(1, -1))
    expect(metrics).not.toContain('route="/uploads/:token",status="503"')
    await app.stop(true)
  })
})

async function expire({ uploadId }: TestUpload): Promise<void> {
  await server.deps.sql`
    update upload set expires_at = now() - interval '1 minute', phase = 'failed', error_code = 'upload_expired'
    where id = ${uploadId}`
}
