/** `uploadUrl` is a capability: it grants access to pages of the origin that created it. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { pino } from 'pino'
import { createApp } from '../../src/app/app.ts'
import { eventually } from '../support/eventually.ts'
import { startTestServer, type TestServer, type TestTenant } from '../support/server.ts'
import { at, createTestUpload, noise, offsetOf, patch, TUS } from '../support/uploads.ts'

const OWNER = 'https://app.example.com'
const FILE = noise(100)

let server: TestServer
let tenant: TestTenant

beforeAll(async () => {
  server = await startTestServer()
  tenant = await server.createTenant()
})

afterAll(() => server?.stop())

const create = (origin: string | null = OWNER) =>
  createTestUpload(server, tenant, { fileSize: FILE.byteLength, origin })

const preflight = (url: string, origin: string, method: string) =>
  fetch(url, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': method,
      'access-control-request-headers': 'tus-resumable',
    },
  })

const list = (response: Response, name: string) =>
  (response.headers.get(name) ?? '').split(',').map((entry) => entry.trim().toLowerCase())

/** Protocol headers that a page may read; it cannot read others. */
const PROTOCOL_HEADERS = [
  'location',
  'range',
  'retry-after',
  'tus-checksum-algorithm',
  'tus-extension',
  'tus-max-size',
  'tus-resumable',
  'tus-version',
  'upload-expires',
  'upload-length',
  'upload-offset',
  'x-request-id',
]

describe('CORS', () => {
  test('a preflight of the creating Origin allows the methods and headers of every dialect', async () => {
    const { uploadUrl } = await create()
    for (const method of ['PATCH', 'PUT', 'HEAD', 'DELETE', 'POST']) {
      const response = await preflight(uploadUrl, OWNER, method)
      expect(response.status).toBe(204)
      expect(response.headers.get('access-control-allow-origin')).toBe(OWNER)
      expect(list(response, 'access-control-allow-methods')).toContain(method.toLowerCase())
      expect(list(response, 'access-control-allow-headers')).toEqual(
        expect.arrayContaining([
          'content-type',
          'content-range',
          'tus-resumable',
          'upload-offset',
          'upload-checksum',
          'x-http-method-override',
        ]),
      )
      expect(response.headers.has('access-control-allow-credentials')).toBe(false)
    }
  })

  test('the creating Origin can read every response with all protocol headers, including errors', async () => {
    const { uploadUrl } = await create()
    const headers = { ...at(0), origin: OWNER }
    const send = (method: string, own: Record<string, string> = headers, body?: Uint8Array<ArrayBuffer>) =>
      fetch(uploadUrl, { method, headers: own, ...(body === undefined ? {} : { body }) })
    const answers = [
      await send('OPTIONS'),
      await send('HEAD'),
      await send('PATCH', headers, FILE.slice(0, 10)),
      await send('PUT', { origin: OWNER, 'content-range': 'bytes */100' }),
      await send('PATCH', headers, FILE),
      await send('PATCH', { ...headers, 'content-type': 'text/plain' }, FILE),
      await send('PATCH', { ...headers, 'tus-resumable': '0.1' }, FILE),
      await send('PUT', { origin: OWNER }, noise(101)),
      await send('GET'),
      await send('DELETE'),
      await send('HEAD'),
    ]
    expect(answers.map(({ status }) => status)).toEqual([
      204, 200, 204, 308, 409, 415, 412, 413, 405, 204, 410,
    ])
    for (const answer of answers) {
      expect(answer.headers.get('access-control-allow-origin')).toBe(OWNER)
      expect(list(answer, 'access-control-expose-headers')).toEqual(PROTOCOL_HEADERS)
      expect(answer.headers.get('vary')).toBe('Origin')
      expect(answer.headers.get('cache-control')).toBe('no-store')
    }
  })

  test.each([
    'https://evil.example.com',
    'http://app.example.com',
    'https://app.example.com:8443',
    'https://app.example.com.evil.com',
    'null',
  ])('other origins get no CORS headers: %s', async (origin) => {
    const { uploadUrl } = await create()
    const answers = [
      await preflight(uploadUrl, origin, 'PATCH'),
      await fetch(uploadUrl, { method: 'HEAD', headers: { ...TUS, origin } }),
      await fetch(uploadUrl, { method: 'GET', headers: { origin } }),
    ]
    for (const { headers } of answers) {
      const names = [...headers.keys()].filter((name) => name.startsWith('access-control-'))
      expect(names).toEqual([])
      expect(headers.get('vary')).toBe('Origin')
    }
  })

  test('no page can read an upload created without Origin', async () => {
    const { uploadUrl } = await create(null)
    const response = await preflight(uploadUrl, OWNER, 'PUT')
    expect(response.headers.has('access-control-allow-origin')).toBe(false)
    expect((await fetch(uploadUrl, { method: 'PUT', body: FILE })).status).toBe(201)
  })
})

describe('the token', () => {
  test('is in no log line, metric or error body', async () => {
    const lines: string[] = []
    const log = pino({ level: 'trace' }, { write: (line) => void lines.push(line) })
    const app = createApp({ ...server.deps, log }).listen({ hostname: '127.0.0.1', port: 0 })
    try {
      const { uploadUrl } = await create()
      const url = uploadUrl.replace(server.baseUrl, `http://127.0.0.1:${app.server?.port}`)
      const token = new URL(uploadUrl).pathname.slice('/uploads/'.length)
      expect(token).toMatch(/^[\w-]{43}$/)
      const bodies = [
        await fetch(url, { method: 'HEAD', headers: TUS }),
        await patch(url, 5, FILE),
        await fetch(url),
        await fetch(`${url}/more`),
        await fetch(`${url}?token=${token}`),
        await fetch(url, { method: 'PUT', body: FILE }),
        await fetch(`${url.slice(0, -1)}!`),
      ].map((response) => response.text())
      const texts = await Promise.all(bodies)
      const errors = texts.slice(1, 4).map((text) => JSON.parse(text))
      expect(errors.map(({ path }) => path)).toEqual(['/uploads/…', '/uploads/…', '/uploads/…'])
      await eventually(() => lines.filter((line) => line.includes('"msg":"request"')).length >= 7)
      const metrics = await (await fetch(`${server.baseUrl}/metrics`)).text()
      expect(metrics).toContain('route="/uploads/:token"')
      for (const text of [...lines, ...texts, metrics]) expect(text).not.toContain(token.slice(0, 20))
    } finally {
      await app.stop(true)
    }
  })

  test('is the only credential, and nothing similar is accepted', async () => {
    const { uploadUrl } = await create()
    expect(await offsetOf(uploadUrl)).toBe(0)
    const last = uploadUrl.slice(-1)
    const other = `${uploadUrl.slice(0, -1)}${last === 'A' ? 'E' : 'A'}`
    for (const url of [
      other,
      `${uploadUrl}A`,
      uploadUrl.slice(0, -1),
      `${uploadUrl}%00`,
      `${server.baseUrl}/uploads/x`,
    ]) {
      const response = await fetch(url, { method: 'PUT', body: FILE })
      expect([url, response.status]).toEqual([url, 404])
      expect(await response.json()).toMatchObject({ code: 'upload_not_found' })
    }
    expect(await offsetOf(uploadUrl)).toBe(0)
  })
})
