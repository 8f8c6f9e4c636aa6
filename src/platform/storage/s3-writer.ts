/**
 * Writes the bytes of one request to an incoming S3 object.
 *
 * The writer sends only under names recorded as its own: its part numbers and its two tail names. A superseded writer
 * therefore overwrites nothing that counts. Parts are sent while the next one is collected, and recorded in order.
 */
import type { S3Client } from '@aws-sdk/client-s3'
import type { Semaphore } from '../concurrency/semaphore.ts'
import type { AppendOptions, IncomingPart, IncomingWriter } from './incoming.ts'
import type { S3Config } from './s3-config.ts'
import { MAX_PART_NUMBER, partBytesOf, type S3ResumeState, siblingKey } from './s3-resume-state.ts'
import { Spool } from './s3-spool.ts'

const PARTS_AT_ONCE = 3
/** Part numbers are recorded ahead, so that no part waits for a record. */
const AHEAD = PARTS_AT_ONCE + 1
/** A slow client takes long to fill a part, so its tail is stored this often. */
const TAIL_MS = 30_000

export interface S3WriterOptions extends AppendOptions {
  readonly client: S3Client
  readonly bucket: string
  readonly key: string
  /** Folder for collected bytes. */
  readonly spoolFolder: string
  readonly checksum: S3Config['checksum']
  /** Offset in the object where this writer starts. */
  readonly offset: number
  readonly resumeState: S3ResumeState | null
  /** Creates what is missing and deletes orphans. @returns the state to continue from, not recorded yet */
  readonly begin: (signal: AbortSignal) => Promise<S3ResumeState>
  /** Limits the concurrent transfers of all writers of the store. */
  readonly transfers: Semaphore
}

/** The writer of one request. At most three parts are on their way while the next is collected. */
export class S3Writer implements IncomingWriter {
  readonly #options: S3WriterOptions
  readonly #partBytes: number
  readonly #stop = new AbortController()
  #filling: Spool | null
  /** Offset in the object behind all written bytes. */
  #end: number
  /** As of the last record. */
  #resumeState: S3ResumeState | null
  #recorded: number
  #recordedAt = performance.now()
  /** The next record states this offset: parts and tail store everything before it. */
  #offset: number
  #parts: IncomingPart[] = []
  #tail: S3ResumeState['tail']
  /** Two names for tails, the unused one first. */
  #tailNames: string[] = []
  #number = 0
  #records: Promise<void> = Promise.resolve()
  /** Parts being sent, in order. Each resolves once it is recorded. */
  #sending: Promise<void>[] = []
  /** No more bytes will be written. */
  #closing = false

  /** `tail`: the bytes of the object's tail, if it has one. */
  constructor(options: S3WriterOptions, tail: Spool | null) {
    this.#options = options
    this.#partBytes = partBytesOf(options.size)
    this.#filling = tail
    this.#end = options.offset
    this.#offset = options.offset
    this.#recorded = options.offset
    this.#resumeState = options.resumeState
    this.#tail = options.resumeState?.tail ?? null
    const { signal } = options
    const end = () => this.#stop.abort(signal?.reason)
    if (signal?.aborted) end()
    else signal?.addEventListener('abort', end, { once: true, signal: this.#stop.signal })
  }

  /** Waits while three parts are on their way. Records each part, and the tail every 30 seconds unless held. */
  async write(chunk: Uint8Array): Promise<void> {
    this.#stop.signal.throwIfAborted()
    if (this.#end + chunk.byteLength > this.#options.size)
      throw new RangeError('more bytes than the size of the object')
    for (let taken = 0; taken < chunk.byteLength; ) {
      this.#filling ??= await Spool.open(this.#options.spoolFolder, this.#options.checksum)
      const piece = chunk.subarray(taken, taken + this.#partBytes - this.#filling.bytes)
      await this.#filling.write(piece)
      taken += piece.byteLength
      this.#end += piece.byteLength
      if (this.#filling.bytes === this.#partBytes) await this.#sendPart()
    }
    if (performance.now() - this.#recordedAt > TAIL_MS && this.#options.held !== true) {
      await this.#storeTail()
      await this.#record()
    }
  }

  /** Stores the tail, or the last part if the object is complete, and records it. */
  async flush(): Promise<number> {
    try {
      this.#stop.signal.throwIfAborted()
      this.#closing = true
      if (this.#end === this.#options.size) await this.#sendPart()
      await this.#storeTail()
      if (this.#offset !== this.#recorded || this.#hasNumbersLeft()) await this.#record()
      return this.#recorded
    } finally {
      await this.abandon()
    }
  }

  /** Aborts running transfers, and waits until they have ended. */
  async abandon(): Promise<void> {
    this.#stop.abort(new Error('the writer was closed'))
    await Promise.allSettled([...this.#sending, this.#records])
    await this.#filling?.close()
    this.#filling = null
  }

  /** Sends the collected bytes as a part. Waits only while too many parts are being sent. */
  async #sendPart(): Promise<void> {
    const spool = this.#filling
    if (spool === null) return
    while (this.#sending.length >= PARTS_AT_ONCE) await this.#sending.shift()
    const number = await this.#takeNumber()
    // Acquired before sending starts, because collecting the next part would need another file.
    const release = await this.#options.transfers.acquire(this.#stop.signal)
    this.#filling = null
    const before = this.#sending.at(-1) ?? Promise.resolve()
    const part = this.#send(spool, number, before, release)
    part.catch((reason) => this.#stop.abort(reason))
    this.#sending.push(part)
  }

  async #send(spool: Spool, number: number, before: Promise<void>, release: () => void): Promise<void> {
    try {
      const etag = await this.#upload(spool, number).finally(release)
      await before
      this.#offset += spool.bytes - (this.#tail?.bytes ?? 0)
      this.#tail = null
      this.#parts.push({ number, size: spool.bytes, etag })
      if (this.#showsBytes()) await this.#record()
    } finally {
      await spool.close()
    }
  }

  /** @returns the ETag of the part */
  async #upload(spool: Spool, PartNumber: number): Promise<string> {
    const { UploadPartCommand } = await import('@aws-sdk/client-s3')
    const { client, bucket: Bucket, key: Key } = this.#options
    const UploadId = this.#resumeState?.uploadId
    const { ETag } = await spool.send((payload, abortSignal) => {
      const command = new UploadPartCommand({ Bucket, Key, UploadId, PartNumber, ...payload })
      return client.send(command, { abortSignal })
    }, this.#stop.signal)
    if (ETag === undefined) throw new Error('the object store took a part without an ETag')
    return ETag
  }

  /** Stores bytes that are too short for a part as an object. They stay in the file until the part is full. */
  async #storeTail(): Promise<void> {
    await this.#awaitParts()
    const spool = this.#filling
    if (spool === null || spool.bytes === (this.#tail?.bytes ?? 0)) return
    await this.#begin()
    const { PutObjectCommand } = await import('@aws-sdk/client-s3')
    const { client, bucket: Bucket, key } = this.#options
    const [name = '', other = ''] = this.#tailNames
    const release = await this.#options.transfers.acquire(this.#stop.signal)
    const sent = spool.send((payload, abortSignal) => {
      const command = new PutObjectCommand({ Bucket, Key: siblingKey(key, name), ...payload })
      return client.send(command, { abortSignal })
    }, this.#stop.signal)
    await sent.finally(release)
    this.#offset += spool.bytes - (this.#tail?.bytes ?? 0)
    this.#tail = { name, bytes: spool.bytes }
    this.#tailNames = [other, name]
  }

  async #awaitParts(): Promise<void> {
    await Promise.all(this.#sending)
    this.#sending = []
  }

  /** @returns a part number that is recorded as taken */
  async #takeNumber(): Promise<number> {
    await this.#begin()
    const number = this.#number++
    if (number > MAX_PART_NUMBER) throw new Error('the object has no part numbers left')
    if (number >= (this.#resumeState?.next ?? 0)) await this.#record()
    return number
  }

  /** Runs before the first byte is sent. */
  async #begin(): Promise<void> {
    if (this.#tailNames.length > 0) return
    const resumeState = await this.#options.begin(this.#stop.signal)
    this.#number = resumeState.next
    // Random names: a name made of the next part number could repeat and overwrite the recorded tail.
    const tailNames = [crypto.randomUUID(), crypto.randomUUID()]
    this.#resumeState = { ...resumeState, orphanKeys: [...resumeState.orphanKeys, ...tailNames] }
    await this.#record()
    this.#tailNames = tailNames
  }

  /**
   * Records run one after another. After a failure nothing more is sent, because the names may belong to a newer
   * writer.
   */
  #record(): Promise<void> {
    const record = this.#records.then(() => this.#recordNow())
    this.#records = record.catch((reason) => this.#stop.abort(reason))
    return record
  }

  async #recordNow(): Promise<void> {
    this.#stop.signal.throwIfAborted()
    if (this.#resumeState === null) return
    const next = this.#closing ? this.#number : this.#number + AHEAD
    const shows = this.#showsBytes()
    const offset = shows ? this.#offset : this.#recorded
    const resumeState = { ...this.#resumeState, next, tail: shows ? this.#tail : this.#resumeState.tail }
    await this.#options.record({ offset, resumeState, parts: shows ? this.#parts.splice(0) : [] })
    this.#resumeState = resumeState
    this.#recorded = offset
    this.#recordedAt = performance.now()
  }

  /** Held bytes are recorded only when the writer closes. */
  #showsBytes(): boolean {
    return this.#closing || this.#options.held !== true
  }

  /** Unused part numbers are released at the end. */
  #hasNumbersLeft(): boolean {
    const isBegun = this.#tailNames.length > 0
    return isBegun && this.#offset < this.#options.size && (this.#resumeState?.next ?? 0) > this.#number
  }
}
