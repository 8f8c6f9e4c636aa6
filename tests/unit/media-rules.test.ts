/** The pure rules of media: what a probe may claim, media that browsers play, arguments of FFmpeg, and the peaks of audio. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { createClock, withClock } from '../../src/calls/media/clock.rules.ts'
import { findContainer } from '../../src/calls/media/container.ts'
import { deadlineMs } from '../../src/calls/media/deadline.rules.ts'
import {
  encodeArguments,
  inputArguments,
  posterSeconds,
  progressOf,
  soundArguments,
} from '../../src/calls/media/encode.rules.ts'
import {
  factsOf,
  MAX_DURATION_SECONDS,
  type MediaFacts,
  type ProbeReport,
} from '../../src/calls/media/facts.rules.ts'
import { type Playback, playbackOf } from '../../src/calls/media/playback.rules.ts'
import { type Container, MAX_MEDIA_BYTES, MediaError, sniff } from '../../src/calls/media/rules.ts'
import { createPeaks, SAMPLE_RATE } from '../../src/calls/media/waveform.rules.ts'

const HEADS: Readonly<Record<Container['name'], string>> = {
  mp4: '\0\0\0\x18ftypisom',
  quicktime: '\0\0\0\x14ftypqt  ',
  webm: '\x1aE\xdf\xa3\x9fB\x82\x84webm',
  matroska: '\x1aE\xdf\xa3\x9fB\x82\x88matroska',
  ogg: 'OggS',
  flac: 'fLaC',
  wav: 'RIFF....WAVE',
  aac: '\xff\xf1',
  mp3: '\xff\xfb',
  mpeg: '\0\0\x01\xba',
}
const containerOf = (name: Container['name']) => {
  const container = sniff(Buffer.from(HEADS[name], 'latin1'))
  if (container === null || 'kind' in container) throw new Error(name)
  return container
}

const VIDEO = {
  index: 0,
  codec_type: 'video',
  codec_name: 'h264',
  width: 640,
  height: 360,
  pix_fmt: 'yuv420p',
  avg_frame_rate: '30/1',
}
const AUDIO = { index: 1, codec_type: 'audio', codec_name: 'aac', channels: 2 }
const facts = (name: Container['name'], streams: ProbeReport['streams'], duration: unknown = '10.0') =>
  factsOf(containerOf(name), { streams: streams ?? [], format: { duration }, packets: [{}] })

describe('the checks of probe results', () => {
  const refused = (work: () => unknown) => {
    try {
      work()
    } catch (error) {
      if (error instanceof MediaError) return [error.code, error.retryable]
      throw error
    }
    return null
  }

  test('a duration beyond a day, measured; what a header claims is only kept if it is possible', () => {
    const media = facts('mp4', [VIDEO, AUDIO], 1e9)
    expect([media.durationSeconds, media.claimedSeconds]).toEqual([null, null])
    expect(facts('mp4', [VIDEO], MAX_DURATION_SECONDS).claimedSeconds).toBe(MAX_DURATION_SECONDS)
    const clock = { startSeconds: 0, endSeconds: MAX_DURATION_SECONDS, gapSeconds: 0, lateSeconds: 0 }
    expect(withClock(media, clock, 1).durationSeconds).toBe(MAX_DURATION_SECONDS)
    const longer = { ...clock, endSeconds: MAX_DURATION_SECONDS + 1 }
    expect(refused(() => withClock(media, longer, 1))).toEqual(['processing_failed', false])
    const far = { ...clock, startSeconds: 1e9, endSeconds: 1e9 + 10 }
    expect(withClock(media, far, 1)).toMatchObject({ durationSeconds: 10, startSeconds: 1e9 })
  })

  test.each([
    [30_000, 30_000],
    [0, 100],
    [-100, -100],
    [undefined, 100],
    ['a', 'b'],
  ])('pictures of %p x %p', (width, height) => {
    expect(refused(() => facts('mp4', [{ ...VIDEO, width, height }]))).toEqual(['processing_failed', false])
  })

  test('the codec of any other stream', () => {
    const second = { ...VIDEO, index: 2, codec_name: 'qtrle' }
    expect(refused(() => facts('mp4', [VIDEO, AUDIO, second]))).toEqual(['unsupported_media_type', false])
    const thumbnails = { ...VIDEO, index: 2, codec_name: 'png' }
    expect(facts('mp4', [VIDEO, AUDIO, thumbnails]).video?.codec).toBe('h264')
  })

  test.each(['png', 'gif', 'hls', 'none', 7])('the codec %p', (codec_name) => {
    expect(refused(() => facts('mp4', [{ ...VIDEO, codec_name }]))).toEqual(['unsupported_media_type', false])
  })

  test('an empty index', () => {
    const report = { streams: [VIDEO], format: { duration: '3' } }
    expect(refused(() => factsOf(containerOf('mp4'), report))).toEqual(['processing_failed', false])
  })

  test('album art is not a video', () => {
    const cover = { ...VIDEO, codec_name: 'png', disposition: { attached_pic: 1 } }
    expect(facts('mp3', [cover, { ...AUDIO, codec_name: 'mp3' }])).toMatchObject({
      isAudio: true,
      video: null,
    })
  })

  test('invalid durations are null', () => {
    for (const duration of ['N/A', null, '-1', '0', 'NaN', 'Infinity'])
      expect(facts('webm', [{ ...VIDEO, codec_name: 'vp8' }], duration).durationSeconds).toBeNull()
  })
})

describe('media that browsers play', () => {
  const asItIs: Playback = { kind: 'as_is' }
  const convert = (video: 'copy' | 'encode' | null, audio: 'copy' | 'encode' | null): Playback => ({
    kind: 'convert',
    video,
    audio,
    into: 'mp4',
  })
  const cases: readonly (readonly [Container['name'], string | null, string | null, Playback])[] = [
    ['mp4', 'h264', 'aac', asItIs],
    ['mp4', 'h264', 'mp3', asItIs],
    ['mp4', 'h264', null, asItIs],
    ['mp4', null, 'aac', asItIs],
    ['mp4', 'hevc', 'aac', convert('encode', 'copy')],
    ['mp4', 'av1', 'opus', convert('encode', 'encode')],
    ['mp4', 'h264', 'ac3', convert('copy', 'encode')],
    ['mp4', null, 'alac', convert(null, 'encode')],
    ['quicktime', 'h264', 'aac', convert('copy', 'copy')],
    ['quicktime', 'prores', 'pcm_s24le', convert('encode', 'encode')],
    ['webm', 'vp8', 'vorbis', asItIs],
    ['webm', 'vp9', 'opus', asItIs],
    ['webm', null, 'opus', asItIs],
    ['webm', 'av1', 'opus', convert('encode', 'encode')],
    ['webm', 'h264', 'aac', convert('encode', 'encode')],
    ['matroska', 'h264', 'opus', convert('copy', 'encode')],
    ['matroska', 'h264', 'aac', convert('copy', 'copy')],
    ['matroska', 'vp9', 'opus', convert('encode', 'encode')],
    ['ogg', null, 'opus', convert(null, 'encode')],
    ['ogg', 'theora', 'vorbis', convert('encode', 'encode')],
    ['flac', null, 'flac', asItIs],
    ['mp3', null, 'mp3', asItIs],
    ['mp3', null, 'mp2', convert(null, 'encode')],
    ['aac', null, 'aac', asItIs],
    ['wav', null, 'pcm_s16le', asItIs],
    ['wav', null, 'pcm_mulaw', convert(null, 'encode')],
    ['mpeg', 'mpeg2video', 'mp2', convert('encode', 'encode')],
  ]
  test.each(cases)('%s with %p and %p', (name, video, audio, expected) => {
    const streams = [
      ...(video === null ? [] : [{ ...VIDEO, codec_name: video }]),
      ...(audio === null ? [] : [{ ...AUDIO, codec_name: audio }]),
    ]
    expect(playbackOf(facts(name, streams))).toEqual(expected)
  })

  const timed = (media: MediaFacts, more: Partial<MediaFacts>): Playback => playbackOf({ ...media, ...more })

  test('only copied if the header does not say how long it lasts, or where it starts', () => {
    const webm = facts(
      'webm',
      [
        { ...VIDEO, codec_name: 'vp8' },
        { ...AUDIO, codec_name: 'opus' },
      ],
      'N/A',
    )
    const repaired = { kind: 'convert', video: 'copy', audio: 'copy', into: 'webm' } as const
    expect(timed(webm, { durationSeconds: 30 })).toEqual(repaired)
    expect(timed(webm, { durationSeconds: 30, claimedSeconds: 30.2 })).toEqual(asItIs)
    expect(timed(webm, { durationSeconds: 30, claimedSeconds: 31 })).toEqual(repaired)
    expect(timed(webm, { durationSeconds: 3_000, claimedSeconds: 3_020 })).toEqual(asItIs)
    const late = { durationSeconds: 20, claimedSeconds: 20, startSeconds: 7_200 }
    expect(timed(webm, late)).toEqual(repaired)
    const mp3 = facts('mp3', [{ ...AUDIO, codec_name: 'mp3' }], 60)
    expect(timed(mp3, { durationSeconds: 120 })).toEqual({ ...repaired, video: null, into: 'mp3' })
    const adts = facts('aac', [AUDIO], 60)
    expect(timed(adts, { durationSeconds: 120 })).toEqual({ ...repaired, video: null, into: 'mp4' })
  })

  test('encoded if the sound has gaps, within the bound, or several tracks', () => {
    const film = facts('mp4', [VIDEO, AUDIO])
    expect(timed(film, { gapSeconds: 0.2 })).toEqual(asItIs)
    expect(timed(film, { gapSeconds: 5 })).toEqual(convert('copy', 'encode'))
    expect(timed(film, { gapSeconds: 1e8, mayFillGaps: false })).toEqual(asItIs)
    expect(playbackOf(facts('mp4', [VIDEO, AUDIO, { ...AUDIO, index: 2 }]))).toEqual(
      convert('copy', 'encode'),
    )
  })

  test.each([
    [{ pix_fmt: 'yuv420p10le' }],
    [{ pix_fmt: 'yuv444p' }],
    [{ pix_fmt: undefined }],
    [{ width: 7_680, height: 4_320 }],
  ])('H.264 with %p is encoded', (more) => {
    expect(playbackOf(facts('mp4', [{ ...VIDEO, ...more }, AUDIO]))).toEqual(convert('encode', 'copy'))
  })
})

describe('arguments of FFmpeg', () => {
  const both = { kind: 'convert', video: 'encode', audio: 'encode', into: 'mp4' } as const
  const settingOf = (args: readonly string[], option: string) => args[args.indexOf(option) + 1]
  const withRate = (avg_frame_rate: string): MediaFacts => facts('mp4', [{ ...VIDEO, avg_frame_rate }, AUDIO])

  test.each([
    ['25/1', 'fps=25000/1000'],
    ['30000/1001', 'fps=29970/1000'],
    ['1000000/1', 'fps=60000/1000'],
    ['1/1000', 'fps=10000/1000'],
    ['0/0', 'fps=30000/1000'],
    ['1e999', 'fps=30000/1000'],
    ['; rm -rf /', 'fps=30000/1000'],
  ])('a rate of %s becomes %s', (claimed, rate) => {
    const args = encodeArguments(withRate(claimed), both)
    expect(settingOf(args, '-x264-params')).toBe(rate)
    expect(args).not.toContain('-r')
  })

  test('one reader, files only, and neither tags nor chapters', () => {
    const media = withRate('25/1')
    const input = inputArguments(media, '/a b;$(c)')
    expect(settingOf(input, '-protocol_whitelist')).toBe('file')
    expect(settingOf(input, '-format_whitelist')).toBe('mov,mp4')
    expect(input.at(-1)).toBe('file:/a b;$(c)')
    expect(settingOf(encodeArguments(media, both), '-map_metadata')).toBe('-1')
  })

  test.each<[string, number | null, number, number]>([
    ['75 KB that claim a day', 86_001, 75_000, 217],
    ['75 KB that claim nothing', null, 75_000, 217],
    ['10 s of 1 MB', 10, 1_000_000, 220],
    ['an hour of 300 MB', 3_600, 300_000_000, 14_580],
    ['a day of 5 GiB', 86_400, MAX_MEDIA_BYTES, 18_000],
  ])('the time for %s is the less that length and size give', (_, durationSeconds, bytes, seconds) => {
    const pace = { startMs: 180_000, msASecond: 4_000, maxMs: 18_000_000 }
    expect(Math.round(deadlineMs({ durationSeconds, bytes }, pace) / 1_000)).toBe(seconds)
  })

  test('the poster is taken at a tenth of the film, at most ten seconds in', () => {
    expect([null, 5, 60, 100, 7_200].map(posterSeconds)).toEqual([0, 0.5, 6, 10, 10])
  })

  test('progress is a share of the duration, at most 100, and null if unknown', () => {
    const lines = 'frame=1\nout_time_us=1000000\nprogress=continue\nframe=9\nout_time_us=2500000\n'
    expect(progressOf(lines, 10)).toBe(25)
    expect(progressOf('out_time_ms=2500000\n', 10)).toBe(25)
    expect(progressOf(lines, 1)).toBe(100)
    expect(progressOf(lines, null)).toBeNull()
    expect(progressOf('out_time_us=N/A\nout_time_us=-5\n', 10)).toBeNull()
  })
})

describe('the clock of packets', () => {
  const streams = facts('webm', [
    { ...VIDEO, codec_name: 'vp8' },
    { ...AUDIO, codec_name: 'opus' },
  ])
  const read = (lines: readonly string[]) => {
    const clock = createClock(streams)
    const bytes = Buffer.from(lines.join('\n'))
    for (let at = 0; at < bytes.length; at += 7) clock.add(bytes.subarray(at, at + 7))
    return clock.read()
  }

  test.each<[string, readonly string[], ReturnType<typeof read>]>([
    ['nothing', [], { startSeconds: null, endSeconds: null, gapSeconds: 0, lateSeconds: 0 }],
    [
      'one track that ends early',
      ['0,0.000,0.000,0.1', '1,-0.007,-0.007,0.02', '0,29.9,29.9,0.1'],
      { startSeconds: 0, endSeconds: 30, gapSeconds: 0, lateSeconds: 0 },
    ],
    [
      'a clock that starts at hours',
      ['0,7200,7200,0.1', '1,7199.9,7199.9,0.1', '0,7219.9,7219.9,0.1'],
      { startSeconds: 7_199.9, endSeconds: 7_220, gapSeconds: 0, lateSeconds: expect.closeTo(0) },
    ],
    [
      'sound that starts late and has a gap',
      ['0,0,0,20', '1,5,5,0.5', '1,5.5,5.5,0.5', '1,9,9,0.5'],
      { startSeconds: 0, endSeconds: 20, gapSeconds: 3, lateSeconds: 5 },
    ],
    [
      'a packet that was stretched over a gap',
      ['1,0,0,0.02', '1,0.02,0.02,10', '1,10.02,10.02,0.02'],
      { startSeconds: 0, endSeconds: expect.closeTo(10.04), gapSeconds: expect.closeTo(9.4), lateSeconds: 0 },
    ],
    [
      'no presentation times, other streams, and other lines',
      ['0,N/A,1.5,N/A', '7,900,900,9', '', 'side data', '0,N/A,3.5,N/A', '1,N/A,N/A,N/A'],
      { startSeconds: 1.5, endSeconds: 3.5, gapSeconds: 0, lateSeconds: 0 },
    ],
  ])('of %s', (_, lines, expected) => {
    expect(read(lines)).toEqual(expected)
  })

  test('fills gaps up to an hour and a second for each 100 bytes', () => {
    const clock = { startSeconds: 0, endSeconds: 80_000, gapSeconds: 5_000, lateSeconds: 0 }
    expect(withClock(streams, clock, 1_000).mayFillGaps).toBe(false)
    expect(withClock(streams, clock, 140_000).mayFillGaps).toBe(true)
    expect(soundArguments({ ...streams, mayFillGaps: false }, 16_000).join(' ')).not.toContain('async')
    expect(soundArguments(streams, 16_000).join(' ')).toContain('async=1:first_pts=0')
  })
})

describe('what stands before the stream', () => {
  const id3 = (bytes: number, footer = false) =>
    Buffer.concat([
      Buffer.from([
        0x49,
        0x44,
        0x33,
        4,
        0,
        footer ? 0x10 : 0,
        0,
        (bytes >> 14) & 127,
        (bytes >> 7) & 127,
        bytes & 127,
      ]),
      Buffer.alloc(bytes + (footer ? 10 : 0), 0x55),
    ])
  const ape = (bytes: number) => {
    const header = Buffer.alloc(32)
    header.write('APETAGEX', 'latin1')
    header.writeUInt32LE(bytes, 12)
    return Buffer.concat([header, Buffer.alloc(bytes, 0x55)])
  }
  const head = (name: Container['name']) => Buffer.from(HEADS[name].padEnd(100, '\x55'), 'latin1')
  const find = async (...parts: readonly Uint8Array[]) => {
    const file = Buffer.concat(parts)
    return (await findContainer(async (offset) => file.subarray(offset, offset + 4_096)))?.name ?? null
  }

  test.each<[string, readonly Uint8Array[], Container['name'] | null]>([
    ['a small tag', [id3(100), head('flac')], 'flac'],
    ['a cover of 50 kB', [id3(50_000), head('aac')], 'aac'],
    ['a tag with a footer', [id3(5_000, true), head('flac')], 'flac'],
    ['two tags and an APE tag', [id3(10), id3(9_000), ape(7_000), head('mp3')], 'mp3'],
    ['zeros', [Buffer.alloc(20_000), head('mp3')], 'mp3'],
    ['line breaks of a script', [Buffer.from('\r\n\n '), head('mp3')], 'mp3'],
    ['a tag and zeros', [id3(100), Buffer.alloc(500), head('aac')], 'aac'],
    ['zeros without an end', [Buffer.alloc(200_000)], null],
    ['a tag that reaches beyond the file', [id3(100).subarray(0, 50)], null],
    ['a page behind a tag', [id3(0), Buffer.from('<html>')], null],
    ['a film behind zeros', [Buffer.alloc(64), head('mp4')], null],
    ['nothing', [], null],
  ])('%s', async (_, parts, expected) => {
    expect(await find(...parts)).toBe(expected)
  })

  test('is followed a bounded number of times', async () => {
    let reads = 0
    const endless = async () => {
      reads++
      return id3(0)
    }
    expect(await findContainer(endless)).toBeNull()
    expect(reads).toBeLessThanOrEqual(64)
  })
})

describe('the peaks of audio', () => {
  const bytesOf = (samples: readonly number[]) => new Uint8Array(new Int16Array(samples).buffer)

  test('are the lowest and highest values of each piece', () => {
    const peaks = createPeaks()
    peaks.add(
      bytesOf([...Array(128).keys()].map((index) => (index === 5 ? -32_768 : index === 9 ? 32_767 : 0))),
    )
    peaks.add(bytesOf([256]))
    expect(peaks.waveform()).toEqual({
      version: 2,
      channels: 1,
      sample_rate: SAMPLE_RATE,
      samples_per_pixel: 128,
      bits: 8,
      length: 2,
      data: [-128, 127, 1, 1],
    })
    expect(createPeaks().waveform()).toBeNull()
  })

  test('are silent to the end of the media, at no cost', () => {
    const peaks = createPeaks()
    peaks.add(bytesOf([...Array(300).keys()].map(() => 8_192)))
    peaks.fillTo(MAX_DURATION_SECONDS * SAMPLE_RATE)
    const waveform = peaks.waveform()
    expect(peaks.samples).toBe(MAX_DURATION_SECONDS * SAMPLE_RATE)
    expect(waveform?.length).toBe(Math.ceil(peaks.samples / (waveform?.samples_per_pixel ?? 0)))
    expect(waveform?.data.slice(0, 4)).toEqual([0, 32, 0, 0])
    const short = createPeaks()
    short.add(bytesOf([256]))
    short.fillTo(300)
    const zeros = createPeaks()
    zeros.add(bytesOf([256, ...Array(299).fill(0)]))
    expect(short.waveform()).toEqual(zeros.waveform())
  })

  test('do not depend on how the bytes are split, and are at most 4,096', () => {
    const samples = fc.array(fc.integer({ min: -32_768, max: 32_767 }), { minLength: 1, maxLength: 600 })
    fc.assert(
      fc.property(samples, fc.integer({ min: 1, max: 5_000 }), fc.array(fc.nat(200)), (part, times, cuts) => {
        const bytes = bytesOf(Array.from({ length: times }, () => part).flat())
        const [whole, cut] = [createPeaks(), createPeaks()]
        whole.add(bytes)
        let at = 0
        for (const length of cuts) {
          cut.add(bytes.subarray(at, at + length))
          at += length
        }
        cut.add(bytes.subarray(at))
        const waveform = whole.waveform()
        expect(cut.waveform()).toEqual(waveform)
        expect(waveform?.data).toHaveLength((waveform?.length ?? 0) * 2)
        expect(waveform?.length).toBe(Math.ceil(whole.samples / (waveform?.samples_per_pixel ?? 0)))
        expect(waveform?.length).toBeLessThanOrEqual(4_096)
        expect(Math.max(...(waveform?.data ?? []))).toBe(Math.max(...part) >> 8)
        expect(Math.min(...(waveform?.data ?? []))).toBe(Math.min(...part) >> 8)
      }),
      { numRuns: 30 },
    )
  })
})
