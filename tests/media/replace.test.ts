/** Uploads for recordings that already have media: the old media plays until the new is published, and stays if that fails. */
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
import { createRuntime, type Runtime } from '../../src/actors/runtime.ts'
import { retryFailedMedia, retryMedia } from '../../src/calls/media/retry.ts'
import { mediaMaintenance } from '../../src/calls/media/service.ts'
import { PROCESS_ATTEMPTS } from '../../src/calls/media/uploaded.ts'
import { type RecordingTools, recordingActor } from '../../src/calls/processing/actor.ts'
import { QUICK } from '../support/actors.ts'
import { sha256, wav } from '../support/media.ts'
import { RECORDINGS, utterance } from '../support/recordings.ts'
import { type Client, startTestServer, type TestServer, type TestTenant } from '../support/server.ts'
import type { TestUpload } from '../support/uploads.ts'
import { type Subject, subjectOf } from './support/subject.ts'

setDefaultTimeout(300_000)

const OLD = wav(1)
const NEW = wav(2)
const NO_MEDIA = new TextEncoder().encode('this is no media')
const NEVER = new AbortController().signal

let server: TestServer
let tenant: TestTenant
let client: Client
let subject: Subject
let runtime: Runtime | null = null
let first: TestUpload

beforeAll(async () => {
  server = await startTestServer()
})
beforeEach(async () => {
  tenant = await server.createTenant()
  client = server.as({ apiKey: tenant.apiKey })
  subject = subjectOf(server, tenant)
  first = await subject.send(OLD)
  await work()
  expect((await subject.ended(first)).asset.status).toBe('completed')
  await rest()
})
afterEach(() => rest())
afterAll(() => server?.stop())

async function work(tools: RecordingTools = {}): Promise<void> {
  runtime = createRuntime(server.deps, [recordingActor(server.deps, tools)], QUICK)
  await runtime.start()
}
async function rest(): Promise<void> {
  await runtime?.stop(5_000)
  runtime = null
}

/** Another complete upload for the recording. */
async function sendAnother(bytes: Uint8Array<ArrayBuffer>): Promise<TestUpload> {
  const { recordingId } = first
  const answer = await client.post(`${RECORDINGS}/${recordingId}/uploads`, {
    fileName: 'better.wav',
    fileSize: bytes.byteLength,
  })
  expect(answer.status).toBe(201)
  const upload: TestUpload = { ...answer.body, recordingId }
  expect((await fetch(upload.uploadUrl, { method: 'PUT', body: bytes })).ok).toBe(true)
  return upload
}

const asset = () => subject.asset(first.recordingId)
const soundOf = async (url: string) => sha256(await (await subject.open(url)).arrayBuffer())
const retry = () => retryMedia(server.deps, { ...first, organizationId: tenant.organizationId })

async function expectOld(): Promise<void> {
  const { status, url, errorCode, durationSeconds } = await asset()
  expect([status, errorCode, durationSeconds]).toEqual(['completed', null, 1])
  expect(await soundOf(url)).toBe(sha256(OLD))
}
async function expectNew(upload: TestUpload): Promise<void> {
  const { asset, status } = await subject.ended(upload)
  expect([status.phase, asset.status, asset.durationSeconds]).toEqual(['ready', 'completed', 2])
  expect(await soundOf(asset.url)).toBe(sha256(NEW))
}

/** The next failure of processing is final. */
const exhaust = () => server.database.sql`
  update actor_message
  set attempts = ${PROCESS_ATTEMPTS - 1}
  where key = ${`recording:${first.recordingId}`}`

describe('a new upload', () => {
  test('keeps the old media playable until the new media is processed', async () => {
    const { url, waveformUrl } = await asset()
    const upload = await sendAnother(NEW)
    expect((await subject.status(upload)).phase).toBe('processing')
    await expectOld()
    await work()
    await expectNew(upload)
    expect([(await subject.open(url)).status, (await subject.open(waveformUrl)).status]).toEqual([404, 404])
  })

  test('removes the old media from the store', async () => {
    const keyOf = (url: string) => new URL(url).pathname.slice('/media/'.length)
    const { url, waveformUrl } = await asset()
    const upload = await sendAnother(NEW)
    await work()
    await expectNew(upload)
    for (const task of mediaMaintenance(server.deps)) await task.run(NEVER)
    const { storage } = server.deps
    expect([await storage.head(keyOf(url)), await storage.head(keyOf(waveformUrl))]).toEqual([null, null])
    await expectNew(upload)
  })

  test('that is not media fails, and the old media stays', async () => {
    const upload = await sendAnother(NO_MEDIA)
    await work()
    const { status } = await subject.ended(upload)
    expect([status.phase, status.errorCode]).toEqual(['failed', 'processing_failed'])
    await expectOld()
  })

  test('that expires or is cancelled keeps the old media; the next upload replaces it', async () => {
    const { recordingId } = first
    const create = () => client.post(`${RECORDINGS}/${recordingId}/uploads`, { fileName: 'x', fileSize: 10 })
    const { body } = await create()
    await client.delete(`${RECORDINGS}/${recordingId}/uploads/${body.uploadId}`)
    await create()
    await server.database.sql`update upload set expires_at = now() where recording_id = ${recordingId}`
    const upload = await sendAnother(NEW)
    await expectOld()
    await work()
    await expectNew(upload)
  })

  test.each([['retry'], ['retry-all']])(
    'that failed for reasons outside its file is completed by `recording %s`; the old media stays until then',
    async (command) => {
      const upload = await sendAnother(NEW)
      await exhaust()
      await work({ process: () => Promise.reject(new Error('no space left on device')) })
      expect((await subject.ended(upload)).status.phase).toBe('failed')
      await rest()
      await expectOld()
      const { organizationId } = tenant
      if (command === 'retry') expect(await retry()).toBe('queued')
      else expect(await retryFailedMedia(server.deps, organizationId)).toBe(1)
      expect(await retry()).toBe('under_way')
      await expectOld()
      await work()
      await expectNew(upload)
      expect(await retry()).toBe('completed')
    },
  )
})

describe('the transcript', () => {
  const recording = () => client.get(`${RECORDINGS}/${first.recordingId}`)
  const transcribedBy = async (source: 'api' | 'automatic') => {
    const { sql } = server.database
    const { recordingId } = first
    await sql`
      insert into transcript_utterance (organization_id, recording_id, ordinal, start_sec, end_sec, speaker, text)
      values (${tenant.organizationId}, ${recordingId}, 0, 0, 1, 0, 'Old words.')`
    await sql`
      update recording
      set transcript_status = 'completed', transcript_source = ${source}, summary = 'Old.', summary_source = ${source}
      where id = ${recordingId}`
  }
  const wordsOf = async () =>
    (await client.get(`${RECORDINGS}/${first.recordingId}/transcript`)).body.utterances

  test('made from the old media is deleted with it, including its summary', async () => {
    await transcribedBy('automatic')
    const upload = await sendAnother(NEW)
    expect(await wordsOf()).toHaveLength(1)
    await work()
    await expectNew(upload)
    const { transcript, summary } = (await recording()).body
    expect([transcript.source, summary, await wordsOf()]).toEqual([null, null, []])
  })

  test('supplied by the caller stays', async () => {
    await transcribedBy('api')
    const upload = await sendAnother(NEW)
    await work()
    await expectNew(upload)
    const { transcript, summary } = (await recording()).body
    expect([transcript.status, transcript.source, summary]).toEqual(['completed', 'api', 'Old.'])
    const { startSec, endSec, speaker, text } = (await wordsOf())[0]
    expect({ startSec, endSec, speaker, text }).toEqual(utterance(0, 1, 0, 'Old words.'))
  })
})
