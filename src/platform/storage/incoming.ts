/**
 * Objects whose bytes arrive over many requests, in order, until they are complete.
 *
 * The store keeps no state of its own. The caller records the progress in the database, under a fence. Any process can
 * therefore continue from the last record after a crash, and whatever a superseded writer still does elsewhere never
 * becomes visible. Nothing is visible under the key before `publish`.
 */
import type { Json } from '../db/pool.ts'

/** A durably stored part. Only stores that take objects in parts have any. */
export interface IncomingPart {
  /** From 1, ascending; numbers may be missing. */
  readonly number: number
  /** Bytes. */
  readonly size: number
  readonly etag: string
}

export interface IncomingProgress {
  /** Number of durable bytes, which survive a power failure. */
  readonly offset: number
  /** State that the store needs to continue; opaque to the caller. null: nothing was stored. */
  readonly resumeState: Json
}

/** Changes since the previous record. `parts` has only new parts. */
export interface IncomingRecord extends IncomingProgress {
  readonly parts: readonly IncomingPart[]
}

export interface AppendOptions {
  /** Size of the whole object in bytes. */
  readonly size: number
  readonly contentType: string
  /**
   * false if a writer in another process may still be active. Whatever that writer does from now on must have no
   * effect.
   */
  readonly alone: boolean
  /** Records no bytes until `flush`, so that `abandon` can discard them, for example after a wrong checksum. */
  readonly held?: boolean
  /**
   * Ends everything at once when aborted, including `append` and `flush`, which then reject with its reason. Remote
   * stores only: folders ignore it.
   */
  readonly signal?: AbortSignal
  /** Records durably. Rejects if a newer writer has taken over, or the object is no longer awaited. */
  readonly record: (record: IncomingRecord) => Promise<void>
}

/** Calls are sequential: each starts after the one before has settled. */
export interface IncomingWriter {
  /**
   * Takes the chunk, in order. Records by itself at intervals of bytes or seconds, unless held. The caller may reuse
   * the chunk.
   * @throws RangeError if the chunk exceeds `size`; then none of it is stored
   * @throws the error of an earlier background operation, including the rejection of `record`; then call `abandon`
   */
  write(chunk: Uint8Array): Promise<void>
  /** Resolves to the offset once all written bytes are durable and recorded. Closes the writer, even if it rejects. */
  flush(): Promise<number>
  /** Closes the writer and discards unrecorded bytes. */
  abandon(): Promise<void>
}

export interface IncomingStore {
  /**
   * Continues at `progress.offset`. Before the first byte, records whatever the store needs to know, with the same
   * offset. After this writer has closed, `alone` is true for the next one. Rejects as `record` does.
   * @throws Error if recorded bytes are missing
   */
  append(key: string, progress: IncomingProgress, options: AppendOptions): Promise<IncomingWriter>
  /**
   * Makes the bytes an object of size `whole.offset`. `parts` has all parts. The content type is that of `append`. May
   * be repeated after a crash or after success. @throws Error if recorded bytes are missing
   */
  publish(key: string, whole: IncomingRecord, contentType: string): Promise<void>
  /**
   * Discards received bytes, even if none were stored. May be repeated. A published object stays.
   * @throws the reason of the signal, from remote stores
   */
  discard(key: string, resumeState: Json, signal?: AbortSignal): Promise<void>
}
