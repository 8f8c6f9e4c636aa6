/** Processing that is interrupted: progress, lost turns, temporary and permanent failures. */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, type Runtime } from '../../src/actors/runtime.ts'
import { createProbe } from '../../src/calls/media/probe.ts'
import { createProcess } from '../../src/calls/media/process.ts'
import { findPrograms } from '../../src/calls/media/programs.ts'
import { mediaMaintenance } from '../../src/calls/media/service.ts'
import { type RecordingTools, recordingActor } from '../../src/calls/processing/actor.ts'
import { uploadMaintenance } from '../../src/calls/uploads/maintenance.ts'
import { QUICK } from '../support/actors.ts'
import { eventually } from '../support/eventually.ts'
import { sha256 } from '../support/media.ts'
import { RECORDINGS } from '../support/recordings.ts'
import { type Client, startTestServer, type TestServer } from '../support/server.ts'
import type { TestUpload } from '../support/uploads.ts'
import { media, picture, tone } from './support/ffmpeg.ts'
import { running, slowFfmpeg } from './support/slow.ts'
import { type Subject, subjectOf } from './support/subject.ts'

setDefaultTimeout(300_000)

let server: TestServer
let client: Client
let subject: Subject
let programs: string
let runtime: Runtime | null = null

beforeAll(async () => {
  programs = mkdtempSync(join(tmpdir(), 'earshot-programs-'))
  server = await startTestServer({ env: { FFMPEG_PATH: slowFfmpeg(programs) } })
  const tenant = await server.createTenant()
  client = server.as({ apiKey: tenant.apiKey })
  subject = subjectOf(server, tenant)
})
afterEach(async () => {
  await runtime?.stop(5_000)
  runtime = null
})
afterAll(async () => {
  await server?.stop()
  rmSync(programs, { recursive: true, force: true })
})

async function work(tools: RecordingTools = {}): Promise<void> {
  runtime = createRuntime(server.deps, [recordingActor(server.deps, tools)], QUICK)
  await runtime.start()
}

/** Takes six seconds. */
const needsEncoding = media('mov', ...picture('160x120', 6), ...tone(6), '-c:v', 'mpeg4', '-c:a', 'pcm_s16be')
const needsNothing = media('mp3', ...tone(1))

const encoding = (upload: TestUpload) =>
  eventually(
    async () => (await subject.status(upload)).phase === 'encoding' && running(temporary()).length > 0,
  )
const temporary = () => join(server.deps.config.dataDir, 'tmp')
const temporaryFolders = () => (existsSync(temporary()) ? readdirSync(temporary()) : [])
const objects = () => {
  const glob = new Bun.Glob('**/*')
  return [...glob.scanSync({ cwd: join(server.deps.config.dataDir, 'media'), dot: true })]
}
/** Keys that a recording refers to. */
const shown = async () => {
  const rows = await server.database.sql<{ key: string }[]>`
    select unnest(array[asset_object_key, asset_source_key, asset_waveform_key, asset_poster_key]) as key
    from recording`
  return rows.map(({ key }) => key).filter((key) => key !== null)
}
/** After all due deletions, only objects that a recording refers to are left. */
const nothingLeaks = async () => {
  await server.database.sql`update media_garbage set delete_after = now()`
  await server.database.sql`update upload_garbage set delete_after = now()`
  for (const task of [...mediaMaintenance(server.deps), ...uploadMaintenance(server.deps)])
    await task.run(new AbortController().signal)
  expect(objects()).toHaveLength((await shown()).length)
  expect(temporaryFolders()).toEqual([])
}

test('encodeProgress rises from 0 to 100 during encoding', async () => {
  await work()
  const upload = await subject.send(needsEncoding)
  const seen: number[] = []
  await eventually(async () => {
    const { phase, encodeProgress } = await subject.status(upload)
    if (phase === 'encoding') seen.push(encodeProgress ?? -1)
    else expect(encodeProgress).toBeNull()
    return phase === 'ready'
  })
  expect(seen).toEqual(seen.toSorted((one, other) => one - other))
  expect(seen.every((percent) => Number.isInteger(percent) && percent >= 0 && percent <= 100)).toBe(true)
  expect(new Set(seen).size).toBeGreaterThan(2)
  expect((await subject.asset(upload.recordingId)).status).toBe('completed')
  await nothingLeaks()
}, 300_000)

describe('a lost turn kills its FFmpeg and leaves nothing behind', () => {
  test('because the recording was deleted', async () => {
    await work()
    const upload = await subject.send(needsEncoding)
    await encoding(upload)
    expect((await client.delete(`${RECORDINGS}/${upload.recordingId}`)).status).toBe(204)
    await eventually(() => running(temporary()).length === 0)
    await eventually(() => temporaryFolders().length === 0)
    await nothingLeaks()
  }, 300_000)

  test('because the worker stops; another one retries it', async () => {
    await work()
    const upload = await subject.send(needsEncoding)
    await encoding(upload)
    await runtime?.stop(5_000)
    expect(running(temporary())).toEqual([])
    expect(temporaryFolders()).toEqual([])
    await work()
    expect((await subject.ended(upload)).asset).toMatchObject({
      status: 'completed',
      contentType: 'video/mp4',
    })
    await nothingLeaks()
  }, 300_000)

  test('because the process was killed; another one retries it', async () => {
    const script = new URL('support/worker.ts', import.meta.url).pathname
    const { dataDir, ffmpegPath } = server.deps.config
    const spawn = () =>
      Bun.spawn([process.execPath, script, server.database.url, '127.0.0.1', dataDir, ffmpegPath ?? ''])
    const first = spawn()
    const upload = await subject.send(needsEncoding)
    await encoding(upload)
    first.kill('SIGKILL')
    await first.exited
    await eventually(() => running(temporary()).length === 0)
    const second = spawn()
    try {
      expect((await subject.ended(upload)).asset.status).toBe('completed')
    } finally {
      second.kill('SIGKILL')
      await second.exited
    }
    await nothingLeaks()
  }, 300_000)
})

test('a failure outside the file is retried, and the asset stays in processing', async () => {
  let tries = 0
  const real = createProcess({
    ...server.deps,
    ffmpeg: null,
    probe: createProbe(findPrograms(server.deps.config)),
  })
  const seen: string[] = []
  await work({
    async process(path, options) {
      seen.push((await subject.status(upload)).phase, (await subject.asset(upload.recordingId)).status)
      if (++tries < 3) throw new Error('no space left on device')
      return real(path, options)
    },
  })
  const upload = await subject.send(needsNothing)
  const { asset } = await subject.ended(upload)
  expect([asset.status, tries, new Set(seen)]).toEqual(['completed', 3, new Set(['processing'])])
  await nothingLeaks()
})

test('progress that cannot be recorded does not end the work', async () => {
  let tries = 0
  const probe = createProbe(findPrograms(server.deps.config))
  const real = createProcess({ ...server.deps, ffmpeg: null, probe })
  await work({
    async process(path, options) {
      tries++
      await options.onEncode()
      await options.onProgress(Number.NaN)
      return real(path, options)
    },
  })
  expect((await subject.ended(await subject.send(needsNothing))).asset.status).toBe('completed')
  expect(tries).toBe(1)
})

test('without FFmpeg media is published unchanged, with neither waveform nor poster', async () => {
  const probe = createProbe(findPrograms(server.deps.config))
  await work({ process: createProcess({ ...server.deps, ffmpeg: null, probe }) })
  const { asset } = await subject.ended(await subject.send(needsEncoding))
  expect(asset).toMatchObject({
    status: 'completed',
    contentType: 'video/quicktime',
    waveformUrl: null,
    posterUrl: null,
  })
  expect(sha256(await (await subject.open(asset.url)).arrayBuffer())).toBe(sha256(needsEncoding))
})

test('without ffprobe nothing is lost: media waits until it is installed', async () => {
  const probe = createProbe({ ffprobe: join(programs, 'nothing') })
  await work({ process: createProcess({ ...server.deps, ffmpeg: null, probe }) })
  const upload = await subject.send(needsNothing)
  await eventually(async () => {
    const [row] = await server.database.sql<{ attempts: number; error: string }[]>`
      select attempts, last_error as error
      from actor_message
      where key = ${`recording:${upload.recordingId}`}`
    return (row?.attempts ?? 0) > 1 && row?.error.includes('nothing')
  })
  expect((await subject.status(upload)).phase).toBe('processing')
  await runtime?.stop(5_000)
  await work()
  expect((await subject.ended(upload)).asset.status).toBe('completed')
})

test('a poster or waveform that cannot be created is null, and fails nothing else', async () => {
  const probe = createProbe(findPrograms(server.deps.config))
  await work({ process: createProcess({ ...server.deps, ffmpeg: '/bin/false', probe }) })
  const { asset } = await subject.ended(await subject.send(needsNothing))
  expect(asset).toMatchObject({ status: 'completed', waveformUrl: null, posterUrl: null })
})
