/** Failures of an S3 server during an incoming object, produced by a faulty server. */
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Semaphore } from '../../src/platform/concurrency/semaphore.ts'
import type { IncomingRecord } from '../../src/platform/storage/incoming.ts'
import { createS3Store } from '../../src/platform/storage/s3.ts'
import { Spool } from '../../src/platform/storage/s3-spool.ts'
import { eventually } from '../support/eventually.ts'

const MIB = 1024 * 1024
const SIZE = 9 * MIB
const NEVER = new AbortController().signal
const spoolFolder = mkdtempSync(join(tmpdir(), 'earshot-spool-'))
afterAll(() => rmSync(spoolFolder, { recursive: true, force: true }))

const sha256 = (bytes: Uint8Array) => new Bun.CryptoHasher('sha256').update(bytes).digest('hex')

/** Calls `answer` for each attempt to store a part. Tails are part ''. */
function openServer(answer: (part: string, attempt: number) => number | Promise<number>) {
  const attempts = new Map<string, number>()
  const parts = new Map<string, Uint8Array>()
  let wrongHashes = 0
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const { searchParams: query } = new URL(request.url)
      if (query.has('uploads')) {
        const xml = '<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>'
        return new Response(xml, { headers: { 'content-type': 'application/xml' } })
      }
      if (request.method === 'DELETE') return new Response(null, { status: 204 })
      const part = query.get('partNumber') ?? ''
      const bytes = await request.bytes()
      const attempt = (attempts.get(part) ?? 0) + 1
      attempts.set(part, attempt)
      if (request.headers.get('x-amz-content-sha256') !== sha256(bytes)) wrongHashes++
      const status = await answer(part, attempt)
      if (status === 200) parts.set(part, bytes)
      return new Response(null, { status, headers: { etag: `"${part}"` } })
    },
  })
  const store = createS3Store(
    {
      bucket: 'media',
      endpoint: `http://127.0.0.1:${server.port}`,
      region: 'us-east-1',
      forcePathStyle: true,
      checksum: 'md5',
      credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
    },
    spoolFolder,
  )
  return {
    store,
    attempts,
    parts,
    wrongHashes: () => wrongHashes,
    async [Symbol.asyncDispose]() {
      store.close()
      await server.stop(true)
    },
  }
}

describe('incoming objects of S3', () => {
  const content = crypto.getRandomValues(new Uint8Array(64 * 1024))
  const send = async (store: ReturnType<typeof openServer>['store'], records: IncomingRecord[]) => {
    const writer = await store.incoming.append(
      'key',
      { offset: 0, resumeState: null },
      {
        size: SIZE,
        contentType: 'video/mp4',
        alone: true,
        record: async (record) => void records.push(record),
      },
    )
    for (let at = 0; at < SIZE; at += content.length) await writer.write(content)
    return writer.flush()
  }

  test('a part is resent with the same bytes while the server is not ready', async () => {
    await using server = openServer((_, attempt) => (attempt < 3 ? 503 : 200))
    const records: IncomingRecord[] = []
    expect(await send(server.store, records)).toBe(SIZE)
    expect([...server.attempts.values()]).toEqual([3, 3])
    expect(server.wrongHashes()).toBe(0)
    expect(sha256(Buffer.concat([...server.parts].sort().map(([, bytes]) => bytes)))).toBe(
      sha256(Buffer.concat(Array.from({ length: SIZE / content.length }, () => content))),
    )
    expect(records.flatMap(({ parts }) => parts)).toEqual([
      { number: 1, size: 8 * MIB, etag: '"1"' },
      { number: 2, size: MIB, etag: '"2"' },
    ])
  })

  test('a permanently refused part ends writing, and nothing after it is recorded', async () => {
    await using server = openServer((part) => (part === '1' ? 403 : 200))
    const records: IncomingRecord[] = []
    await expect(send(server.store, records)).rejects.toMatchObject({ $metadata: { httpStatusCode: 403 } })
    await send(server.store, []).catch(() => {})
    expect(server.attempts.get('1')).toBe(2)
    expect(records.map(({ offset, parts }) => [offset, parts.length])).toEqual([[0, 0]])
  })

  test('other requests succeed however many writers wait for the server', async () => {
    const answered = Promise.withResolvers<number>()
    let waiting = 0
    await using server = openServer(() => {
      waiting++
      return answered.promise
    })
    const sendTail = async (_: unknown, index: number) => {
      const writer = await server.store.incoming.append(
        `key-${index}`,
        { offset: 0, resumeState: null },
        { size: SIZE, contentType: 'video/mp4', alone: true, record: async () => {} },
      )
      await writer.write(content)
      return writer.flush()
    }
    const sending = Array.from({ length: 60 }, sendTail)
    await eventually(() => waiting === 32)
    await server.store.delete(['other'])
    expect(waiting).toBe(32)
    answered.resolve(200)
    expect(new Set(await Promise.all(sending))).toEqual(new Set([content.length]))
    expect(waiting).toBe(60)
  })

  test('an aborted wait for the semaphore releases its place', async () => {
    const transfers = new Semaphore(1)
    const release = await transfers.acquire(NEVER)
    const closing = new AbortController()
    const given = transfers.acquire(closing.signal)
    const next = transfers.acquire(NEVER)
    closing.abort(new Error('closed'))
    await expect(given).rejects.toThrow('closed')
    release()
    const releaseNext = await next
    releaseNext()
    await expect(transfers.acquire(closing.signal)).rejects.toThrow('closed')
    await transfers.acquire(NEVER)
  })

  test('bytes in flight have no file name, and unreadable bytes are an error', async () => {
    const spool = await Spool.open(spoolFolder, 'md5')
    await spool.write(new Uint8Array(2 * MIB))
    expect(readdirSync(spoolFolder)).toEqual([])
    const sending = spool.send(async ({ Body }, signal) => {
      for await (const _ of Body) await spool.close()
      signal.throwIfAborted()
    }, NEVER)
    await expect(sending).rejects.toMatchObject({ name: 'SpoolBroken' })
  })
})

describe('a server that does not respond', () => {
  /** Hangs before or during the response to `hanging`; answers everything else correctly. */
  function openSilent(hanging: (request: Request) => boolean, begins = false) {
    const asked = Promise.withResolvers<void>()
    const server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      idleTimeout: 0,
      fetch(request) {
        if (!hanging(request)) return new Response(null, { status: 204 })
        asked.resolve()
        const body = new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(10)) })
        return begins ? new Response(body) : new Promise<Response>(() => {})
      },
    })
    const store = createS3Store(
      {
        bucket: 'media',
        endpoint: `http://127.0.0.1:${server.port}`,
        region: 'us-east-1',
        forcePathStyle: true,
        checksum: 'md5',
        credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
      },
      spoolFolder,
    )
    return {
      store,
      asked: asked.promise,
      async [Symbol.asyncDispose]() {
        store.close()
        await server.stop(true)
      },
    }
  }
  const reason = new Error('somebody waits')
  const resumeState = {
    uploadId: 'u',
    next: 1,
    tail: { name: 'tail', bytes: 100 },
    orphanKeys: ['tail', 'old'],
    possibleOrphans: [],
  }
  const options = (signal: AbortSignal) => ({
    size: SIZE,
    contentType: 'video/mp4',
    alone: true,
    signal,
    record: async () => {},
  })
  const isTail = ({ method, url }: Request) => method === 'GET' && url.includes('incoming-tail')

  /** Aborts once the server has received the hanging request. */
  async function ends(
    server: ReturnType<typeof openSilent>,
    work: (signal: AbortSignal) => Promise<unknown>,
  ) {
    const controller = new AbortController()
    const working = work(controller.signal)
    working.catch(() => {})
    await Promise.race([server.asked, working])
    controller.abort(reason)
    await expect(working).rejects.toBe(reason)
  }

  test.each([false, true])('reading the tail ends with the signal, even midway: %p', async (begins) => {
    await using server = openSilent(isTail, begins)
    await ends(server, (signal) =>
      server.store.incoming.append('key', { offset: 100, resumeState }, options(signal)),
    )
    expect(readdirSync(spoolFolder)).toEqual([])
  })

  test.each([
    ['beginning', null, ({ url }: Request) => url.includes('uploads')],
    ['removing what is past', { ...resumeState, tail: null }, ({ method }: Request) => method === 'DELETE'],
    [
      'sending a part',
      { ...resumeState, tail: null, orphanKeys: [] },
      ({ url }: Request) => url.includes('partNumber'),
    ],
  ])('writing ends with the signal: %s', async (_, resumeState, hanging) => {
    await using server = openSilent(hanging)
    await ends(server, async (signal) => {
      const writer = await server.store.incoming.append('key', { offset: 0, resumeState }, options(signal))
      try {
        await writer.write(new Uint8Array(SIZE))
        await writer.flush()
      } finally {
        await writer.abandon()
      }
    })
  })

  test.each([
    ['aborting', ({ url }: Request) => url.includes('uploadId')],
    ['removing', ({ url, method }: Request) => method === 'DELETE' && url.includes('incoming-')],
    ['listing', ({ url }: Request) => url.includes('uploads')],
  ])('discarding ends with the signal: %s', async (_, hanging) => {
    await using server = openSilent(hanging)
    await ends(server, (signal) => server.store.incoming.discard('key', resumeState, signal))
  })

  test('deleting ends with the signal', async () => {
    await using server = openSilent(() => true)
    await ends(server, (signal) => server.store.delete(['key'], signal))
  })
})
