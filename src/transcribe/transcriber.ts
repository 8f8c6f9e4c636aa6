/**
 * What turns speech into text.
 *
 * The rule: a transcriber has no side effect but its own I/O, ends all of it when the signal is aborted, and neither logs nor
 * says in an error what was said.
 */
import type { Segment } from './output.rules.ts'

/** The media of a recording, with or without pictures, in a local file that stays what it is. */
export interface Sound {
  readonly path: string
  readonly contentType: string
  readonly isAudio: boolean
  /** null: not known. */
  readonly durationSeconds: number | null
  /** An empty folder for whatever is needed meanwhile; who made it deletes it. */
  readonly folder: string
}

export interface Transcriber {
  readonly name: string
  /**
   * No segments where nothing was said, or where there is nothing to hear.
   * @throws TranscriberError; the reason of the signal where it is aborted
   */
  transcribe(sound: Sound, signal: AbortSignal): Promise<Heard>
}

/** Not yet a transcript: see utterances.rules.ts. */
export interface Heard {
  readonly segments: readonly Segment[]
  /** How long the sound is, as far as was found out. */
  readonly durationSeconds: number | null
}

/** How many attempts a failure is worth. */
export const ATTEMPTS = {
  /** The same would happen again. */
  terminal: 1,
  /** A program failed, perhaps for want of memory. */
  program: 3,
  /** Somebody else's server is busy or away, or an operator has to put something right: some eight hours. */
  elsewhere: 110,
} as const

/** The message says what went wrong, for operators, without anything that was said. */
export class TranscriberError extends Error {
  override readonly name = 'TranscriberError'

  constructor(
    message: string,
    readonly attempts: number,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}
