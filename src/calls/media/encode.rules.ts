/**
 * Arguments for FFmpeg, and how its progress is parsed. Pure.
 *
 * An argument is a constant or a validated number. No text from the file becomes part of a command.
 */
import { DECODERS, MAX_PIXELS, type MediaFacts } from './facts.rules.ts'
import type { Playback } from './playback.rules.ts'
import { demuxerArguments } from './rules.ts'

/** Each worker thread runs two long turns, one thread per processor. More FFmpeg threads would only compete. */
const THREADS = 2
/** Size of encoded video, long and short side: 1080p. */
const [LONG_SIDE, SHORT_SIDE] = [1_920, 1_080]
const POSTER_WIDTH = 1_280
/**
 * Frames a second. The encoder gets a rate within these limits, so that the result has a level that decoders accept.
 */
const [MIN_RATE, MAX_RATE, USUAL_RATE] = [10, 60, 30]
/**
 * Frames closer than this are dropped, because a video shows at most 60 a second. Leaves room for times rounded to
 * milliseconds.
 */
const CLOSEST_FRAMES = '1/70'
/**
 * Times are kept in units of 1/12,000 s. That is a multiple of all usual rates, and small enough for a pause of a day
 * in MP4: its durations have 31 bits, and frames that depend on later ones double them.
 */
const TIME_UNITS = 12_000

const UPRIGHT = 'gte(ih\\,iw)'
const FITTED = [
  `scale=w=if(${UPRIGHT}\\,min(${SHORT_SIDE}\\,iw)\\,min(${LONG_SIDE}\\,iw))`,
  `h=if(${UPRIGHT}\\,min(${LONG_SIDE}\\,ih)\\,min(${SHORT_SIDE}\\,ih))`,
  'force_original_aspect_ratio=decrease',
].join(':')
/** 4:2:0 chroma has one sample for every two pixels. (Not every FFmpeg version knows `force_divisible_by`.) */
const EVEN = 'scale=w=max(2\\,trunc(iw/2)*2):h=max(2\\,trunc(ih/2)*2)'
const NOT_TOO_CLOSE = `select=isnan(t)+isnan(prev_selected_t)+gte(t-prev_selected_t\\,${CLOSEST_FRAMES})`
/** Screens show whole frames, so interlaced video is deinterlaced first. */
const FILTERS = `${NOT_TOO_CLOSE},yadif=deint=interlaced,${FITTED},${EVEN}`

/** Opens the file with one demuxer, without following other files, and with allowed decoders only. */
export function inputArguments({ container }: MediaFacts, path: string): readonly string[] {
  return [
    ...demuxerArguments(container),
    ...['-codec_whitelist', DECODERS, '-max_pixels', `${MAX_PIXELS}`, '-threads', `${THREADS}`],
    ...['-i', `file:${path}`],
  ]
}

/** Removes tags from every output, because they may contain a location. */
const ANONYMOUS = ['-map_metadata', '-1', '-map_chapters', '-1'] as const

/** MP4 with its index at the start, or M4A for audio only; what is only repaired keeps its container. */
export function encodeArguments(facts: MediaFacts, conversion: Conversion): readonly string[] {
  const { video, audio } = conversion
  return [
    ...(facts.video === null || video === null ? [] : ['-map', `0:${facts.video.index}`]),
    ...(audio === 'encode' ? soundArguments(facts) : []),
    ...(audio === 'copy' && facts.audio !== null ? ['-map', `0:${facts.audio.index}`] : []),
    ...ANONYMOUS,
    ...(video === 'encode' ? videoArguments(facts.video?.frameRate ?? null) : []),
    ...(video === 'copy' ? ['-c:v', 'copy'] : []),
    ...(audio === 'encode' ? audioArguments(facts.audio?.channels ?? 1) : []),
    ...(audio === 'copy' ? ['-c:a', 'copy'] : []),
    ...MUXERS[conversion.into](facts.isAudio),
  ]
}

const MUXERS = {
  mp4: (isAudio: boolean) => ['-movflags', '+faststart', '-f', isAudio ? 'ipod' : 'mp4'],
  webm: () => ['-f', 'webm'],
  mp3: () => ['-write_xing', '1', '-id3v2_version', '0', '-f', 'mp3'],
  flac: () => ['-f', 'flac'],
  wav: () => ['-f', 'wav'],
} as const

/**
 * Maps the mix of all audio streams, on the clock of the media: silence stands for a late start and for gaps, because an encoder
 * writes, and a recogniser hears, one sound behind the other.
 * @param rate samples a second; null: as they are
 */
export function soundArguments(
  { audioTracks, mayFillGaps }: Pick<MediaFacts, 'audioTracks' | 'mayFillGaps'>,
  rate: number | null = null,
): readonly string[] {
  const options = [
    ...(rate === null ? [] : [`osr=${rate}`]),
    ...(mayFillGaps ? ['async=1', 'first_pts=0'] : []),
  ]
  const resample = options.length === 0 ? 'anull' : `aresample=${options.join(':')}`
  if (audioTracks.length <= 1)
    return audioTracks.flatMap(({ index }) => ['-map', `0:${index}`, '-af', resample])
  const named = audioTracks.map(({ index }, track) => `[0:${index}]${resample}[t${track}]`)
  const inputs = audioTracks.map((_, track) => `[t${track}]`).join('')
  const mix = `${inputs}amix=inputs=${audioTracks.length}:duration=longest[mix]`
  return ['-filter_complex', [...named, mix].join(';'), '-map', '[mix]']
}

type Conversion = Extract<Playback, { readonly kind: 'convert' }>

/**
 * Frames keep their times, and no frames are inserted: two frames a day apart stay two frames.
 * `-vsync` is deprecated but works in FFmpeg 4 to 7; `-fps_mode` exists since 5.1 only. `-r` would fill gaps.
 */
function videoArguments(frameRate: number | null): readonly string[] {
  const rate = Math.min(MAX_RATE, Math.max(MIN_RATE, frameRate ?? USUAL_RATE))
  return [
    ...['-c:v', 'libx264', '-preset', 'veryfast', '-crf', '23', '-pix_fmt', 'yuv420p'],
    ...['-x264-params', `fps=${Math.round(rate * 1_000)}/1000`, '-vf', FILTERS, '-vsync', 'vfr'],
    ...['-enc_time_base', `1:${TIME_UNITS}`, '-video_track_timescale', `${TIME_UNITS}`],
    ...['-threads', `${THREADS}`],
  ]
}

function audioArguments(channels: number): readonly string[] {
  return ['-c:a', 'aac', '-b:a', channels > 1 ? '160k' : '96k', '-ac', channels > 1 ? '2' : '1']
}

/** Seeks to the poster frame, in seconds. Goes before the input arguments. */
export const posterSeekArguments = (seconds: number): readonly string[] => ['-ss', seconds.toFixed(3)]

/** Encodes the frame at that place as JPEG. */
export function posterArguments(index: number): readonly string[] {
  const scale = `scale=w=min(${POSTER_WIDTH}\\,iw):h=-1,format=yuvj420p`
  return ['-map', `0:${index}`, ...ANONYMOUS, '-frames:v', '1', '-vf', scale, '-q:v', '4', '-f', 'mjpeg']
}

/** A tenth into the media, where titles are usually over, but no later than ten seconds. */
export function posterSeconds(durationSeconds: number | null): number {
  return Math.min((durationSeconds ?? 0) / 10, 10)
}

const MICROSECONDS = 1_000_000

/**
 * Parses a part of the output of `-progress`. @returns percent done, 0 to 100; null if the part states none
 * `out_time_ms` is in microseconds, too, because of an old mistake in FFmpeg.
 */
export function progressOf(lines: string, durationSeconds: number | null): number | null {
  const last = [...lines.matchAll(/^out_time_(?:us|ms)=(\d+)$/gm)].at(-1)?.[1]
  if (last === undefined || durationSeconds === null) return null
  return Math.min(100, Math.floor((Number(last) / MICROSECONDS / durationSeconds) * 100))
}
