/** Media that fails for reasons outside the file: acknowledged bytes are kept until an operator retries. */
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  setDefaultTimeout,
  test,
} from 'bun:test'
import { join } from 'node:path'
import { createRuntime, type Runtime } from '../../src/actors/runtime.ts'
import { INGEST_LIMITS } from '../../src/calls/media/ingest.ts'
import { createProbe } from '../../src/calls/media/probe.ts'
import { createProcess } from '../../src/calls/media/process.ts'
import { findPrograms } from '../../src/calls/media/programs.ts'
import { retryFailedMedia, retryMedia } from '../../src/calls/media/retry.ts'
import { INGEST_ATTEMPTS, mediaMaintenance } from '../../src/calls/media/service.ts'
import { PROCESS_ATTEMPTS } from '../../src/calls/media/uploaded.ts'
import { type RecordingTools, recordingActor } from '../../src/calls/processing/actor.ts'
import { uploadMaintenance } from '../../src/calls/uploads/maintenance.ts'
import { QUICK } from '../support/actors.ts'
import { type DnsServer, startDns } from '../support/dns.ts'
import { eventually } from '../support/eventually.ts'
import { localInternet, sha256, startRawOrigin, wav } from '../support/media.ts'
import { createRecording, RECORDINGS } from '../support/recordings.ts'
import { type Client, startTestServer, type TestServer, type TestTenant } from '../support/server.ts'
import type { TestUpload } from '../support/uploads.ts'
import { type Subject, subjectOf } from './support/subject.ts'

setDefaultTimeout(300_000)

const SOUND = wav(2)
const NO_MEDIA = new TextEncoder().encode('this is no media')
const HOST = 'media.example.com'

let server: TestServer
let tenant: TestTenant
let client: Client
let subject: Subject
let dns: DnsServer
let runtime: Runtime | null = null

beforeAll(async () => {
  dns = await startDns()
  dns.set(HOST, ['127.0.0.1'])
  server = await startTestServer()
})
beforeEach(async () => {
  tenant = await server.createTenant()
  client = server.as({ apiKey: tenant.apiKey })
  subject = subjectOf(server, tenant)
})
afterEach(() => rest())
afterAll(async () => {
  await server?.stop()
  dns?.stop()
})

async function work(tools: RecordingTools = {}, deps = server.deps): Promise<void> {
  runtime = createRuntime(deps, [recordingActor(deps, tools)], QUICK)
  await runtime.start()
}
async function rest(): Promise<void> {
  await runtime?.stop(5_000)
  runtime = null
}

const broken: RecordingTools = { process: () => Promise.reject(new Error('no space left on device')) }
/** A store that is unavailable when an object is published. */
const away = () => {
  const publish = () => Promise.reject(new Error('the store is away'))
  const { storage } = server.deps
  return { ...server.deps, storage: { ...storage, incoming: { ...storage.incoming, publish } } }
}

const retry = (recordingId: string, organizationId = tenant.organizationId) =>
  retryMedia(server.deps, { organizationId, recordingId })
const messagesOf = async (recordingId: string) => {
  const rows = await server.database.sql<{ type: string }[]>`
    select type from actor_message where key = ${`recording:${recordingId}`}`
  return rows.map(({ type }) => type)
}
/** The next failure is final. */
const exhaust = (recordingId: string, attempts: number) => server.database.sql`
  update actor_message
  set attempts = ${attempts - 1}
  where key = ${`recording:${recordingId}`}`

/** An upload of which every attempt has failed. */
async function givenUp(tools = broken, deps = server.deps): Promise<TestUpload> {
  const upload = await subject.send(SOUND)
  await exhaust(upload.recordingId, PROCESS_ATTEMPTS)
  await work(tools, deps)
  const { asset, status } = await subject.ended(upload)
  await rest()
  expect(status).toMatchObject({ phase: 'failed', errorCode: 'processing_failed', encodeProgress: null })
  expect(asset).toMatchObject({ status: 'failed', errorCode: 'processing_failed', url: null })
  return upload
}

/** Runs every deleting task twice, days later. */
async function collectGarbage(): Promise<void> {
  const clock = { now: () => new Date(Date.now() + 7 * 24 * 60 * 60 * 1_000) }
  for (let round = 0; round < 3; round++) {
    await server.database.sql`update media_garbage set delete_after = now()`
    await server.database.sql`update upload_garbage set delete_after = now()`
    const tasks = [...mediaMaintenance(server.deps), ...uploadMaintenance({ ...server.deps, clock })]
    for (const task of tasks) await task.run(new AbortController().signal)
  }
}
const filesOf = async ({ uploadId }: TestUpload) => {
  const [row] = await server.database.sql<{ key: string; kept: boolean }[]>`
    select object_key as key, bytes_kept as kept from upload where id = ${uploadId}`
  const staging = new Bun.CryptoHasher('sha256').update(row?.key ?? '').digest('hex')
  const cwd = join(server.deps.config.dataDir, 'media')
  const all = [...new Bun.Glob('**/*').scanSync({ cwd, dot: true })]
  return all.filter((path) => path.includes(row?.key ?? '-') || path.includes(staging)).length
}
async function expectSound(upload: TestUpload): Promise<void> {
  const { asset, status } = await subject.ended(upload)
  expect(status).toMatchObject({ phase: 'ready', errorCode: null })
  expect(asset).toMatchObject({ status: 'completed', errorCode: null, durationSeconds: 2 })
  expect(sha256(await (await subject.open(asset.url)).arrayBuffer())).toBe(sha256(SOUND))
}

describe('an upload whose processing fails for reasons outside the file', () => {
  test.each([
    ['while it is examined', () => givenUp()],
    ['because the store is away', () => givenUp({}, away())],
    [
      'without ffprobe',
      () => {
        const probe = createProbe({ ffprobe: '/nowhere/ffprobe' })
        return givenUp({ process: createProcess({ ...server.deps, ffmpeg: null, probe }) })
      },
    ],
  ])('keeps its bytes after the last attempt, and a retry completes it: %s', async (_, fail) => {
    const upload = await fail()
    await collectGarbage()
    expect(await filesOf(upload)).toBeGreaterThan(0)
    expect(await retry(upload.recordingId)).toBe('queued')
    expect(await subject.status(upload)).toMatchObject({ phase: 'processing', errorCode: null })
    expect(await subject.asset(upload.recordingId)).toMatchObject({ status: 'processing', errorCode: null })
    await collectGarbage()
    await work()
    await expectSound(upload)
    expect(await filesOf(upload)).toBe(1)
  })

  test('may fail and be retried repeatedly', async () => {
    const upload = await givenUp()
    await retry(upload.recordingId)
    await exhaust(upload.recordingId, PROCESS_ATTEMPTS)
    await work(broken)
    await subject.ended(upload)
    await rest()
    await collectGarbage()
    expect(await retry(upload.recordingId)).toBe('queued')
    await work()
    await expectSound(upload)
  })

  test('loses its bytes with its recording', async () => {
    const upload = await givenUp()
    expect((await client.delete(`${RECORDINGS}/${upload.recordingId}`)).status).toBe(204)
    await collectGarbage()
    const left = new Bun.Glob(`**/${upload.recordingId}/**`)
    expect([...left.scanSync({ cwd: server.deps.config.dataDir, dot: true })]).toEqual([])
    expect(await retry(upload.recordingId)).toBe('unknown')
  })

  test('keeps its bytes next to a new upload until the new media is published', async () => {
    const upload = await givenUp()
    const again = async () => {
      const path = `${RECORDINGS}/${upload.recordingId}/uploads`
      return (await client.post(path, { fileName: 'other.wav', fileSize: SOUND.byteLength })).body
    }
    const cancelled = await again()
    expect(await retry(upload.recordingId)).toBe('awaited')
    await client.delete(`${RECORDINGS}/${upload.recordingId}/uploads/${cancelled.uploadId}`)
    await collectGarbage()
    expect(await filesOf(upload)).toBe(1)
    const { uploadUrl, uploadId } = await again()
    await fetch(uploadUrl, { method: 'PUT', body: SOUND })
    await work()
    await expectSound({ ...upload, uploadId })
    await collectGarbage()
    expect(await filesOf(upload)).toBe(0)
    expect(await retry(upload.recordingId)).toBe('completed')
  })
})

describe('a broken file', () => {
  test('fails permanently: no bytes are kept and a retry is refused', async () => {
    const upload = await subject.send(NO_MEDIA)
    await work()
    const { asset } = await subject.ended(upload)
    expect(asset).toMatchObject({ status: 'failed', errorCode: 'unsupported_media_type' })
    await collectGarbage()
    expect(await filesOf(upload)).toBe(0)
    expect(await retry(upload.recordingId)).toBe('gone')
    expect(await messagesOf(upload.recordingId)).toEqual([])
  })

  test.each([
    'av_interleaved_write_frame(): No space left on device',
    'Error writing trailer: Disk quota exceeded',
    'Error opening output: Too many open files',
    "[vost#0:0 @ 0x5] Unknown encoder 'libx264'",
    "Unrecognized option 'codec_whitelist'.",
    "Failed to set value 'a' for option 'codec_whitelist': Option not found",
  ])('is not one that FFmpeg could not encode because of the machine: %s', async (words) => {
    const ffmpeg = join(server.deps.config.dataDir, `short-${crypto.randomUUID()}`)
    await Bun.write(ffmpeg, `#!/bin/sh\necho "${words}" >&2\nexit 1\n`)
    Bun.spawnSync(['chmod', '+x', ffmpeg])
    const facts = await createProbe(findPrograms(server.deps.config))(await soundFile(), never)
    // Always encoded anew.
    const probe = async () => ({ ...facts, audio: facts.audio && { ...facts.audio, codec: 'pcm_alaw' } })
    const process = createProcess({ ...server.deps, ffmpeg, probe })
    const upload = await givenUp({ process })
    expect(await retry(upload.recordingId)).toBe('queued')
  })
})

const never = new AbortController().signal
async function soundFile(): Promise<string> {
  const path = join(server.deps.config.dataDir, `${crypto.randomUUID()}.wav`)
  await Bun.write(path, SOUND)
  return path
}

describe('a retry', () => {
  test('runs once, however often it is requested', async () => {
    const upload = await givenUp()
    const answers = await Promise.all(Array.from({ length: 8 }, () => retry(upload.recordingId)))
    expect(answers.filter((answer) => answer === 'queued')).toHaveLength(1)
    expect(answers.filter((answer) => answer === 'under_way')).toHaveLength(7)
    expect(await messagesOf(upload.recordingId)).toEqual(['process_upload'])
  })

  test('resends a message that was deleted while the work was in progress', async () => {
    const upload = await subject.send(SOUND)
    expect(await retry(upload.recordingId)).toBe('under_way')
    await server.database.sql`delete from actor_message where key = ${`recording:${upload.recordingId}`}`
    expect(await retry(upload.recordingId)).toBe('queued')
    await work()
    await expectSound(upload)
  })

  test('is refused without media, for complete media, and in another organization', async () => {
    const { id } = await createRecording(client)
    expect(await retry(id)).toBe('gone')
    const upload = await givenUp()
    const stranger = await server.createTenant()
    expect(await retry(upload.recordingId, stranger.organizationId)).toBe('unknown')
    expect(await retry(crypto.randomUUID())).toBe('unknown')
    expect((await subject.asset(upload.recordingId)).status).toBe('failed')
  })

  test('of all retries every retryable failure of the organization', async () => {
    const uploads = [await givenUp(), await givenUp()]
    const bad = await subject.send(NO_MEDIA)
    await work()
    await subject.ended(bad)
    await rest()
    const stranger = await server.createTenant()
    expect(await retryFailedMedia(server.deps, stranger.organizationId)).toBe(0)
    expect(await retryFailedMedia(server.deps, tenant.organizationId)).toBe(2)
    expect(await retryFailedMedia(server.deps, tenant.organizationId)).toBe(0)
    await work()
    for (const upload of uploads) await expectSound(upload)
  })
})

describe('media of a URL after its last attempt', () => {
  const origin = () => {
    const started = startRawOrigin(({ write, end }) => {
      write(`HTTP/1.1 200 OK\r\nContent-Length: ${SOUND.byteLength}\r\n\r\n`)
      write(SOUND)
      end()
    })
    return { url: `http://${HOST}:${started.port}/talk`, [Symbol.dispose]: () => started.stop() }
  }
  const fetchPublic = () => localInternet(dns.address)
  const ended = (id: string) =>
    eventually(async () => {
      const asset = await subject.asset(id)
      return ['completed', 'failed'].includes(asset.status) && asset
    })
  const urlOf = async (id: string) => {
    const [row] = await server.database.sql`select asset_source_url as url from recording where id = ${id}`
    return row?.url
  }

  test.each([
    ['at its maximum age', { ...INGEST_LIMITS, maxAgeSeconds: 0 }, 1],
    ['after its last attempt', INGEST_LIMITS, INGEST_ATTEMPTS],
  ])('is fetched again by a retry if processing had failed, %s', async (_, limits, attempts) => {
    using source = origin()
    const { id } = await createRecording(client, { assetUrl: source.url })
    await exhaust(id, attempts)
    await work({ ...broken, fetchPublic: fetchPublic(), limits })
    expect(await ended(id)).toMatchObject({ status: 'failed', url: null })
    await rest()
    // It gets the whole time again, however old the request is.
    await server.database.sql`update recording set created_at = now() - interval '1 day' where id = ${id}`
    expect([await retry(id), await retry(id)]).toEqual(['queued', 'under_way'])
    expect(await subject.asset(id)).toMatchObject({ status: 'queued', errorCode: null })
    let tries = 0
    const probe = createProbe(findPrograms(server.deps.config))
    const real = createProcess({ ...server.deps, ffmpeg: null, probe })
    await work({
      fetchPublic: fetchPublic(),
      process: (...args) => (++tries === 1 ? Promise.reject(new Error('disk')) : real(...args)),
    })
    expect(await ended(id)).toMatchObject({ status: 'completed', errorCode: null, durationSeconds: 2 })
    expect(await urlOf(id)).toBeNull()
  })

  test('is deleted if the media was the cause', async () => {
    const { id } = await createRecording(client, { assetUrl: `http://${HOST}:1/talk` })
    await work({ fetchPublic: fetchPublic(), limits: { ...INGEST_LIMITS, maxAgeSeconds: 0 } })
    expect(await ended(id)).toMatchObject({ status: 'failed', errorCode: 'url_unreachable' })
    expect([await urlOf(id), await retry(id)]).toEqual([null, 'gone'])
  })
})
