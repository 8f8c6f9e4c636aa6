/** Compressed request bodies and compressed responses. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { brotliDecompressSync, createGzip, gunzipSync, gzipSync, zstdDecompressSync } from 'node:zlib'
import { pino } from 'pino'
import { createApp } from '../../src/app/app.ts'
import { ANY_RATIO_BYTES, MAX_RATIO } from '../../src/http/gunzip.ts'
import { type Agent, INGEST, openAgent } from '../support/agents.ts'
import { eventually } from '../support/eventually.ts'
import { rawPost } from '../support/raw-http.ts'
import { openRequest } from '../support/raw-request.ts'
import { createRecording, RECORDINGS, utterance } from '../support/recordings.ts'
import { type Client, startTestServer, type TestServer, type TestTenant } from '../support/server.ts'

const MiB = 1024 * 1024

let server: TestServer
let tenant: TestTenant
let organization: Client
let agent: Agent

beforeAll(async () => {
  server = await startTestServer()
  tenant = await server.createTenant()
  organization = server.as({ apiKey: tenant.apiKey })
  agent = await openAgent(server)
})
afterAll(() => server.stop())

const post = (body: Uint8Array | string, headers: Record<string, string> = {}, path = RECORDINGS) =>
  organization.post(path, body, { 'content-encoding': 'gzip', ...headers })

describe('a request body in gzip', () => {
  test('is read like a plain body', async () => {
    const answer = await post(gzipSync(JSON.stringify({ displayName: 'Grüße' })))
    expect([answer.status, answer.body.displayName]).toEqual([201, 'Grüße'])
  })

  test.each(['x-gzip', 'GZIP'])('under the name %s too', async (name) => {
    expect((await post(gzipSync('{}'), { 'content-encoding': name })).status).toBe(201)
  })

  test('in chunks, without Content-Length', async () => {
    const answer = await rawPost(server.baseUrl, {
      path: RECORDINGS,
      headers: { 'x-service-api-key': tenant.apiKey, 'content-encoding': 'gzip' },
      body: { chunked: gzipSync(JSON.stringify({ summary: 'long '.repeat(1000) })) },
    })
    expect(answer.status).toBe(201)
  })

  test('website operations take it as well', async () => {
    const body = gzipSync(JSON.stringify({ question: 'What is Earshot?' }))
    const answer = await server.as('nobody').post('/api/assistant', body, { 'content-encoding': 'gzip' })
    expect(answer.status).toBe(200)
  })

  test('the limit applies to the decompressed size: one byte more is 400 payload_too_large', async () => {
    const withBytes = (bytes: number) => {
      const text = JSON.stringify({ agentKey: agent.agentKey, padding: '' })
      const padding = randomBytes(MiB + 1)
        .toString('hex')
        .slice(0, bytes - text.length)
      return gzipSync(text.replace('"padding":""', `"padding":"${padding}"`))
    }
    const send = (body: Uint8Array) => server.as(agent).post(INGEST, body, { 'content-encoding': 'gzip' })
    const whole = await send(withBytes(2 * MiB))
    expect(whole.body.code).not.toBe('payload_too_large')
    const more = await send(withBytes(2 * MiB + 1))
    expect([more.status, more.body.code, more.body.limitBytes]).toEqual([400, 'payload_too_large', 2 * MiB])
  })

  test('with more than a hundredth of its decompressed size it may be of any size; a bomb is 400 payload_too_large', async () => {
    const send = (body: Uint8Array) => server.as(agent).post(INGEST, body, { 'content-encoding': 'gzip' })
    const spaces = (bytes: number) => gzipSync(JSON.stringify({ agentKey: 'demo' }).padEnd(bytes, ' '))
    const small = await send(spaces(ANY_RATIO_BYTES))
    expect(small.body.code).toBe('agent_application_not_found')
    const bomb = spaces(MiB)
    const refused = await send(bomb)
    const limitBytes = Math.max(ANY_RATIO_BYTES, bomb.byteLength * MAX_RATIO)
    expect([refused.status, refused.body.code, refused.body.limitBytes]).toEqual([
      400,
      'payload_too_large',
      limitBytes,
    ])
  })

  test('20 concurrent bombs of 1 GiB are 400, and memory does not grow', async () => {
    const bomb = await gzipOfZeros(1024)
    expect(bomb.byteLength).toBeLessThan(2 * MiB)
    Bun.gc(true)
    const before = process.memoryUsage.rss()
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => server.as(agent).post(INGEST, bomb, { 'content-encoding': 'gzip' })),
    )
    expect(new Set(answers.map(({ body }) => body.code))).toEqual(new Set(['payload_too_large']))
    // The bombs themselves, sent from this process, take 40 MiB.
    expect(process.memoryUsage.rss() - before).toBeLessThan(400 * MiB)
  })

  test('an endless stream of empty compressed blocks is ended', async () => {
    // Members of a gzip file that are empty.
    const nothing = Buffer.concat(Array.from({ length: 150_000 }, () => gzipSync('')))
    const answer = await rawPost(server.baseUrl, {
      path: RECORDINGS,
      headers: { 'x-service-api-key': tenant.apiKey, 'content-encoding': 'gzip' },
      body: { chunked: nothing },
    })
    expect(answer.status).toBe(400)
  })

  test.each([
    ['no gzip at all', Buffer.from('{}')],
    ['cut off', gzipSync(JSON.stringify({ displayName: 'cut off' })).subarray(0, 20)],
    ['a broken checksum', broken()],
    ['nothing', Buffer.alloc(0)],
  ])('that is none is 400: %s', async (_, body) => {
    const answer = await post(body)
    expect(answer.status).toBe(400)
    expect(answer.body.code).toBe(body.byteLength === 0 ? 'malformed_json' : 'malformed_encoding')
  })

  test.each(['br', 'zstd', 'deflate', 'compress', 'gzip, gzip', 'gzip,br'])(
    'another coding is 415 and names the accepted one: %s',
    async (name) => {
      const answer = await post('{}', { 'content-encoding': name })
      expect([answer.status, answer.body.code]).toEqual([415, 'unsupported_media_type'])
      expect(answer.headers.get('accept-encoding')).toBe('gzip')
    },
  )

  test('a client that disconnects midway is 499, not an error', async () => {
    const lines: { readonly status?: number }[] = []
    const log = pino({}, { write: (line) => void lines.push(JSON.parse(line)) })
    const app = createApp({ ...server.deps, log }).listen({ hostname: '127.0.0.1', port: 0 })
    // A reset may overtake what was sent before it.
    await eventually(async () => {
      const request = openRequest('POST', `http://127.0.0.1:${app.server?.port}${RECORDINGS}`, {
        'content-type': 'application/json',
        'content-encoding': 'gzip',
        'x-service-api-key': tenant.apiKey,
        'content-length': '100000',
      })
      await request.write(gzipSync('{"displayName":"left"}').subarray(0, 15))
      request.reset()
      await request.closed
      return lines.length > 0
    })
    expect(lines.every(({ status }) => status === 499)).toBe(true)
    await app.stop(true)
  })
})

describe('an answer', () => {
  const DECODERS = {
    gzip: gunzipSync,
    br: brotliDecompressSync,
    zstd: zstdDecompressSync,
  } as const

  /** Without the client's own decompression. */
  async function get(path: string, acceptEncoding: string | null) {
    const response = await fetch(`${server.baseUrl}${path}`, {
      headers: {
        'x-service-api-key': tenant.apiKey,
        ...(acceptEncoding === null ? {} : { 'accept-encoding': acceptEncoding }),
      },
      decompress: false,
    } as RequestInit)
    return { headers: response.headers, bytes: new Uint8Array(await response.arrayBuffer()) }
  }

  async function transcriptOf(utterances: number): Promise<string> {
    const transcript = Array.from({ length: utterances }, (_, index) =>
      utterance(index, index + 0.5, index % 2, `and then, number ${index}, the invoice was wrong again`),
    )
    return `${RECORDINGS}/${(await createRecording(organization, { transcript })).id}/transcript`
  }

  test.each([
    ['gzip', 40],
    ['br', 40],
    ['zstd', 40],
    ['gzip', 4000],
    ['br', 4000],
    ['zstd', 4000],
  ] as const)('of JSON comes in %s where it is asked for: %d utterances', async (coding, utterances) => {
    const path = await transcriptOf(utterances)
    const plain = await get(path, 'identity')
    const answer = await get(path, coding)
    expect([answer.headers.get('content-encoding'), plain.headers.get('content-encoding')]).toEqual([
      coding,
      null,
    ])
    expect(answer.bytes.byteLength).toBeLessThan(plain.bytes.byteLength / 3)
    expect(Buffer.from(DECODERS[coding](answer.bytes)).equals(plain.bytes)).toBe(true)
    for (const { headers } of [plain, answer]) expect(headers.get('vary')).toBe('accept, Accept-Encoding')
    expect(answer.headers.get('content-type')).toBe('application/json')
  })

  test('is compressed for text, too, and respects q-values', async () => {
    const path = `${await transcriptOf(60)}?format=vtt`
    const answer = await get(path, 'zstd;q=0.1, gzip;q=0.8, br;q=0')
    expect(answer.headers.get('content-encoding')).toBe('gzip')
    expect(Buffer.from(gunzipSync(answer.bytes)).toString()).toStartWith('WEBVTT')
  })

  test('is not compressed up to 1 KiB, or for clients that accept no coding', async () => {
    const path = await transcriptOf(40)
    for (const accepted of [null, 'identity', 'deflate', 'gzip;q=0, br;q=0, zstd;q=0'])
      expect((await get(path, accepted)).headers.get('content-encoding')).toBeNull()
    expect((await get(`${RECORDINGS}?limit=1&q=nothing`, 'gzip')).headers.get('content-encoding')).toBeNull()
  })

  test('to HEAD has the same headers', async () => {
    const path = await transcriptOf(40)
    const head = await fetch(`${server.baseUrl}${path}`, {
      method: 'HEAD',
      headers: { 'x-service-api-key': tenant.apiKey, 'accept-encoding': 'gzip' },
    })
    const { bytes } = await get(path, 'gzip')
    expect(head.headers.get('content-encoding')).toBe('gzip')
    expect(head.headers.get('content-length')).toBe(String(bytes.byteLength))
  })

  test('that creates something is never compressed: it may hold a secret next to text of the caller', async () => {
    const response = await fetch(`${server.baseUrl}${RECORDINGS}`, {
      method: 'POST',
      headers: {
        'x-service-api-key': tenant.apiKey,
        'content-type': 'application/json',
        'accept-encoding': 'gzip',
      },
      body: JSON.stringify({ summary: 'long '.repeat(2000) }),
    })
    expect([response.status, response.headers.get('content-encoding')]).toEqual([201, null])
  })

  test.each(['/docs/swagger-ui-bundle.js', '/openapi.json', '/metrics'])(
    'of %s is compressed, too',
    async (path) => {
      const answer = await get(path, 'zstd')
      expect([answer.headers.get('content-encoding'), answer.headers.get('vary')?.toLowerCase()]).toEqual([
        'zstd',
        'accept-encoding',
      ])
      expect(zstdDecompressSync(answer.bytes).byteLength).toBeGreaterThan(answer.bytes.byteLength)
    },
  )
})

function broken(): Uint8Array {
  const bytes = gzipSync('{}')
  bytes.writeUInt32LE(1, bytes.byteLength - 8)
  return bytes
}

/** `mib` MiB of zeros, without ever having them. */
async function gzipOfZeros(mib: number): Promise<Buffer> {
  const gzip = createGzip({ level: 9 })
  const chunks: Buffer[] = []
  gzip.on('data', (chunk: Buffer) => void chunks.push(chunk))
  const zeros = Buffer.alloc(MiB)
  for (let index = 0; index < mib; index++)
    await new Promise<void>((written) => gzip.write(zeros, () => written()))
  await new Promise<void>((ended) => {
    gzip.on('end', ended)
    gzip.end()
  })
  return Buffer.concat(chunks)
}
