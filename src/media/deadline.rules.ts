/**
 * How long FFmpeg may work on a file. Pure.
 *
 * The rule: a header can claim any length and any number of frames, but every frame that is there takes bytes. So the deadline
 * comes from the claimed length and from the size of the file, whichever gives less, and 75 KB never earn hours.
 */
import { MAX_DURATION_SECONDS } from './facts.rules.ts'

/**
 * Bytes of a file that earn a second of work. A screen recording of 1080p in which nothing moves has about 1.2 KB a second, speech
 * in Opus with pauses left out about 0.1 KB; one second of the first is encoded in 0.3 s on a slow processor, of the second in 0.01 s.
 */
const BYTES_A_SECOND = 2 * 1024

/** What the work costs, for media that claims the truth. */
export interface Pace {
  /** To begin with, however small the file is. Milliseconds. */
  readonly startMs: number
  /** For each second of media. Milliseconds. */
  readonly msASecond: number
  /** Never more. Milliseconds. */
  readonly maxMs: number
}

/** What the media claims and what it has. */
export interface Extent {
  /** null where the file does not say: as long as media may be. */
  readonly durationSeconds: number | null
  readonly bytes: number
}

/** @returns milliseconds, a whole number */
export function deadlineMs({ durationSeconds, bytes }: Extent, { startMs, msASecond, maxMs }: Pace): number {
  const byLength = (durationSeconds ?? MAX_DURATION_SECONDS) * msASecond
  const bySize = (bytes / BYTES_A_SECOND) * 1_000
  return Math.ceil(Math.min(maxMs, startMs + Math.min(byLength, bySize)))
}
