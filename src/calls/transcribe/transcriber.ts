/**
 * The interface of transcribers.
 *
 * A transcriber has no side effects beyond its own I/O, ends all of it when the signal is aborted, and neither logs
 * spoken words nor includes them in errors.
 */
import type { TranscriptError } from '../transcripts/states.ts'
import type { Segment } from './segment.ts'

/** The media of a recording, with or without video, in a local file that does not change. */
export interface SourceMedia {
  readonly path: string
  readonly contentType: string
  readonly isAudio: boolean
  /** null: unknown. */
  readonly durationSeconds: number | null
  /** An empty folder for temporary files. The caller deletes it. */
  readonly folder: string
}

export interface Transcriber {
  readonly name: string
  /**
   * Returns no segments if the media has no speech or no audio.
   * @throws TranscriberError; the reason of the signal
   */
  transcribe(media: SourceMedia, signal: AbortSignal): Promise<TranscriptionResult>
}

/** The result before it becomes a transcript (see `utterances.rules.ts`). */
export interface TranscriptionResult {
  readonly segments: readonly Segment[]
  /** Length of the audio, if known. */
  readonly durationSeconds: number | null
}

/** Number of attempts for each kind of failure. */
export const ATTEMPTS = {
  /** Another attempt would fail the same way. */
  terminal: 1,
  /** A program failed, perhaps for lack of memory. */
  program: 3,
  /** A remote server is unavailable, or an operator must fix something: about eight hours of attempts. */
  elsewhere: 110,
} as const

/** The message tells operators the cause, without any spoken words; the code tells readers of the recording. */
export class TranscriberError extends Error {
  override readonly name = 'TranscriberError'

  constructor(
    message: string,
    readonly attempts: number,
    options?: ErrorOptions,
    readonly code: TranscriptError = 'transcriber_failed',
  ) {
    super(message, options)
  }
}
