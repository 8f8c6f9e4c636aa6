/**
 * Where media is kept: a folder of this machine, or an S3-compatible server.
 *
 * The rule: an object appears as a whole or not at all, and is never changed. Who stores something anew takes a new key, so
 * a key is put once, and whatever was told of a key stays true until it is deleted.
 */

import type { IncomingStore } from './incoming.ts'

/** Half-open, in bytes, as `slice` has it: `end` is not part of it. What lies behind the end of the object is left out. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

export interface ObjectInfo {
  /** Bytes. */
  readonly size: number
  readonly contentType: string
}

export interface PutOptions {
  readonly contentType: string
  readonly signal: AbortSignal
}

export interface PlaybackOptions {
  /** What the answer says it is, whatever was said when the object was put. */
  readonly contentType: string
  /** For people who save it. */
  readonly fileName: string
  readonly expiresAt: Date
  /** Of this service (see `baseUrlOf`), for stores whose objects it serves itself. */
  readonly baseUrl: string
}

/** An object that this process may send straight from its file. */
export interface Playable extends ObjectInfo {
  readonly path: string
  readonly fileName: string
}

/** An object as a file of this machine, only to be read. */
export interface LocalFile {
  readonly path: string
  /** To be called when the file is needed no more. */
  release(): Promise<void>
}

/**
 * Keys are paths without a leading slash: 1 to 512 bytes of UTF-8, no empty segment, no `.` or `..`, no control characters.
 * Everything throws `InvalidKey` for another.
 */
export interface ObjectStore {
  readonly name: 'folder' | 's3'
  /** Of one object. */
  readonly maxBytes: number
  /**
   * Stores the file and resolves when the object would survive a power failure. The file stays where it is and is the
   * caller's to delete, but must not be written to any more: the store may keep it under a second name. Rejects with the
   * reason of `signal` when that fires; after a rejection, or the end of the process, there is no object.
   */
  putFile(key: string, path: string, options: PutOptions): Promise<void>
  /** null where there is no such object. */
  head(key: string): Promise<ObjectInfo | null>
  /** @throws ObjectMissing */
  read(key: string, range?: ByteRange): Promise<ReadableStream<Uint8Array>>
  /**
   * For programs that need a file: the object's own one, or a copy in `folder` (which is there) that `release` removes.
   * @throws ObjectMissing, or the reason of `signal`
   */
  localFile(key: string, folder: string, signal: AbortSignal): Promise<LocalFile>
  /** For objects whose bytes arrive over many requests. */
  readonly incoming: IncomingStore
  /**
   * Removes what crashes left half-done before that moment: of puts, and of incoming objects that are not among those
   * still `awaited` (keys; asked for after `before`, which lies further back than a put can take). Ends early where `signal` is
   * aborted. @returns how many
   */
  sweep(before: Date, awaited: readonly string[], signal: AbortSignal): Promise<number>
  /** Keys without an object are passed over. @throws the reason of the signal, of stores that are far away */
  delete(keys: readonly string[], signal?: AbortSignal): Promise<void>
  /** An absolute URL by which anybody may GET the object, whole or by `Range`, until it expires. */
  playbackUrl(key: string, options: PlaybackOptions): Promise<string>
  /**
   * What a playback URL that leads to this service grants; null for a store whose URLs lead to itself.
   * Resolves to null where the URL was altered or has expired. @throws ObjectMissing
   */
  readonly playback: ((key: string, query: URLSearchParams, now: Date) => Promise<Playable | null>) | null
  /** @throws where nothing could be stored at the moment, as far as that can be told without storing anything */
  assertWritable(signal: AbortSignal): Promise<void>
  close(): void
}

export class ObjectMissing extends Error {
  override readonly name = 'ObjectMissing'
  constructor(key: string) {
    super(`there is no object ${JSON.stringify(key)}`)
  }
}

export class InvalidKey extends Error {
  override readonly name = 'InvalidKey'
  constructor(key: string) {
    super(`${JSON.stringify(key)} is not the key of an object`)
  }
}
