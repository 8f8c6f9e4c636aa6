/**
 * How long media lasts, and where its sound has gaps, by the timestamps of its packets. Pure.
 *
 * Headers lie: recorders that were killed never wrote them, others estimate. Packets are read without decoding. Neither memory nor time
 * depends on what the timestamps claim.
 */
import { MAX_DURATION_SECONDS, type MediaFacts } from './facts.rules.ts'
import { MediaError } from './rules.ts'

/** Arguments of ffprobe that print `index,pts,dts,duration` of each packet, in seconds. */
export const CLOCK_ARGUMENTS: readonly string[] = [
  ...['-of', 'csv=p=0:nk=1', '-show_entries', 'packet=stream_index,pts_time,dts_time,duration_time'],
]

/** What the packets of a file say. Seconds on its own clock, which need not begin at zero. */
export interface Clock {
  /** null without timestamps. */
  readonly startSeconds: number | null
  readonly endSeconds: number | null
  /** Silence of the first audio stream that has no packets, within it. */
  readonly gapSeconds: number
  /** From the start of the media to the first sound. */
  readonly lateSeconds: number
}

/** Packets of sound are shorter; containers stretch the last one before a gap. */
const LONGEST_PACKET_SECONDS = 0.6
/** Rounded timestamps differ by less. */
const SMALLEST_GAP_SECONDS = 0.05
/** Encoders put so much before the beginning, and players skip it. */
const PRIMING_SECONDS = 0.2

export interface ClockReader {
  /** Adds output of ffprobe. It may end within a line. */
  add(bytes: Uint8Array): void
  read(): Clock
}

/** Reads the clock of the streams of these facts. */
export function createClock({ video, audioTracks }: Pick<MediaFacts, 'video' | 'audioTracks'>): ClockReader {
  const streams = new Set([...audioTracks, ...(video === null ? [] : [video])].map(({ index }) => index))
  const sound = audioTracks[0]?.index ?? null
  const decoder = new TextDecoder()
  let rest = ''
  let [start, end] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  let [soundStart, soundEnd] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  let gapSeconds = 0

  const take = (line: string) => {
    const [index, pts, dts, duration] = line.split(',', 4).map((text) => Number.parseFloat(text))
    if (index === undefined || !streams.has(index)) return
    const at = Number.isFinite(pts) ? (pts as number) : (dts as number)
    if (!Number.isFinite(at)) return
    const lasts = Number.isFinite(duration) ? Math.max(0, duration as number) : 0
    start = Math.min(start, at)
    end = Math.max(end, at + lasts)
    if (index !== sound) return
    soundStart = Math.min(soundStart, at)
    if (soundEnd > Number.NEGATIVE_INFINITY && at - soundEnd >= SMALLEST_GAP_SECONDS)
      gapSeconds += at - soundEnd
    soundEnd = Math.max(soundEnd, at + Math.min(lasts, LONGEST_PACKET_SECONDS))
  }
  return {
    add(bytes) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) take(line)
    },
    read() {
      if (rest !== '') take(rest)
      rest = ''
      const isTimed = end > Number.NEGATIVE_INFINITY
      const zero = zeroOf(start)
      return {
        startSeconds: isTimed ? zero : null,
        endSeconds: isTimed ? end : null,
        gapSeconds,
        lateSeconds: Number.isFinite(soundStart) ? Math.max(0, soundStart - zero) : 0,
      }
    },
  }
}

const zeroOf = (start: number) => (start < 0 && start > -PRIMING_SECONDS ? 0 : start)

/** A file of 1 KB may claim a gap of ten years. Silence is filled in up to an hour, and a second for each 100 bytes of the file. */
const [FILLED_SECONDS, BYTES_A_FILLED_SECOND] = [3_600, 100]

/** @throws MediaError if the media lasts longer than a day */
export function withClock(facts: MediaFacts, clock: Clock, bytes: number): MediaFacts {
  const { startSeconds, endSeconds, gapSeconds, lateSeconds } = clock
  if (startSeconds === null || endSeconds === null) return facts
  const measured = endSeconds - startSeconds
  if (measured > MAX_DURATION_SECONDS)
    throw new MediaError('processing_failed', false, `the media lasts ${Math.round(measured)} s`)
  const silence = gapSeconds + lateSeconds
  return {
    ...facts,
    durationSeconds: measured > 0 ? Math.round(measured * 1_000) / 1_000 : facts.durationSeconds,
    startSeconds,
    gapSeconds,
    mayFillGaps: silence <= FILLED_SECONDS + bytes / BYTES_A_FILLED_SECOND,
  }
}
