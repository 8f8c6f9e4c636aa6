/** How long media lasts and where its sound is: measured by packets, compared with what a decoder makes of the whole file. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { playbackOf } from '../../src/calls/media/playback.rules.ts'
import { createProbe } from '../../src/calls/media/probe.ts'
import { createProcess, type Processed } from '../../src/calls/media/process.ts'
import { findPrograms } from '../../src/calls/media/programs.ts'
import { extractAudioTrack } from '../../src/calls/transcribe/audio-track.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import { wav } from '../support/media.ts'
import { media, patched, picture } from './support/ffmpeg.ts'

setDefaultTimeout(300_000)

const programs = findPrograms({ ffprobePath: null, ffmpegPath: null })
const probe = createProbe(programs)
const { signal } = new AbortController()

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'earshot-clock-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const fileOf = (bytes: Uint8Array) => {
  const path = join(folder, crypto.randomUUID())
  writeFileSync(path, bytes)
  return path
}

/** From the first to the end of the last decoded picture or sound, in seconds. */
function decodedSeconds(path: string): number {
  const entries =
    'frame=media_type,pts_time,pkt_dts_time,pkt_duration_time,duration_time,nb_samples:stream=sample_rate'
  const { stdout } = Bun.spawnSync([
    ...[
      'ffprobe',
      '-v',
      'quiet',
      '-of',
      'json',
      '-show_frames',
      '-show_streams',
      '-show_entries',
      entries,
      path,
    ],
  ])
  const { frames, streams } = JSON.parse(stdout.toString())
  const rate = Number(streams.find(({ sample_rate }: { sample_rate?: string }) => sample_rate)?.sample_rate)
  let [start, end] = [Number.POSITIVE_INFINITY, 0]
  for (const frame of frames) {
    const at = Number(frame.pts_time ?? frame.pkt_dts_time)
    const lasts =
      frame.media_type === 'audio'
        ? frame.nb_samples / rate
        : Number(frame.pkt_duration_time ?? frame.duration_time ?? 0.1)
    if (!Number.isFinite(at)) continue
    start = Math.min(start, at)
    end = Math.max(end, at + lasts)
  }
  return end - Math.max(0, start)
}

/** Silence, then noise: a variable bit rate begins low, so that an estimate from the first frames is wrong. */
const uneven = (seconds: number) =>
  [
    '-f',
    'lavfi',
    '-i',
    `aevalsrc='if(lt(t,${seconds / 2}),0,0.5*(random(0)-0.5))':d=${seconds}:s=44100`,
  ] as const
const LATER = "asetpts='PTS+2/TB'"
const GAP = "asetpts='PTS+gt(T,1)*3/TB'"
const VP8 = ['-c:v', 'libvpx', '-c:a', 'libopus'] as const
const H264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-c:a', 'aac'] as const
const both = (extension: string, seconds: number, ...more: readonly string[]) =>
  media(extension, ...picture('64x64', 5), ...uneven(seconds), '-map', '0', '-map', '1', ...more)
/** Wrong sizes of the file and of its samples, as recorders leave them that write the header first. */
const sized = (size: number) => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(size)
  return patched(wav(7), 'data', 0, bytes)
}

/** Seven seconds, of which the header claims one, as a recorder leaves them that was killed after a checkpoint. */
const ONE_SECOND = 8_000 * 2
const chunk = (id: string, content: Uint8Array) => {
  const head = Buffer.alloc(8, id, 'latin1')
  head.writeUInt32LE(content.length, 4)
  return Buffer.concat([head, content])
}
const behind = (more: Uint8Array) => new Uint8Array(Buffer.concat([wav(7), more]))

const FILES: readonly (readonly [name: string, make: () => Uint8Array])[] = [
  ['mp3', () => media('mp3', ...uneven(9))],
  [
    'mp3 of a variable rate without a header',
    () => media('mp3', ...uneven(9), '-q:a', '2', '-write_xing', '0'),
  ],
  ['aac', () => media('aac', ...uneven(9))],
  ['flac', () => media('flac', ...uneven(5))],
  ['m4a', () => media('m4a', ...uneven(5))],
  ['wav', () => wav(7)],
  ['wav of size 0', () => sized(0)],
  ['wav that claims more than it has', () => sized(0x7f_ff_ff_ff)],
  ['wav of unknown size', () => sized(0xff_ff_ff_ff)],
  ['ogg of Opus', () => media('ogg', ...uneven(5), '-c:a', 'libopus')],
  ['ogg of Vorbis', () => media('ogg', ...uneven(5), '-c:a', 'libvorbis')],
  ['webm of sound', () => media('webm', ...uneven(5), '-c:a', 'libopus')],
  ['webm of a live recording', () => both('webm', 5, ...VP8, '-live', '1')],
  ['webm of a live recording whose sound ends early', () => both('webm', 1, ...VP8, '-live', '1')],
  ['webm of a live recording whose picture ends early', () => both('webm', 9, ...VP8, '-live', '1')],
  ['webm without sound', () => media('webm', ...picture('64x64', 5), '-c:v', 'libvpx', '-live', '1')],
  ['webm whose clock starts at two hours', () => both('webm', 5, ...VP8, '-output_ts_offset', '7200')],
  ['webm with late sound', () => both('webm', 2, ...VP8, '-af', LATER)],
  ['webm with a gap', () => both('webm', 2, ...VP8, '-af', GAP)],
  ['mp4', () => both('mp4', 5, ...H264)],
  ['mp4 with late sound', () => both('mp4', 2, ...H264, '-af', LATER)],
  ['mp4 with a gap', () => both('mp4', 2, ...H264, '-af', GAP)],
  ['mp4 in fragments', () => both('mp4', 5, ...H264, '-movflags', 'frag_keyframe+empty_moov')],
  ['mov whose sound ends early', () => both('mov', 1, ...H264)],
  ['mpg', () => both('mpg', 5, '-r', '25', '-c:v', 'mpeg2video', '-c:a', 'mp2')],
]

describe('the duration is that of the decoder', () => {
  test.each(FILES)('%s', async (_, make) => {
    const path = fileOf(make())
    const decoded = decodedSeconds(path)
    expect(decoded).toBeGreaterThan(4)
    const { durationSeconds } = await probe(path, signal)
    expect(Math.abs((durationSeconds ?? 0) - decoded)).toBeLessThan(Math.max(0.15, decoded / 100))
  })
})

/** What is published, with the sound of its waveform and of its transcription, as seconds with sound. */
async function made(bytes: Uint8Array) {
  const path = fileOf(bytes)
  const place = mkdtempSync(join(folder, 'made-'))
  const process = createProcess({ probe, ffmpeg: programs.ffmpeg, clock: { now: () => new Date() } })
  const nothing = { onEncode: async () => {}, onProgress: async () => {} }
  const found: Processed = await process(path, {
    folder: place,
    signal,
    log: createLog('silent', 'test'),
    ...nothing,
  })
  const played = found.playback?.path ?? path
  const source = { path: played, folder: place, contentType: '', isAudio: false, durationSeconds: null }
  const track = await extractAudioTrack({ probe, ffmpeg: programs.ffmpeg }, source, signal)
  const waveform = found.waveform === null ? null : JSON.parse(readFileSync(found.waveform.path, 'utf8'))
  return {
    ...found,
    facts: await probe(played, signal),
    drawn: waveform === null ? null : drawnIn(waveform),
    drawnSeconds:
      waveform === null ? null : (waveform.length * waveform.samples_per_pixel) / waveform.sample_rate,
    heard: track === null ? null : heardIn(readFileSync(track.path).subarray(44)),
  }
}

const LOUD = 0.02
const spans = (isLoud: readonly boolean[], width: number) => {
  const found: (readonly [number, number])[] = []
  let start: number | null = null
  for (const [index, loud] of [...isLoud, false].entries()) {
    if (loud) start ??= index
    else if (start !== null) {
      found.push([start * width, index * width])
      start = null
    }
  }
  return found
}

function heardIn(samples: Buffer) {
  const width = 1_600
  const loud: boolean[] = []
  for (let at = 0; at + width * 2 <= samples.length; at += width * 2) {
    let most = 0
    for (let index = 0; index < width; index++)
      most = Math.max(most, Math.abs(samples.readInt16LE(at + index * 2)))
    loud.push(most / 32_768 > LOUD)
  }
  return spans(loud, 0.1)
}

function drawnIn({
  data,
  samples_per_pixel,
  sample_rate,
}: {
  data: number[]
  samples_per_pixel: number
  sample_rate: number
}) {
  const width = Math.round((0.1 * sample_rate) / samples_per_pixel)
  const loud: boolean[] = []
  for (let at = 0; at < data.length; at += width * 2)
    loud.push(data.slice(at, at + width * 2).some((value) => Math.abs(value) / 128 > LOUD))
  return spans(loud, (width * samples_per_pixel) / sample_rate)
}

const NOISE = ['-f', 'lavfi', '-i', 'anoisesrc=d=2:a=0.5'] as const
const film = (extension: string, codecs: readonly string[], filter: string) =>
  media(extension, ...picture('64x64', 6), ...NOISE, '-map', '0', '-map', '1', ...codecs, '-af', filter)
const near = (seconds: readonly (readonly [number, number])[]) =>
  seconds.map((span) => span.map((one) => expect.closeTo(one, 0)))

describe('a WAV file lasts as long as its samples, whatever its header claims', () => {
  test.each<[string, () => Uint8Array, number, 'as_is' | 'convert']>([
    ['right', () => wav(7), 7, 'as_is'],
    ['fewer than follow', () => sized(ONE_SECOND), 7, 'convert'],
    ['none', () => sized(0), 7, 'convert'],
    ['more than follow', () => sized(0x7f_ff_ff_ff), 7, 'convert'],
    ['unknown', () => sized(0xff_ff_ff_ff), 7, 'convert'],
    ['right, in RF64', () => media('wav', ...uneven(5), '-rf64', 'always'), 5, 'as_is'],
    [
      'fewer than follow, in RF64',
      () =>
        patched(
          media('wav', ...uneven(5), '-rf64', 'always'),
          'ds64',
          12,
          Buffer.from([0, 0, 1, 0, 0, 0, 0, 0]),
        ),
      5,
      'convert',
    ],
    ['right, with large chunks behind', () => behind(chunk('LIST', Buffer.alloc(90_000, 1))), 7, 'as_is'],
    ['right, with a tag behind that is no chunk', () => behind(Buffer.alloc(90_000, 'ID3')), 7, 'as_is'],
  ])('%s', async (_, make, seconds, kind) => {
    const path = fileOf(make())
    const before = await probe(path, signal)
    expect([before.durationSeconds, playbackOf(before).kind]).toEqual([expect.closeTo(seconds, 1), kind])
    const { facts, heard } = await made(readFileSync(path))
    expect([facts.claimedSeconds, facts.audio?.codec]).toEqual([expect.closeTo(seconds, 1), 'pcm_s16le'])
    expect(playbackOf(facts)).toEqual({ kind: 'as_is' })
    expect(heard?.at(-1)?.[1]).toBeCloseTo(seconds, 0)
  })
})

describe('sound behind tags and padding is as it is without them', () => {
  const tag = (bytes: number) =>
    Buffer.concat([
      Buffer.from([0x49, 0x44, 0x33, 3, 0, 0, 0, bytes >> 14, (bytes >> 7) & 127, bytes & 127]),
      Buffer.alloc(bytes),
    ])
  const ape = (bytes: number) => {
    const header = Buffer.alloc(32)
    header.write('APETAGEX', 'latin1')
    header.writeUInt32LE(2_000, 8)
    header.writeUInt32LE(bytes, 12)
    return Buffer.concat([header, Buffer.alloc(bytes)])
  }
  const before: Readonly<Record<string, readonly Uint8Array[]>> = {
    'a tag': [tag(50_000)],
    'two tags': [tag(70_000), tag(2_000)],
    'three tags': [tag(3_000), tag(70_000), tag(300_000)],
    zeros: [Buffer.alloc(3_000)],
    'a tag and zeros': [tag(70_000), Buffer.alloc(3_000)],
    'an APE tag': [ape(5_000)],
    'a large APE tag': [ape(300_000)],
    'a tag and an APE tag': [tag(500), ape(70_000)],
  }
  test.each(
    ['flac', 'mp3', 'aac'].flatMap((kind) => Object.keys(before).map((name) => [kind, name] as const)),
  )('%s behind %s', async (kind, name) => {
    const sound = media(kind === 'aac' ? 'adts' : kind, ...NOISE)
    const { facts, heard } = await made(Buffer.concat([...(before[name] ?? []), sound]))
    expect(facts.durationSeconds).toBeCloseTo(2, 0)
    expect(heard).toEqual([[expect.closeTo(0, 0), expect.closeTo(2, 0)]])
    expect(playbackOf(facts)).toEqual({ kind: 'as_is' })
  })
})

describe('sound is where it belongs, in the waveform and for the transcription', () => {
  test.each<[string, () => Uint8Array, readonly (readonly [number, number])[], 'as_is' | 'convert']>([
    ['mp4 with late sound', () => film('mp4', H264, LATER), [[2, 4]], 'as_is'],
    ['mov with late sound', () => film('mov', H264, LATER), [[2, 4]], 'convert'],
    ['webm with late sound', () => film('webm', VP8, LATER), [[2, 4]], 'as_is'],
    [
      'mp4 with a gap',
      () => film('mp4', H264, GAP),
      [
        [0, 1],
        [4, 5],
      ],
      'convert',
    ],
    [
      'webm with a gap',
      () => film('webm', VP8, GAP),
      [
        [0, 1],
        [4, 5],
      ],
      'convert',
    ],
    [
      'sound with a gap',
      () => media('webm', ...NOISE, '-af', GAP, '-c:a', 'libopus'),
      [
        [0, 1],
        [4, 5],
      ],
      'convert',
    ],
    [
      'ogg with a gap',
      () => media('ogg', ...NOISE, '-af', GAP, '-c:a', 'libopus'),
      [
        [0, 1],
        [4, 5],
      ],
      'convert',
    ],
    [
      'a clock at two hours',
      () => film('webm', [...VP8, '-output_ts_offset', '7200'], LATER),
      [[2, 4]],
      'convert',
    ],
  ])('%s', async (_, make, expected, kind) => {
    const bytes = make()
    expect(playbackOf(await probe(fileOf(bytes), signal)).kind).toBe(kind)
    const { heard, drawn, drawnSeconds, durationSeconds, facts } = await made(bytes)
    expect(heard).toEqual(near(expected) as never)
    expect(drawn).toEqual(near(expected) as never)
    expect(drawnSeconds).toBeCloseTo(durationSeconds ?? 0, 0)
    expect(facts).toMatchObject({ gapSeconds: expect.closeTo(0, 0), startSeconds: expect.closeTo(0, 0) })
  })

  test('of several tracks is mixed', async () => {
    const silence = ['-f', 'lavfi', '-i', 'anullsrc=d=4'] as const
    const maps = ['-map', '0', '-map', '1', '-map', '2'] as const
    const tracks = media(
      'mp4',
      ...picture('64x64', 4),
      ...silence,
      ...NOISE,
      ...maps,
      ...H264,
      '-filter:a:1',
      LATER,
    )
    const { heard, facts, playback } = await made(tracks)
    expect(heard).toEqual(near([[2, 4]]) as never)
    expect(facts.audioTracks).toHaveLength(1)
    expect(playback?.contentType).toBe('video/mp4')
  })
})

describe('a wrong header is written anew, without encoding', () => {
  test.each<[string, () => Uint8Array, string]>([
    ['live webm', () => both('webm', 1, ...VP8, '-live', '1'), 'video/webm'],
    [
      'mp3 of a variable rate',
      () => media('mp3', ...uneven(20), '-q:a', '2', '-write_xing', '0'),
      'audio/mpeg',
    ],
    ['aac of a variable rate', () => media('aac', ...uneven(20), '-q:a', '2'), 'audio/mp4'],
  ])('%s', async (_, make, contentType) => {
    const bytes = make()
    const before = await probe(fileOf(bytes), signal)
    const { facts, playback, durationSeconds } = await made(bytes)
    expect(playback?.contentType).toBe(contentType)
    expect([facts.video?.codec, facts.audio?.codec]).toEqual([before.video?.codec, before.audio?.codec])
    expect(facts.claimedSeconds).toBeCloseTo(durationSeconds ?? 0, 0)
    expect(playbackOf(facts)).toEqual({ kind: 'as_is' })
  })
})
