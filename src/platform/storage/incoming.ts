/**
 * Objects whose bytes arrive over many requests, in order, until they are whole.
 *
 * The rule: the store keeps no state of its own that matters. How far an object is, is recorded by the caller, in the database,
 * under a fence; so any process can go on from what was recorded last, after any crash, and what an older writer still does
 * elsewhere can never be seen. Nothing is visible under the key before `publish`.
 */
import type { Json } from '../db/pool.ts'

/** Something that the store has taken in durably; only stores that take objects in parts have any. */
export interface IncomingPart {
  /** From 1, ascending; numbers may be missing. */
  readonly number: number
  /** Bytes. */
  readonly size: number
  readonly etag: string
}

export interface IncomingProgress {
  /** Bytes that would survive a power failure. */
  readonly offset: number
  /** What the store needs to go on; opaque to the caller. null: nothing was begun. */
  readonly memory: Json
}

/** What changed since the record before: the parts are new ones only. */
export interface IncomingRecord extends IncomingProgress {
  readonly parts: readonly IncomingPart[]
}

export interface AppendOptions {
  /** Of the whole object, bytes. */
  readonly size: number
  readonly contentType: string
  /** false where a writer in another process may still be at work: what it does from now on must have no effect. */
  readonly alone: boolean
  /** No byte is recorded until `flush`, so that the bytes can be taken back by `abandon` (a checksum may not match). */
  readonly held?: boolean
  /**
   * Of stores that are far away: ends everything at once when it is aborted, and its reason is what comes of it then, also of
   * opening and of `flush`. Disks answer, and take no notice.
   */
  readonly signal?: AbortSignal
  /** Records durably, or rejects: then a newer writer has taken over, or the object is no longer awaited. */
  readonly record: (record: IncomingRecord) => Promise<void>
}

/** Calls follow each other: none before the one before it has settled. */
export interface IncomingWriter {
  /**
   * Takes the chunk, in order; records by itself every so many bytes or seconds, unless held. The chunk may be reused.
   * @throws RangeError where it goes beyond `size`, and takes nothing of it then
   * @throws what went wrong behind the scenes meanwhile, the rejection of `record` included: `abandon` it then
   */
  write(chunk: Uint8Array): Promise<void>
  /** Resolves to the offset when all that was written is durable and recorded. The writer is closed then, also where it rejects. */
  flush(): Promise<number>
  /** Closes the writer; what is not recorded is as if it had never come. */
  abandon(): Promise<void>
}

export interface IncomingStore {
  /**
   * Goes on at `progress.offset`. Records at once, with the same offset, what has to be known before the first byte; so that
   * from then on `alone` is true for whoever comes after this writer has closed. Rejects as `record` does.
   * @throws Error where bytes that were recorded are missing
   */
  append(key: string, progress: IncomingProgress, options: AppendOptions): Promise<IncomingWriter>
  /**
   * Makes it an object of `whole.offset` bytes; `parts` are all of them. The type is the one of `append`. May be called
   * again, after a crash in the middle or when it has succeeded. @throws Error where bytes that were recorded are missing
   */
  publish(key: string, whole: IncomingRecord, contentType: string): Promise<void>
  /**
   * Lets go of what has come, also where it never began. May be called again; of a published object nothing is lost.
   * @throws the reason of the signal, of stores that are far away
   */
  discard(key: string, memory: Json, signal?: AbortSignal): Promise<void>
}
