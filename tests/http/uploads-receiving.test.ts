/** The upload receiver below the HTTP dialects, on a real database and a real folder, in one process and in several. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { crc32 } from 'node:zlib'
import { beginProcessing } from '../../src/calls/uploads/processing.ts'
import {
  ChecksumMismatch,
  createUploadReceiver,
  OffsetMismatch,
  type ReceiveRequest,
  Superseded,
  UnknownUpload,
  UploadClosed,
  UploadNotCancellable,
  type UploadReceiver,
  UploadTooLarge,
} from '../../src/calls/uploads/upload-receiver.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { newId } from '../../src/platform/ids.ts'
import { eventually } from '../support/eventually.ts'
import { RECORDINGS } from '../support/recordings.ts'
import { startTestServer, type TestServer, type TestTenant } from '../support/server.ts'
import { createTestUpload, noise } from '../support/uploads.ts'

const SIZE = 100_000
const CONTENT = noise(SIZE)

let server: TestServer
let tenant: TestTenant
/** As different processes would have it. */
let here: UploadReceiver
let there: UploadReceiver
const started: UploadReceiver[] = []

const receivingOf = () => {
  const receiver = createUploadReceiver(server.deps)
  started.push(receiver)
  return receiver
}

beforeAll(async () => {
  server = await startTestServer({ env: { DATABASE_POOL_SIZE: '20' } })
  tenant = await server.createTenant()
})
afterAll(async () => {
  await Promise.all(started.map((receiver) => receiver.stop()))
  await server?.stop()
})

interface Uploading {
  readonly token: string
  readonly id: string
  readonly uploadId: string
  readonly organizationId: string
  readonly recordingId: string
}

async function newUpload(): Promise<Uploading> {
  here = receivingOf()
  there = receivingOf()
  const { uploadUrl, uploadId, recordingId } = await createTestUpload(server, tenant, { fileSize: SIZE })
  const { organizationId } = tenant
  return { token: uploadUrl.split('/').at(-1) ?? '', id: uploadId, uploadId, organizationId, recordingId }
}

/** As a `HEAD` does it. */
async function settle(receiver: UploadReceiver, { token }: Uploading) {
  const found = await receiver.find(token)
  return found === null ? null : receiver.interrupt(found)
}

const rowOf = async ({ uploadId }: Uploading) => {
  const [row] = await server.database.sql`select * from upload where id = ${uploadId}`
  return row as Record<string, unknown>
}
const offsetOf = async (upload: Uploading) => (await rowOf(upload)).bytes_received
const messagesOf = async ({ recordingId }: Uploading) => {
  const [row] = await server.database.sql<{ count: number }[]>`
    select count(*)::int as count from actor_message
    where key = ${`recording:${recordingId}`} and type = 'process_upload'`
  return row?.count
}

/** A body that the test sends piece by piece. */
function feed() {
  let controller: ReadableStreamDefaultController<Uint8Array>
  const body = new ReadableStream<Uint8Array>({
    start(own) {
      controller = own
    },
  })
  return {
    body,
    push: (from: number, to: number) => controller.enqueue(CONTENT.subarray(from, to)),
    pushBytes: (bytes: Uint8Array) => controller.enqueue(bytes),
    end: () => controller.close(),
    break: () => controller.error(new Error('the connection broke')),
  }
}

function bodyOf(...chunks: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk)
      controller.close()
    },
  })
}

const never = new AbortController().signal
const at = (offset: number | null, body: ReceiveRequest['body'], more: Partial<ReceiveRequest> = {}) => ({
  offset,
  skip: 0,
  body,
  signal: never,
  ...more,
})
const outcome = (promise: Promise<unknown>) =>
  promise.then(
    (value) => value,
    (error: unknown) => error,
  )
/** Waits until the bytes are in the file of the store, so that what follows meets a request in the middle of its body. */
const untilArriving = ({ recordingId }: Uploading) =>
  eventually(async () => {
    const [row] = await server.database.sql`
      select 1 from recording where id = ${recordingId} and asset_status = 'uploading'`
    return row !== undefined
  })

/** What the recording's actor finds when every byte is there. */
async function published(upload: Uploading): Promise<Uint8Array> {
  const { sql, storage } = server.deps
  const found = await transaction(sql, (tx) => beginProcessing(tx, upload.uploadId))
  if (found === null) throw new Error('nothing is processed')
  await storage.incoming.publish(found.objectKey, found.whole, 'application/octet-stream')
  return new Uint8Array(await new Response(await storage.read(found.objectKey)).arrayBuffer())
}

describe('bytes', () => {
  test('of several requests form the file; the last one completes it and sends exactly one message', async () => {
    const upload = await newUpload()
    await here.receive(upload, at(0, bodyOf(CONTENT.subarray(0, 10_000))))
    await there.receive(upload, at(10_000, bodyOf(CONTENT.subarray(10_000, 10_001))))
    const state = await here.receive(upload, at(10_001, bodyOf(CONTENT.subarray(10_001))))
    expect(state).toMatchObject({ phase: 'processing', offset: SIZE })
    expect(await messagesOf(upload)).toBe(1)
    expect(await published(upload)).toEqual(CONTENT)
  })

  test('already stored are skipped', async () => {
    const upload = await newUpload()
    await here.receive(upload, at(0, bodyOf(CONTENT.subarray(0, 500))))
    const body = bodyOf(CONTENT.subarray(0, 200), CONTENT.subarray(200, 300), CONTENT.subarray(300))
    await here.receive(upload, at(500, body, { skip: 500 }))
    expect(await published(upload)).toEqual(CONTENT)
  })

  test('received before a connection breaks are kept', async () => {
    const upload = await newUpload()
    const source = feed()
    const running = here.receive(upload, at(0, source.body))
    source.push(0, 700)
    await untilArriving(upload)
    source.break()
    expect(await running).toMatchObject({ phase: 'waiting', offset: 700 })
  })

  test('complete the upload even if the connection breaks after the last one', async () => {
    const upload = await newUpload()
    let isSent = false
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          if (isSent) controller.error(new Error('the connection broke'))
          else controller.enqueue(CONTENT)
          isSent = true
        },
      },
      { highWaterMark: 0 },
    )
    expect(await here.receive(upload, at(0, body))).toMatchObject({ phase: 'processing', offset: SIZE })
  })

  test('of a disconnected client are kept', async () => {
    const upload = await newUpload()
    const source = feed()
    const connection = new AbortController()
    const running = here.receive(upload, at(0, source.body, { signal: connection.signal }))
    source.push(0, 700)
    await untilArriving(upload)
    connection.abort()
    expect(await running).toMatchObject({ phase: 'waiting', offset: 700 })
  })

  test('at a wrong offset are refused, and none are stored', async () => {
    const upload = await newUpload()
    await here.receive(upload, at(0, bodyOf(CONTENT.subarray(0, 500))))
    for (const offset of [0, 499, 501, SIZE]) {
      const error = await outcome(here.receive(upload, at(offset, bodyOf(CONTENT.subarray(0, 10)))))
      expect(error).toBeInstanceOf(OffsetMismatch)
      expect((error as OffsetMismatch).state.offset).toBe(500)
    }
    expect(await offsetOf(upload)).toBe(500)
  })

  test('beyond fileSize are refused and do not complete the upload', async () => {
    const upload = await newUpload()
    const tooMany = [
      at(0, bodyOf(CONTENT), { length: SIZE + 1 }),
      at(0, bodyOf(CONTENT, CONTENT.subarray(0, 1))),
      at(0, bodyOf(Buffer.concat([CONTENT, CONTENT]))),
    ]
    for (const request of tooMany) {
      expect(await outcome(here.receive(upload, request))).toBeInstanceOf(UploadTooLarge)
      expect(await rowOf(upload)).toMatchObject({ phase: 'waiting', bytes_received: 0 })
    }
    expect(await messagesOf(upload)).toBe(0)
  })

  test('an empty request changes nothing', async () => {
    const upload = await newUpload()
    for (const body of [null, bodyOf(), bodyOf(new Uint8Array())])
      expect(await here.receive(upload, at(0, body))).toMatchObject({ phase: 'waiting', offset: 0 })
    const [row] = await server.database
      .sql`select asset_status from recording where id = ${upload.recordingId}`
    expect(row?.asset_status).toBe('waiting')
    expect((await rowOf(upload)).writer_process).toBeNull()
  })

  test('a whole-file request replaces the stored bytes', async () => {
    const upload = await newUpload()
    await here.receive(upload, at(0, bodyOf(new Uint8Array(60_000))))
    const before = (await rowOf(upload)).object_key as string
    await here.receive(upload, at(null, bodyOf(CONTENT)))
    expect(await published(upload)).toEqual(CONTENT)
    const entered = await server.database.sql`select 1 from upload_garbage where object_key = ${before}`
    expect(entered).toHaveLength(1)
    expect(await server.deps.storage.head(before)).toBeNull()
  })

  test('an empty whole-file request replaces nothing', async () => {
    const upload = await newUpload()
    await here.receive(upload, at(0, bodyOf(CONTENT.subarray(0, 500))))
    await here.receive(upload, at(null, bodyOf()))
    expect(await offsetOf(upload)).toBe(500)
  })

  test('of a complete upload are not read', async () => {
    const upload = await newUpload()
    await here.receive(upload, at(null, bodyOf(CONTENT)))
    for (const offset of [null, SIZE])
      expect(await here.receive(upload, at(offset, feed().body))).toMatchObject({ offset: SIZE })
    expect(await outcome(here.receive(upload, at(0, bodyOf(CONTENT))))).toBeInstanceOf(OffsetMismatch)
    expect(await messagesOf(upload)).toBe(1)
  })

  test('of an unknown upload are refused with UnknownUpload by every method', async () => {
    await newUpload()
    for (const token of ['', 'x', 'a'.repeat(43), newId()]) expect(await here.find(token)).toBeNull()
    const upload = await newUpload()
    const found = await here.find(upload.token)
    if (found === null) throw new Error('there is an upload')
    await server.database.sql`delete from upload where id = ${upload.id}`
    expect(await here.interrupt(found)).toBeNull()
    expect(await outcome(here.receive(upload, at(0, null)))).toBeInstanceOf(UnknownUpload)
    expect(await outcome(here.cancel(upload))).toBeInstanceOf(UnknownUpload)
  })
})

describe('a checksum', () => {
  const part = CONTENT.subarray(0, 5_000)
  const sum = (algorithm: 'sha1' | 'sha256' | 'md5') => new Bun.CryptoHasher(algorithm).update(part).digest()
  const crc = Buffer.alloc(4)
  crc.writeUInt32BE(crc32(part))
  const digests = [
    ['sha1', sum('sha1')],
    ['sha256', sum('sha256')],
    ['md5', sum('md5')],
    ['crc32', crc],
  ] as const

  test.each(digests)('%s that matches keeps the bytes', async (algorithm, digest) => {
    const upload = await newUpload()
    const body = bodyOf(part.subarray(0, 1), part.subarray(1))
    const state = await here.receive(upload, at(0, body, { checksum: { algorithm, digest } }))
    expect(state.offset).toBe(5_000)
  })

  test.each(digests)('%s that does not match discards all bytes', async (algorithm, digest) => {
    const upload = await newUpload()
    for (const wrong of [digest.map((byte) => byte ^ 1), digest.subarray(1), new Uint8Array()]) {
      const request = at(0, bodyOf(part), { checksum: { algorithm, digest: wrong } })
      expect(await outcome(here.receive(upload, request))).toBeInstanceOf(ChecksumMismatch)
      expect(await offsetOf(upload)).toBe(0)
    }
    await here.receive(upload, at(0, bodyOf(CONTENT)))
    expect(await published(upload)).toEqual(CONTENT)
  })

  test('of an interrupted request discards all bytes', async () => {
    const upload = await newUpload()
    const source = feed()
    const [algorithm, digest] = digests[0]
    const running = here.receive(upload, at(0, source.body, { checksum: { algorithm, digest } }))
    source.push(0, 4_000)
    await untilArriving(upload)
    source.break()
    expect(await running).toMatchObject({ offset: 0 })
  })
})

describe('the client', () => {
  test('is waited for only while the store is idle', async () => {
    const upload = await newUpload()
    const source = feed()
    const waits: boolean[] = []
    const [appending, free] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const incoming: typeof server.deps.storage.incoming = {
      ...server.deps.storage.incoming,
      async append(...args) {
        appending.resolve()
        await free.promise
        return server.deps.storage.incoming.append(...args)
      },
    }
    const receiver = createUploadReceiver({ ...server.deps, storage: { ...server.deps.storage, incoming } })
    started.push(receiver)
    const onWait = (isForClient: boolean) => void waits.push(isForClient)
    const running = receiver.receive(upload, { ...at(0, source.body), onWait })
    await eventually(() => waits.length > 0)
    expect(waits).toEqual([true])
    source.push(0, 700)
    await appending.promise
    expect(waits).toEqual([true, false])
    free.resolve()
    await eventually(() => waits.length > 2)
    source.end()
    expect(await running).toMatchObject({ offset: 700 })
    expect(waits).toEqual([true, false, true, false])
  })
})

describe('the newest request wins', () => {
  test('in one process: the older request ends and its received bytes are kept', async () => {
    const upload = await newUpload()
    const source = feed()
    const older = outcome(here.receive(upload, at(0, source.body)))
    source.push(0, 700)
    await untilArriving(upload)
    expect(await settle(here, upload)).toMatchObject({ phase: 'waiting', offset: 700 })
    expect(await older).toBeInstanceOf(Superseded)
    await here.receive(upload, at(700, bodyOf(CONTENT.subarray(700))))
    expect(await published(upload)).toEqual(CONTENT)
  })

  test('with many at once: the newest takes the bytes and the others end', async () => {
    const upload = await newUpload()
    let ended = 0
    const older = Array.from({ length: 10 }, async () => {
      const one = await outcome(here.receive(upload, at(null, feed().body)))
      ended++
      return one
    })
    await eventually(() => ended === 9)
    const newest = here.receive(upload, at(null, bodyOf(CONTENT)))
    expect(await newest).toMatchObject({ phase: 'processing', offset: SIZE })
    for (const one of older) expect(await one).toBeInstanceOf(Superseded)
    expect(await published(upload)).toEqual(CONTENT)
  })

  test('reading the state does not interrupt a request', async () => {
    const upload = await newUpload()
    const source = feed()
    const running = here.receive(upload, at(0, source.body))
    source.push(0, 700)
    await untilArriving(upload)
    expect(await here.find(upload.token)).toMatchObject({ phase: 'waiting' })
    source.push(700, SIZE)
    source.end()
    expect(await running).toMatchObject({ offset: SIZE })
  })

  test('in another process: bytes that the older request sends later have no effect', async () => {
    const upload = await newUpload()
    const source = feed()
    const older = outcome(here.receive(upload, at(0, source.body)))
    source.push(0, 700)
    await untilArriving(upload)
    const { offset } = (await settle(there, upload)) ?? { offset: -1 }
    const newer = feed()
    const running = there.receive(upload, at(offset, newer.body))
    newer.push(offset, 50_000)
    source.push(700, 60_000)
    source.end()
    expect(await older).toBeInstanceOf(Superseded)
    newer.push(50_000, SIZE)
    newer.end()
    expect(await running).toMatchObject({ phase: 'processing', offset: SIZE })
    expect(await published(upload)).toEqual(CONTENT)
  })

  test('in another process: the older request cannot write past its last recorded offset', async () => {
    const upload = await newUpload()
    const source = feed()
    const older = outcome(here.receive(upload, at(0, source.body)))
    let sent = 0
    await eventually(async () => {
      source.push(sent, ++sent)
      return Number(await offsetOf(upload)) > 0
    })
    const { offset } = (await settle(there, upload)) ?? { offset: -1 }
    await there.receive(upload, at(offset, bodyOf(CONTENT.subarray(offset, 50_000))))
    source.pushBytes(new Uint8Array(SIZE - sent))
    source.end()
    expect(await older).toBeInstanceOf(Superseded)
    await there.receive(upload, at(50_000, bodyOf(CONTENT.subarray(50_000))))
    expect(await published(upload)).toEqual(CONTENT)
  })

  test('after the process of the older request was killed', async () => {
    const upload = await newUpload()
    await here.receive(upload, at(0, bodyOf(CONTENT.subarray(0, 30_000))))
    await server.database.sql`update upload set writer_process = ${newId()} where id = ${upload.uploadId}`
    await there.receive(upload, at(30_000, bodyOf(CONTENT.subarray(30_000, 60_000))))
    await server.database.sql`update upload set writer_process = ${newId()} where id = ${upload.uploadId}`
    await here.receive(upload, at(60_000, bodyOf(CONTENT.subarray(60_000))))
    expect(await published(upload)).toEqual(CONTENT)
  })

  test('twenty whole-file requests in two processes complete the file exactly once', async () => {
    const upload = await newUpload()
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        outcome((index % 2 ? here : there).receive(upload, at(null, bodyOf(CONTENT)))),
      ),
    )
    for (const one of outcomes)
      if (!(one instanceof Superseded)) expect(one).toMatchObject({ phase: 'processing', offset: SIZE })
    expect(await messagesOf(upload)).toBe(1)
    expect(await published(upload)).toEqual(CONTENT)
  })
})

describe('an upload that ends while bytes arrive', () => {
  const arriving = async () => {
    const upload = await newUpload()
    const source = feed()
    const running = outcome(here.receive(upload, at(0, source.body)))
    source.push(0, 700)
    await untilArriving(upload)
    return { upload, source, running }
  }

  test('by cancelling in the same process: the request ends and leaves nothing behind', async () => {
    const { upload, running } = await arriving()
    expect(await here.cancel(upload)).toMatchObject({ phase: 'cancelled' })
    const error = await running
    expect(error).toBeInstanceOf(UploadClosed)
    expect((error as UploadClosed).state.phase).toBe('cancelled')
    expect(await here.cancel(upload)).toMatchObject({ phase: 'cancelled' })
  })

  test('by cancelling in another process: the request ends when it records progress', async () => {
    const { upload, source, running } = await arriving()
    expect(await there.cancel(upload)).toMatchObject({ phase: 'cancelled' })
    source.push(700, SIZE)
    source.end()
    expect(await running).toBeInstanceOf(UploadClosed)
    expect(await messagesOf(upload)).toBe(0)
  })

  test('by its deadline: the request ends when it records progress', async () => {
    const { upload, source, running } = await arriving()
    await server.database.sql`update upload set expires_at = now() where id = ${upload.uploadId}`
    source.push(700, SIZE)
    source.end()
    const error = await running
    expect(error).toBeInstanceOf(UploadClosed)
    expect((error as UploadClosed).state.errorCode).toBe('upload_expired')
  })

  test('by deleting the recording: the request ends when it records progress', async () => {
    const { upload, source, running } = await arriving()
    const { status } = await server
      .as({ apiKey: tenant.apiKey })
      .delete(`${RECORDINGS}/${upload.recordingId}`)
    expect(status).toBe(204)
    source.push(700, SIZE)
    source.end()
    expect(await running).toBeInstanceOf(UnknownUpload)
  })

  test('cannot be cancelled once every byte is stored', async () => {
    const upload = await newUpload()
    await here.receive(upload, at(null, bodyOf(CONTENT)))
    expect(await outcome(here.cancel(upload))).toBeInstanceOf(UploadNotCancellable)
  })
})

describe('a process that stops', () => {
  test('stores received bytes, answers its requests and accepts no new ones', async () => {
    const upload = await newUpload()
    const source = feed()
    const running = here.receive(upload, at(0, source.body))
    source.push(0, 700)
    await untilArriving(upload)
    await here.stop()
    expect(await running).toMatchObject({ phase: 'waiting', offset: 700 })
    expect(await outcome(here.receive(upload, at(700, null)))).toMatchObject({ code: 'unavailable' })
    expect(await rowOf(upload)).toMatchObject({ bytes_received: 700, writer_process: null })
    await there.receive(upload, at(700, bodyOf(CONTENT.subarray(700))))
    expect(await published(upload)).toEqual(CONTENT)
  })
})
