/** Films with large gaps between frames: only existing frames are encoded, and the time limit follows from the bytes. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createRuntime } from '../../src/actors/runtime.ts'
import { encode } from '../../src/calls/media/encode.ts'
import { playbackOf } from '../../src/calls/media/playback.rules.ts'
import { createProbe } from '../../src/calls/media/probe.ts'
import { findPrograms } from '../../src/calls/media/programs.ts'
import { recordingActor } from '../../src/calls/processing/actor.ts'
import { QUICK } from '../support/actors.ts'
import { startTestServer } from '../support/server.ts'
import { media, picture, tone } from './support/ffmpeg.ts'
import { subjectOf } from './support/subject.ts'

setDefaultTimeout(300_000)

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'earshot-holes-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Three frames at 0, 1 and 86,000 s. Filled up to ten frames a second, they would become 860,000. */
const threeFramesADay = (...more: readonly string[]) => {
  const apart = "setpts='if(eq(N,2),86000,N)/TB'"
  const mjpeg = ['-c:v', 'mjpeg', '-q:v', '2'] as const
  return media('mov', ...picture('640x480', 3, 1), ...more, '-vf', apart, '-vsync', 'vfr', ...mjpeg)
}

/** Every FFmpeg on this machine: from the distribution and from the dependencies. */
const encoders = [Bun.which('ffmpeg'), packaged()].filter((path) => path !== null)

function packaged(): string | null {
  try {
    const name = `@ffmpeg-installer/${process.platform}-${process.arch}/package.json`
    return Bun.which(join(dirname(createRequire(import.meta.url).resolve(name)), 'ffmpeg'))
  } catch {
    return null
  }
}

interface Encoded {
  readonly frames: number
  readonly seconds: number
  readonly level: number
}

async function encoded(ffmpeg: string, bytes: Uint8Array): Promise<Encoded> {
  const path = join(folder, crypto.randomUUID())
  const target = `${path}.mp4`
  writeFileSync(path, bytes)
  const source = { path, facts: await createProbe(programs)(path, AbortSignal.timeout(45_000)) }
  const conversion = playbackOf(source.facts)
  if (conversion.kind !== 'convert') throw new Error('it is played as it is')
  await encode(ffmpeg, source, conversion, target, {
    signal: AbortSignal.timeout(45_000),
    onProgress: async () => {},
    now: () => Date.now(),
  })
  const { stdout } = Bun.spawnSync([
    ...['ffprobe', '-v', 'error', '-select_streams', 'v', '-count_packets', '-of', 'json'],
    ...['-show_entries', 'stream=nb_read_packets,duration,level', target],
  ])
  const [stream] = JSON.parse(stdout.toString()).streams
  return { frames: Number(stream.nb_read_packets), seconds: Number(stream.duration), level: stream.level }
}

const programs = findPrograms({ ffprobePath: null, ffmpegPath: null })

describe.each(encoders)('%s', (ffmpeg) => {
  test('gaps are not filled', async () => {
    const { frames, seconds } = await encoded(ffmpeg, threeFramesADay())
    expect(frames).toBe(3)
    expect(seconds).toBeWithin(85_999, 86_002)
  })

  test('a film of 25 frames a second keeps every frame and its length', async () => {
    const { frames, seconds } = await encoded(
      ffmpeg,
      media('mov', ...picture('160x120', 2, 25), '-c:v', 'mjpeg'),
    )
    expect(frames).toBe(50)
    expect(seconds).toBeWithin(1.9, 2.1)
  })

  test('a film of 240 frames a second becomes at most 60, playable by usual decoders', async () => {
    const fast = media('mov', ...picture('160x120', 2, 240), '-c:v', 'mjpeg')
    const { frames, seconds, level } = await encoded(ffmpeg, fast)
    expect(frames).toBeWithin(115, 125)
    expect(seconds).toBeWithin(1.9, 2.1)
    expect(level).toBeLessThanOrEqual(42)
  })
})

test('four such films are processed at once, with or without sound', async () => {
  const server = await startTestServer()
  const runtime = createRuntime(server.deps, [recordingActor(server.deps)], QUICK)
  try {
    await runtime.start()
    const subject = subjectOf(server, await server.createTenant())
    const films = [threeFramesADay(), threeFramesADay(...tone(3), '-c:a', 'pcm_s16le')]
    expect(films[0]!.byteLength).toBeLessThan(100_000)
    const uploads = await Promise.all([...films, ...films].map((bytes) => subject.send(bytes)))
    for (const upload of uploads) {
      const { asset, status } = await subject.ended(upload)
      expect(status).toMatchObject({ phase: 'ready' })
      expect(asset).toMatchObject({ status: 'completed', contentType: 'video/mp4' })
    }
  } finally {
    await runtime.stop(5_000)
    await server.stop()
  }
})
