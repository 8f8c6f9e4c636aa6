/**
 * How long FFmpeg may work on a file. Pure.
 *
 * A header can claim any length and any number of frames, but every real frame takes bytes. The deadline is therefore
 * the smaller of two: one from the claimed length and one from the file size. A file of 75 KB never gets hours.
 */
import { MAX_DURATION_SECONDS } from './facts.rules.ts'

/**
 * Bytes that allow one second of work. A 1080p screen recording without motion has about 1.2 KB a second, Opus speech
 * without its pauses about 0.1 KB. Encoding one second of the former takes 0.3 s on a slow processor, of the latter
 * 0.01 s.
 */
const BYTES_A_SECOND = 2 * 1024

/** Work allowed for media that states its length truthfully. */
export interface Pace {
  /** Base time, however small the file is, in milliseconds. */
  readonly startMs: number
  /** For each second of media, in milliseconds. */
  readonly msASecond: number
  /** Upper limit in milliseconds. */
  readonly maxMs: number
}

/** The claimed length and the real size of media. */
export interface Extent {
  /** null if the file does not state it; then the maximum length counts. */
  readonly durationSeconds: number | null
  readonly bytes: number
}

/** @returns a whole number of milliseconds */
export function deadlineMs({ durationSeconds, bytes }: Extent, { startMs, msASecond, maxMs }: Pace): number {
  const byLength = (durationSeconds ?? MAX_DURATION_SECONDS) * msASecond
  const bySize = (bytes / BYTES_A_SECOND) * 1_000
  return Math.ceil(Math.min(maxMs, startMs + Math.min(byLength, bySize)))
}
