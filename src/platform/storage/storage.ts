/**
 * The object store for media: a folder of this machine, or an S3-compatible server.
 *
 * An object appears as a whole or not at all, and never changes. New content gets a new key. Facts about a key therefore stay
 * true until it is deleted.
 */

import type { IncomingStore } from './incoming.ts'

/** Half-open, in bytes, like `slice`: `end` is excluded. The part behind the end of the object is ignored. */
interface ByteRange {
  readonly start: number
  readonly end: number
}

export interface ObjectInfo {
  /** In bytes. */
  readonly size: number
  readonly contentType: string
}

export interface PutOptions {
  readonly contentType: string
  readonly signal: AbortSignal
}

export interface PlaybackOptions {
  /** The content type of the response, even if the object was stored with another one. */
  readonly contentType: string
  /** Suggested name for saving. */
  readonly fileName: string
  /** The URL is good from now on, */
  readonly now: Date
  /** until then. */
  readonly expiresAt: Date
  /** URL of this service (see `baseUrlOf`), for stores whose objects the service serves itself. */
  readonly baseUrl: string
}

/** An object that this process may send straight from its file. */
export interface Playable extends ObjectInfo {
  readonly path: string
  readonly fileName: string
}

/** An object as a read-only file of this machine. */
export interface LocalFile {
  readonly path: string
  /** Call it when the file is no longer needed. */
  release(): Promise<void>
}

/**
 * Keys are paths without a leading slash: 1 to 512 bytes of UTF-8, no empty segment, no `.` or `..`, no control characters.
 * Every method throws `InvalidKey` for other keys.
 */
export interface ObjectStore {
  readonly name: 'folder' | 's3'
  /** Largest size of one object. */
  readonly maxBytes: number
  /**
   * Stores the file. Resolves when the object would survive a power failure. The caller deletes the file, but must not write
   * to it any more, because the store may keep a hard link. Rejects with the reason of `signal` when that fires. After a
   * rejection or the end of the process there is no object.
   */
  putFile(key: string, path: string, options: PutOptions): Promise<void>
  /** Null if there is no such object. */
  head(key: string): Promise<ObjectInfo | null>
  /** @throws ObjectMissing */
  read(key: string, range?: ByteRange): Promise<ReadableStream<Uint8Array>>
  /**
   * A file for programs that need one: the object's own, or a copy in the existing `folder`, which `release` removes.
   * @throws ObjectMissing, or the reason of `signal`
   */
  localFile(key: string, folder: string, signal: AbortSignal): Promise<LocalFile>
  /** For objects whose bytes arrive over many requests. */
  readonly incoming: IncomingStore
  /**
   * Removes leftovers of crashes from before that moment: of puts, and of incoming objects whose key is not `awaited`. The
   * caller reads `awaited` after `before`, which is further back than a put can take. Ends early if `signal` is aborted.
   * @returns the number of removed objects
   */
  sweep(before: Date, awaited: readonly string[], signal: AbortSignal): Promise<number>
  /** Ignores keys without an object. @throws the reason of the signal, from remote stores */
  delete(keys: readonly string[], signal?: AbortSignal): Promise<void>
  /** An absolute URL by which anyone can GET the object, whole or by `Range`, until it expires. */
  playbackUrl(key: string, options: PlaybackOptions): Promise<string>
  /**
   * The grant of a playback URL of this service; null for stores that serve their objects themselves.
   * Resolves to null if the URL was altered or has expired. @throws ObjectMissing
   */
  readonly playback: ((key: string, query: URLSearchParams, now: Date) => Promise<Playable | null>) | null
  /** Leaves no object. @throws NeedsOperator or another Error if nothing can be stored at the moment */
  assertWritable(signal: AbortSignal): Promise<void>
  close(): void
}

/** Nothing is stored under the key. */
export class ObjectMissing extends Error {
  override readonly name = 'ObjectMissing'
  constructor(key: string) {
    super(`there is no object ${JSON.stringify(key)}`)
  }
}

/** The key does not have the form that `assertKey` (keys.ts) demands. */
export class InvalidKey extends Error {
  override readonly name = 'InvalidKey'
  constructor(key: string) {
    super(`${JSON.stringify(key)} is not the key of an object`)
  }
}
