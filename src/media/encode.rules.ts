/**
 * What ffmpeg is told to make of media, and what it says while it does. Pure.
 *
 * The rule: an argument is a constant or a number that was judged; nothing that stands in the file becomes part of the command.
 */
import { DECODERS, MAX_PIXELS, type MediaFacts } from './facts.rules.ts'
import type { Playback } from './playback.rules.ts'

/** Two long turns a thread, a thread a processor: more would only take turns. */
const THREADS = 2
/** Of the pictures that players get, as the long and the short side: 1080p. */
const [LONG_SIDE, SHORT_SIDE] = [1_920, 1_080]
const POSTER_WIDTH = 1_280
/** Frames a second. The encoder is told a rate within these, for the level that decoders read in the result. */
const [MIN_RATE, MAX_RATE, USUAL_RATE] = [10, 60, 30]
/** Closer frames are left out: more than 60 a second are seen by nobody. With room for times that are rounded to milliseconds. */
const CLOSEST_FRAMES = '1/70'
/**
 * Times are kept in units of 1/12,000 s: a multiple of all usual rates, and small enough that MP4 can hold a pause of a day. Its
 * durations have 31 bits, and frames that depend on later ones double them.
 */
const TIME_UNITS = 12_000

const UPRIGHT = 'gte(ih\\,iw)'
const FITTED = [
  `scale=w=if(${UPRIGHT}\\,min(${SHORT_SIDE}\\,iw)\\,min(${LONG_SIDE}\\,iw))`,
  `h=if(${UPRIGHT}\\,min(${LONG_SIDE}\\,ih)\\,min(${SHORT_SIDE}\\,ih))`,
  'force_original_aspect_ratio=decrease',
].join(':')
/** The chroma of 4:2:0 has a sample for every two pixels. (`force_divisible_by` is not known to every version.) */
const EVEN = 'scale=w=max(2\\,trunc(iw/2)*2):h=max(2\\,trunc(ih/2)*2)'
const NOT_TOO_CLOSE = `select=isnan(t)+isnan(prev_selected_t)+gte(t-prev_selected_t\\,${CLOSEST_FRAMES})`
/** Screens show whole pictures; what is interlaced is put together first. */
const FILTERS = `${NOT_TOO_CLOSE},yadif=deint=interlaced,${FITTED},${EVEN}`

/** How the file is opened: by one reader, nothing but itself, with decoders of the list only. */
export function inputArguments({ container }: MediaFacts, path: string): readonly string[] {
  return [
    ...['-protocol_whitelist', 'file', '-format_whitelist', container.demuxers],
    ...['-codec_whitelist', DECODERS, '-max_pixels', `${MAX_PIXELS}`, '-threads', `${THREADS}`],
    ...['-i', `file:${path}`],
  ]
}

/** For everything that is made: no tags, which may say where somebody lives. */
export const ANONYMOUS = ['-map_metadata', '-1', '-map_chapters', '-1'] as const

/** MP4 with its index at the beginning, or M4A where there is only sound. */
export function encodeArguments(facts: MediaFacts, { video, audio }: Conversion): readonly string[] {
  return [
    ...(facts.video === null || video === null ? [] : ['-map', `0:${facts.video.index}`]),
    ...(facts.audio === null || audio === null ? [] : ['-map', `0:${facts.audio.index}`]),
    ...ANONYMOUS,
    ...(video === 'encode' ? videoArguments(facts.video?.frameRate ?? null) : []),
    ...(video === 'copy' ? ['-c:v', 'copy'] : []),
    ...(audio === 'encode' ? audioArguments(facts.audio?.channels ?? 1) : []),
    ...(audio === 'copy' ? ['-c:a', 'copy'] : []),
    ...['-movflags', '+faststart', '-f', facts.isAudio ? 'ipod' : 'mp4'],
  ]
}

type Conversion = Extract<Playback, { readonly kind: 'convert' }>

/**
 * Frames keep their times, and nothing is put where there is none: two frames a day apart stay two frames.
 * `-vsync` is old, but known to FFmpeg 4 to 7; `-fps_mode` only since 5.1. `-r` would fill the holes.
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

/** One picture as JPEG. Goes before the arguments of the input: where in it, in seconds. */
export const posterPlace = (seconds: number): readonly string[] => ['-ss', seconds.toFixed(3)]

/** Of the picture at that place. */
export function posterArguments(index: number): readonly string[] {
  const scale = `scale=w=min(${POSTER_WIDTH}\\,iw):h=-1,format=yuvj420p`
  return ['-map', `0:${index}`, ...ANONYMOUS, '-frames:v', '1', '-vf', scale, '-q:v', '4', '-f', 'mjpeg']
}

/** A tenth into it, when titles are over and people are there, but not later than ten seconds. */
export function posterSeconds(durationSeconds: number | null): number {
  return Math.min((durationSeconds ?? 0) / 10, 10)
}

const MICROSECONDS = 1_000_000

/**
 * Of a part of what `-progress` writes: how much is done, 0 to 100; null where that part does not say.
 * `out_time_ms` is in microseconds, too, by a mistake that older versions of ffmpeg cannot take back.
 */
export function progressOf(lines: string, durationSeconds: number | null): number | null {
  const last = [...lines.matchAll(/^out_time_(?:us|ms)=(\d+)$/gm)].at(-1)?.[1]
  if (last === undefined || durationSeconds === null) return null
  return Math.min(100, Math.floor((Number(last) / MICROSECONDS / durationSeconds) * 100))
}
