/**
 * Writes the bytes of one request to a file of the folder store.
 *
 * Bytes reach the disk before they are recorded, and are recorded while the next ones arrive. A crash loses only bytes that
 * were never acknowledged.
 */
import { type FileHandle, rm } from 'node:fs/promises'
import type { Json } from '../db/pool.ts'
import { BufferedFile } from './buffered-file.ts'
import type { AppendOptions, IncomingWriter } from './incoming.ts'

/** A record is due after these bytes or this time. Disks write best if synced every ten MiB or so. */
const RECORD_BYTES = 64 * 1024 * 1024
const RECORD_MS = 1_000

interface FolderWriterOptions extends AppendOptions {
  /** Offset in the object where this writer starts. */
  readonly offset: number
  /** The state to record with an offset. */
  readonly resumeStateAt: (offset: number) => Json
  /** Path of a file that no record names yet. It is deleted with the writer unless a record names it. */
  readonly unknown: string | null
}

/** Writes one file. Unless held, it records every 64 MiB or every second, whichever comes first. */
export class FolderWriter implements IncomingWriter {
  readonly #file: BufferedFile
  readonly #options: FolderWriterOptions
  /** Offset of the file's first byte in the object. */
  readonly #base: number
  #recorded: number
  /** Bytes on the disk. */
  #saved: number
  #unknown: string | null
  #saving: Promise<void> | null = null
  #savedAt = performance.now()
  #failure: { readonly reason: unknown } | null = null

  /** `position`: bytes of the file that belong to the object already. */
  constructor(file: FileHandle, position: number, options: FolderWriterOptions) {
    this.#file = new BufferedFile(file, position)
    this.#options = options
    this.#base = options.offset - position
    this.#recorded = options.offset
    this.#saved = options.offset
    this.#unknown = options.unknown
  }

  get #offset(): number {
    return this.#base + this.#file.end
  }

  /** Syncs in the background. An error of that is thrown by the next call. */
  async write(chunk: Uint8Array): Promise<void> {
    this.#assertHealthy()
    if (this.#offset + chunk.byteLength > this.#options.size)
      throw new RangeError('more bytes than the object has')
    await this.#file.write(chunk)
    if (this.#saving === null && this.#isDue()) {
      await this.#file.drain()
      this.#saveAside()
    }
  }

  /** Syncs, records and closes the file. */
  async flush(): Promise<number> {
    try {
      await this.#saving
      this.#assertHealthy()
      await this.#file.drain()
      await this.#save({ withRecord: true })
      return this.#recorded
    } finally {
      await this.#close()
    }
  }

  /** Closes the file. A file that no record names is deleted. */
  async abandon(): Promise<void> {
    await this.#saving
    await this.#close()
  }

  async #close(): Promise<void> {
    await this.#file.close()
    if (this.#unknown !== null) await rm(this.#unknown, { force: true })
  }

  #isDue(): boolean {
    return this.#offset - this.#saved >= RECORD_BYTES || performance.now() - this.#savedAt >= RECORD_MS
  }

  #saveAside(): void {
    this.#saving = this.#save({ withRecord: this.#options.held !== true })
      .catch((reason) => {
        this.#failure = { reason }
      })
      .finally(() => {
        this.#saving = null
      })
  }

  /** Saves all drained bytes. */
  async #save({ withRecord }: { readonly withRecord: boolean }): Promise<void> {
    const offset = this.#offset
    if (offset > this.#saved) await this.#file.sync()
    this.#saved = offset
    if (withRecord && offset > this.#recorded) {
      // Even if the call rejects, the record may exist.
      this.#unknown = null
      await this.#options.record({ offset, resumeState: this.#options.resumeStateAt(offset), parts: [] })
      this.#recorded = offset
    }
    this.#savedAt = performance.now()
  }

  #assertHealthy(): void {
    if (this.#failure !== null) throw this.#failure.reason
  }
}
