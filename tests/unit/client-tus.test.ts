/** Bytes to the URL of an upload: what a server that is not well, or not alone, makes the client do. */
import { afterEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ClientError, retryAfterMs } from '../../src/client/failures.ts'
import { backOffMs } from '../../src/client/retry.ts'
import { findSourceFile } from '../../src/client/source-file.ts'
import { sendFile } from '../../src/client/tus.ts'

const MIB = 1024 * 1024
const SIZE = 3 * MIB
const stops: (() => unknown)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

interface Fake {
  offset: number
  readonly requests: string[]
  readonly url: string
}

/** Speaks tus, unless `interfere` answers. Keeps no bytes. */
function fake(interfere: (request: Request, state: Fake) => Response | null = () => null): Fake {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      state.requests.push(`${request.method} ${request.headers.get('upload-offset') ?? ''}`.trim())
      const answer = interfere(request, state)
      if (answer !== null) return answer
      if (request.method === 'PATCH') state.offset += (await request.arrayBuffer()).byteLength
      return new Response(null, {
        status: request.method === 'HEAD' ? 200 : 204,
        headers: {
          'tus-resumable': '1.0.0',
          'upload-offset': String(state.offset),
          'upload-length': String(SIZE),
        },
      })
    },
  })
  stops.push(() => server.stop(true))
  const state: Fake = { offset: 0, requests: [], url: `${server.url.href}uploads/token` }
  return state
}

/** Sends a file of `size` bytes. */
async function send({ url }: Fake, { size = SIZE, giveUpAfterMs = 60_000 } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'earshot-tus-'))
  stops.push(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'talk.mp4'), Buffer.alloc(size, 7))
  const file = await findSourceFile(join(folder, 'talk.mp4'))
  stops.push(file.close)
  const troubles: [string, number][] = []
  const sent: number[] = []
  await sendFile(url, file, {
    signal: new AbortController().signal,
    giveUpAfterMs: () => giveUpAfterMs,
    onRetry: (reason, waitMs) => troubles.push([reason, waitMs]),
    onSent: (bytes) => sent.push(bytes),
  }).catch((error) => {
    throw Object.assign(error, { troubles })
  })
  return { troubles, sent }
}

async function failure(sending: Promise<unknown>): Promise<ClientError> {
  const error = await sending.then(
    () => null,
    (reason) => reason,
  )
  if (error instanceof ClientError) return error
  throw new Error(`no ClientError: ${error}`)
}

describe('sending', () => {
  test('reads the offset and sends the rest in one request', async () => {
    const server = fake()
    server.offset = MIB
    const { sent, troubles } = await send(server)
    expect(server.requests).toEqual(['HEAD', `PATCH ${MIB}`])
    expect([server.offset, sent[0], sent.at(-1), troubles]).toEqual([SIZE, MIB, SIZE, []])
  })

  test('waits as long as Retry-After says, then asks again', async () => {
    let refused = false
    const server = fake(({ method }) => {
      if (method !== 'PATCH' || refused) return null
      refused = true
      return new Response('', { status: 503, headers: { 'retry-after': '0' } })
    })
    const { troubles } = await send(server)
    expect(troubles).toEqual([[expect.stringContaining('503'), 0]])
    expect(server.requests).toEqual(['HEAD', 'PATCH 0', 'HEAD', 'PATCH 0'])
  })

  test("continues at the server's offset if another request has sent bytes", async () => {
    const server = fake(({ method }, state) => {
      if (method !== 'PATCH' || state.offset > 0) return null
      state.offset = 2 * MIB
      return new Response('', { status: 409 })
    })
    await send(server)
    expect(server.requests).toEqual(['HEAD', 'PATCH 0', 'HEAD', `PATCH ${2 * MIB}`])
  })

  test('sends smaller pieces if a proxy refuses large bodies', async () => {
    const server = fake(({ method, headers }) =>
      method === 'PATCH' && Number(headers.get('content-length')) > MIB
        ? new Response('', { status: 413 })
        : null,
    )
    await send(server)
    expect(server.offset).toBe(SIZE)
    expect(server.requests.slice(0, 4)).toEqual(['HEAD', 'PATCH 0', 'PATCH 0', `PATCH ${SIZE / 4}`])
  })

  test('sends whole numbers of bytes where the size is no multiple of four', async () => {
    const size = 2 * MIB + 3
    const lengths: string[] = []
    const server = fake(({ method, headers }, state) => {
      if (method === 'HEAD')
        return new Response(null, {
          headers: {
            'tus-resumable': '1.0.0',
            'upload-offset': String(state.offset),
            'upload-length': String(size),
          },
        })
      lengths.push(headers.get('content-length') ?? '')
      return Number(lengths.at(-1)) > MIB ? new Response('', { status: 413 }) : null
    })
    await send(server, { size, giveUpAfterMs: 0 })
    expect(server.offset).toBe(size)
    expect(lengths.slice(0, 2)).toEqual([String(size), String(MIB / 2)])
  })

  test('gives up if even small bodies are refused', async () => {
    const server = fake(({ method }) => (method === 'PATCH' ? new Response('', { status: 413 }) : null))
    expect((await failure(send(server))).code).toBe('payload_too_large')
  })

  test('gives up after too long without progress', async () => {
    const server = fake(() => new Response('', { status: 500, headers: { 'retry-after': '2' } }))
    const { code, message } = await failure(send(server, { giveUpAfterMs: 1_000 }))
    expect([code, message]).toEqual(['unavailable', 'the server answered 500: Internal Server Error'])
    expect(server.requests).toEqual(['HEAD'])
  })

  test.each([
    [410, 'upload_expired'],
    [404, 'upload_gone'],
    [403, 'http_403'],
    [302, 'redirected'],
  ])('%d is the end: %s', async (status, code) => {
    const server = fake(
      () => new Response('', { status, headers: { location: 'http://127.0.0.1:1/secret' } }),
    )
    const error = await failure(send(server))
    expect(error.code).toBe(code)
    expect(error.message).not.toContain('secret')
    expect(server.requests).toEqual(['HEAD'])
  })

  test('does not send into an upload of another size', async () => {
    const server = fake()
    expect((await failure(send(server, { size: SIZE - 1 }))).code).toBe('file_changed')
    expect(server.requests).toEqual(['HEAD'])
  })

  test('detects a server that does not speak tus', async () => {
    const server = fake(() => new Response('<html>Welcome</html>'))
    expect((await failure(send(server))).code).toBe('not_tus')
  })
})

test.each([
  [null, null],
  ['7', 7_000],
  ['soon', null],
  ['-1', null],
  ['1.5', null],
  ['Thu, 01 Jan 2026 00:00:30 GMT', 30_000],
  ['Wed, 31 Dec 2025 23:59:00 GMT', 0],
])('Retry-After %p is %p milliseconds', (value, ms) => {
  expect(retryAfterMs(value, new Date('2026-01-01T00:00:00Z'))).toBe(ms)
})

test('waits double up to a limit, with jitter in the upper half', () => {
  expect([0, 1, 2, 5, 30].map((failures) => backOffMs(failures, 1))).toEqual([
    500, 1_000, 2_000, 16_000, 20_000,
  ])
  expect([0, 30].map((failures) => backOffMs(failures, 0))).toEqual([250, 10_000])
})

test('a file changed before sending is refused: file_changed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'earshot-tus-'))
  stops.push(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'turn.mp4')
  writeFileSync(path, Buffer.alloc(100, 1))
  await using file = Object.assign(await findSourceFile(path), {
    [Symbol.asyncDispose]: () => file.close(),
  })
  writeFileSync(path, Buffer.alloc(200, 2))
  const reading = new Response(file.read(0, file.size - 1, () => {})).bytes()
  await expect(reading).rejects.toMatchObject({ code: 'file_changed' })
})
