/** Real media of many kinds, uploaded and processed: what is kept, what is converted, and what is derived. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createRuntime, type Runtime } from '../../src/actors/runtime.ts'
import { createProbe } from '../../src/calls/media/probe.ts'
import { findPrograms } from '../../src/calls/media/programs.ts'
import { mediaMaintenance } from '../../src/calls/media/service.ts'
import { recordingActor } from '../../src/calls/processing/actor.ts'
import { QUICK } from '../support/actors.ts'
import { sha256 } from '../support/media.ts'
import { RECORDINGS } from '../support/recordings.ts'
import { startTestServer, type TestServer, type TestTenant } from '../support/server.ts'
import { film, media, picture, tone } from './support/ffmpeg.ts'
import { type Subject, subjectOf } from './support/subject.ts'

setDefaultTimeout(300_000)

let server: TestServer
let tenant: TestTenant
let subject: Subject
let runtime: Runtime

beforeAll(async () => {
  server = await startTestServer()
  tenant = await server.createTenant()
  subject = subjectOf(server, tenant)
  runtime = createRuntime(server.deps, [recordingActor(server.deps)], QUICK)
  await runtime.start()
})
afterAll(async () => {
  await runtime?.stop(5_000)
  await server?.stop()
})

const ended = async (bytes: Uint8Array<ArrayBuffer>, fileName?: string) => {
  const upload = await subject.send(bytes, fileName)
  return { upload, ...(await subject.ended(upload)) }
}
const bytesOf = async (url: string) => new Uint8Array(await (await subject.open(url)).arrayBuffer())
const objectsOf = (recordingId: string) => {
  const folder = join(server.deps.config.dataDir, 'media', 'recordings', recordingId)
  return existsSync(folder) ? [...new Bun.Glob('**/*').scanSync({ cwd: folder })] : []
}
/** The played media, examined by the same program. */
const played = async (url: string) => {
  const path = join(server.deps.config.dataDir, crypto.randomUUID())
  writeFileSync(path, await bytesOf(url))
  const facts = await createProbe(findPrograms({ ffprobePath: null, ffmpegPath: null }))(
    path,
    new AbortController().signal,
  )
  return { ...facts, container: facts.container.name }
}

/** H.264 and AAC with a third stream of another input. */
const filmWith = (input: readonly string[], ...settings: readonly string[]) => {
  const codecs = ['-c:v:0', 'libx264', '-pix_fmt:v:0', 'yuv420p', '-c:a', 'aac']
  const maps = ['-map', '0', '-map', '1', '-map', '2']
  return media('mp4', ...picture(), ...tone(), ...input, ...maps, ...codecs, ...settings)
}
const SUBTITLES = [
  '-f',
  'srt',
  '-i',
  `data:,${encodeURIComponent('1\n00:00:00,000 --> 00:00:01,000\nHello\n')}`,
]
const AS_COVER = ['-c:v:1', 'png', '-frames:v:1', '1', '-disposition:v:1', 'attached_pic']
const video = (extension: string, ...args: string[]) => media(extension, ...picture(), ...tone(), ...args)
const sound = (extension: string, ...args: string[]) => media(extension, ...tone(), ...args)

describe('media that every browser plays is published unchanged', () => {
  test.each([
    ['mp4 of H.264 and AAC', 'video/mp4', () => film()],
    ['mp4 with subtitles', 'video/mp4', () => filmWith(SUBTITLES, '-c:s', 'mov_text')],
    ['mp4 with a cover', 'video/mp4', () => filmWith(picture('64x64', 1, 1), ...AS_COVER)],
    ['webm of VP8 and Opus', 'video/webm', () => video('webm', '-c:v', 'libvpx', '-c:a', 'libopus')],
    ['webm of VP9 and Vorbis', 'video/webm', () => video('webm', '-c:v', 'libvpx-vp9', '-c:a', 'libvorbis')],
    ['mp3', 'audio/mpeg', () => sound('mp3')],
    ['m4a of AAC', 'audio/mp4', () => sound('m4a', '-c:a', 'aac')],
    ['wav of PCM', 'audio/wav', () => sound('wav')],
    ['flac', 'audio/flac', () => sound('flac')],
    ['aac', 'audio/aac', () => sound('aac')],
  ])('%s', async (_, contentType, make) => {
    const bytes = make()
    const { asset, status, upload } = await ended(bytes)
    expect(status).toMatchObject({ phase: 'ready', errorCode: null, encodeProgress: null })
    expect(asset).toMatchObject({ status: 'completed', contentType, fileSize: bytes.byteLength })
    expect(asset.durationSeconds).toBeWithin(1.9, 2.2)
    expect(sha256(await bytesOf(asset.url))).toBe(sha256(bytes))
    const [row] = await server.database.sql`
      select asset_source_key as source from recording where id = ${upload.recordingId}`
    expect(row?.source).toBeNull()
  })
})

describe('other media becomes MP4 with H.264 and AAC, and the original is kept', () => {
  test.each([
    ['mov of H.264 and AAC, which is only copied', () => film('mov')],
    ['mov of MPEG-4 Part 2 and PCM', () => video('mov', '-c:v', 'mpeg4', '-c:a', 'pcm_s16be')],
    ['mp4 of HEVC', () => video('mp4', '-c:v', 'libx265', '-x265-params', 'log-level=none', '-c:a', 'aac')],
    ['mpg of MPEG-2', () => video('mpg', '-c:v', 'mpeg2video', '-c:a', 'mp2')],
    ['mp4 of VP9 and Opus', () => video('mp4', '-c:v', 'libvpx-vp9', '-c:a', 'libopus')],
    ['mp4 with chroma that telephones do not decode', () => film('mp4', '-pix_fmt', 'yuv444p')],
  ])('%s', async (_, make) => {
    const bytes = make()
    const { asset, status, upload } = await ended(bytes)
    expect([status.phase, asset.status, asset.contentType]).toEqual(['ready', 'completed', 'video/mp4'])
    expect(await played(asset.url)).toMatchObject({
      container: 'mp4',
      video: { codec: 'h264', pixelFormat: 'yuv420p', width: 160, height: 120 },
      audio: { codec: 'aac' },
    })
    const result = await bytesOf(asset.url)
    expect(asset.fileSize).toBe(result.byteLength)
    // The index precedes the data, so that playback can start at once.
    const place = (box: string) => Buffer.from(result).indexOf(Buffer.from(box))
    expect(place('moov')).toBeLessThan(place('mdat'))
    const [row] = await server.database.sql<{ source: string }[]>`
      select asset_source_key as source from recording where id = ${upload.recordingId}`
    const original = await new Response(await server.deps.storage.read(row!.source)).arrayBuffer()
    expect(sha256(original)).toBe(sha256(bytes))
  })

  test.each([
    ['ogg of Vorbis', () => sound('ogg', '-c:a', 'libvorbis')],
    ['ogg of Opus', () => sound('ogg', '-c:a', 'libopus')],
    ['m4a of ALAC', () => sound('m4a', '-c:a', 'alac')],
    ['wav of A-law', () => sound('wav', '-c:a', 'pcm_alaw')],
    ['MPEG layer II', () => sound('mp2')],
  ])('sound becomes M4A: %s', async (_, make) => {
    const { asset } = await ended(make())
    expect(asset).toMatchObject({ status: 'completed', contentType: 'audio/mp4', isAudio: true })
    expect(await played(asset.url)).toMatchObject({ container: 'mp4', video: null, audio: { codec: 'aac' } })
    expect(asset.durationSeconds).toBeWithin(1.9, 2.2)
  })

  test('video fits into 1080p, portrait or landscape, and has even sides', async () => {
    const pairs = [
      ['2560x1440', [1920, 1080]],
      ['1440x2560', [1080, 1920]],
      ['161x121', [160, 120]],
    ] as const
    for (const [size, [width, height]] of pairs) {
      const { asset } = await ended(media('mov', ...picture(size, 1, 2), '-c:v', 'mjpeg'))
      const facts = await played(asset.url)
      expect(facts.video).toMatchObject({ width, height })
    }
  })
})

test('the file name is ignored: an MP4 called .mp3 is an MP4', async () => {
  const { asset } = await ended(film(), 'call.mp3')
  expect(asset).toMatchObject({ status: 'completed', contentType: 'video/mp4', isAudio: false })
})

test('Matroska, as Chrome records H.264, becomes MP4', async () => {
  const h264 = ['-c:v', 'libx264', '-pix_fmt', 'yuv420p', '-c:a', 'libopus'] as const
  const { asset } = await ended(video('mkv', ...h264), 'call.webm')
  expect(asset).toMatchObject({ status: 'completed', contentType: 'video/mp4' })
  expect(asset.durationSeconds).toBeWithin(1.9, 2.2)
})

describe('for players', () => {
  test('waveformUrl has the peaks, and posterUrl a JPEG', async () => {
    const { asset } = await ended(film())
    const answer = await subject.open(asset.waveformUrl)
    expect(answer.headers.get('content-type')).toBe('application/json')
    const { data, ...waveform } = (await answer.json()) as { data: number[]; length: number }
    expect(waveform).toMatchObject({ version: 2, channels: 1, bits: 8, sample_rate: 16_000 })
    expect(data).toHaveLength(waveform.length * 2)
    // A tone of an eighth of full scale.
    expect(Math.max(...data)).toBeWithin(12, 24)
    expect(Math.min(...data)).toBeWithin(-24, -12)
    const poster = await subject.open(asset.posterUrl)
    expect(poster.headers.get('content-type')).toBe('image/jpeg')
    expect([...new Uint8Array(await poster.arrayBuffer()).slice(0, 3)]).toEqual([0xff, 0xd8, 0xff])
  })

  test('each is null without audio or video', async () => {
    const silent = (await ended(media('mp4', ...picture(), '-pix_fmt', 'yuv420p'))).asset
    expect(silent).toMatchObject({
      status: 'completed',
      waveformUrl: null,
      posterUrl: expect.stringContaining('/poster.jpg?'),
    })
    const blind = (await ended(sound('mp3'))).asset
    expect(blind).toMatchObject({
      waveformUrl: expect.stringContaining('/waveform.json?'),
      posterUrl: null,
    })
  })

  test('a live recording gets a header that says how long it lasts', async () => {
    // Like a browser's recorder, which never updates the header.
    const live = sound('webm', '-c:a', 'libopus', '-live', '1')
    const { asset } = await ended(live)
    expect(asset).toMatchObject({ status: 'completed', contentType: 'audio/webm' })
    expect(asset.durationSeconds).toBeWithin(1.9, 2.2)
    expect(await played(asset.url)).toMatchObject({
      claimedSeconds: expect.closeTo(asset.durationSeconds, 1),
    })
  })
})

test('deleting a recording deletes all its objects', async () => {
  const { asset, upload } = await ended(film('mov'))
  expect(asset.status).toBe('completed')
  expect(objectsOf(upload.recordingId).length).toBeGreaterThanOrEqual(3)
  const client = server.as({ apiKey: tenant.apiKey })
  expect((await client.delete(`${RECORDINGS}/${upload.recordingId}`)).status).toBe(204)
  for (const task of mediaMaintenance(server.deps)) await task.run(new AbortController().signal)
  expect(objectsOf(upload.recordingId)).toEqual([])
  expect(readdirSync(join(server.deps.config.dataDir, 'tmp'))).toEqual([])
})
