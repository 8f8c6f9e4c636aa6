/**
 * One request's writing into an incoming object of S3.
 *
 * The rule: whatever is sent has a name that was recorded before as this writer's own: its part numbers and the two names
 * of its tails. So a writer that was left behind overwrites nothing that counts. Parts are sent while the next one comes, and
 * recorded in order.
 */
import type { S3Client } from '@aws-sdk/client-s3'
import type { AppendOptions, IncomingPart, IncomingWriter } from './incoming.ts'
import { besides, MAX_PART_NUMBER, partBytesOf, type S3Memory } from './s3-memory.ts'
import { Spool } from './s3-spool.ts'
import type { Slots } from './slots.ts'

const PARTS_AT_ONCE = 3
/** Part numbers recorded ahead, so that no part has to wait for a record. */
const AHEAD = PARTS_AT_ONCE + 1
/** For those who send so slowly that a part takes long. */
const TAIL_MS = 30_000

export interface S3WriterOptions extends AppendOptions {
  readonly client: S3Client
  readonly bucket: string
  readonly key: string
  /** Where bytes are collected. */
  readonly spoolFolder: string
  /** Of the object, where this writer goes on. */
  readonly offset: number
  readonly memory: S3Memory | null
  /** Makes what is not there yet and lets go of litter. @returns what to go on with, not recorded yet */
  readonly begin: (signal: AbortSignal) => Promise<S3Memory>
  /** For what is on its way, of all writers of the store. */
  readonly slots: Slots
}

export class S3Writer implements IncomingWriter {
  readonly #options: S3WriterOptions
  readonly #partBytes: number
  readonly #stop = new AbortController()
  #filling: Spool | null
  /** Of the object, with all that was written. */
  #end: number
  /** As of the last record. */
  #memory: S3Memory | null
  #recorded: number
  #recordedAt = performance.now()
  /** What the next record says: everything before `#offset` is stored, by the parts and the tail. */
  #offset: number
  #parts: IncomingPart[] = []
  #tail: S3Memory['tail']
  /** Names for tails, the free one first. */
  #tailNames: string[] = []
  #number = 0
  #records: Promise<void> = Promise.resolve()
  /** Parts on their way, in order; each resolves when it is recorded. */
  #sending: Promise<void>[] = []
  /** Nothing more will be written. */
  #closing = false

  /** `tail`: what the object's tail has, if there is one. */
  constructor(options: S3WriterOptions, tail: Spool | null) {
    this.#options = options
    this.#partBytes = partBytesOf(options.size)
    this.#filling = tail
    this.#end = options.offset
    this.#offset = options.offset
    this.#recorded = options.offset
    this.#memory = options.memory
    this.#tail = options.memory?.tail ?? null
    const { signal } = options
    const end = () => this.#stop.abort(signal?.reason)
    if (signal?.aborted) end()
    else signal?.addEventListener('abort', end, { once: true, signal: this.#stop.signal })
  }

  async write(chunk: Uint8Array): Promise<void> {
    this.#stop.signal.throwIfAborted()
    if (this.#end + chunk.byteLength > this.#options.size)
      throw new RangeError('more bytes than the object has')
    for (let taken = 0; taken < chunk.byteLength; ) {
      this.#filling ??= await Spool.open(this.#options.spoolFolder)
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

  async abandon(): Promise<void> {
    this.#stop.abort(new Error('the writer was closed'))
    await Promise.allSettled([...this.#sending, this.#records])
    await this.#filling?.close()
    this.#filling = null
  }

  /** Hands the collected bytes over; waits only where too many are on their way. */
  async #sendPart(): Promise<void> {
    const spool = this.#filling
    if (spool === null) return
    while (this.#sending.length >= PARTS_AT_ONCE) await this.#sending.shift()
    const number = await this.#takeNumber()
    // Here, not when it is sent: meanwhile nothing more is collected, which would need a file, too.
    const giveBack = await this.#options.slots.take(this.#stop.signal)
    this.#filling = null
    const before = this.#sending.at(-1) ?? Promise.resolve()
    const part = this.#send(spool, number, before, giveBack)
    part.catch((reason) => this.#stop.abort(reason))
    this.#sending.push(part)
  }

  async #send(spool: Spool, number: number, before: Promise<void>, giveBack: () => void): Promise<void> {
    try {
      const etag = await this.#upload(spool, number).finally(giveBack)
      await before
      this.#offset += spool.bytes - (this.#tail?.bytes ?? 0)
      this.#tail = null
      this.#parts.push({ number, size: spool.bytes, etag })
      if (this.#showsBytes()) await this.#record()
    } finally {
      await spool.close()
    }
  }

  /** @returns what names the part's content */
  async #upload(spool: Spool, PartNumber: number): Promise<string> {
    const { UploadPartCommand } = await import('@aws-sdk/client-s3')
    const { client, bucket: Bucket, key: Key } = this.#options
    const UploadId = this.#memory?.uploadId
    const { ETag } = await spool.send((payload, abortSignal) => {
      const command = new UploadPartCommand({ Bucket, Key, UploadId, PartNumber, ...payload })
      return client.send(command, { abortSignal })
    }, this.#stop.signal)
    if (ETag === undefined) throw new Error('the object store took a part without an ETag')
    return ETag
  }

  /** What is too short for a part becomes an object, and stays in the file for the part that it will be. */
  async #storeTail(): Promise<void> {
    await this.#settle()
    const spool = this.#filling
    if (spool === null || spool.bytes === (this.#tail?.bytes ?? 0)) return
    await this.#begin()
    const { PutObjectCommand } = await import('@aws-sdk/client-s3')
    const { client, bucket: Bucket, key } = this.#options
    const [name = '', other = ''] = this.#tailNames
    const giveBack = await this.#options.slots.take(this.#stop.signal)
    const sent = spool.send((payload, abortSignal) => {
      const command = new PutObjectCommand({ Bucket, Key: besides(key, name), ...payload })
      return client.send(command, { abortSignal })
    }, this.#stop.signal)
    await sent.finally(giveBack)
    this.#offset += spool.bytes - (this.#tail?.bytes ?? 0)
    this.#tail = { name, bytes: spool.bytes }
    this.#tailNames = [other, name]
  }

  async #settle(): Promise<void> {
    await Promise.all(this.#sending)
    this.#sending = []
  }

  /** Recorded as taken. */
  async #takeNumber(): Promise<number> {
    await this.#begin()
    const number = this.#number++
    if (number > MAX_PART_NUMBER) throw new Error('the object has no part numbers left')
    if (number >= (this.#memory?.next ?? 0)) await this.#record()
    return number
  }

  /** Before the first byte is sent. */
  async #begin(): Promise<void> {
    if (this.#tailNames.length > 0) return
    const memory = await this.#options.begin(this.#stop.signal)
    this.#number = memory.next
    // Not made of the next number, which may have been given back: the recorded tail would be overwritten.
    const tailNames = [crypto.randomUUID(), crypto.randomUUID()]
    this.#memory = { ...memory, litter: [...memory.litter, ...tailNames] }
    await this.#record()
    this.#tailNames = tailNames
  }

  /** One after the other. Where one fails, nothing more is sent: its names may be somebody else's. */
  #record(): Promise<void> {
    const record = this.#records.then(() => this.#recordNow())
    this.#records = record.catch((reason) => this.#stop.abort(reason))
    return record
  }

  async #recordNow(): Promise<void> {
    this.#stop.signal.throwIfAborted()
    if (this.#memory === null) return
    const next = this.#closing ? this.#number : this.#number + AHEAD
    const shows = this.#showsBytes()
    const offset = shows ? this.#offset : this.#recorded
    const memory = { ...this.#memory, next, tail: shows ? this.#tail : this.#memory.tail }
    await this.#options.record({ offset, memory, parts: shows ? this.#parts.splice(0) : [] })
    this.#memory = memory
    this.#recorded = offset
    this.#recordedAt = performance.now()
  }

  /** Held bytes count when the writer is closed, not before. */
  #showsBytes(): boolean {
    return this.#closing || this.#options.held !== true
  }

  /** Given back at the end, as nobody else may use them. */
  #hasNumbersLeft(): boolean {
    const isBegun = this.#tailNames.length > 0
    return isBegun && this.#offset < this.#options.size && (this.#memory?.next ?? 0) > this.#number
  }
}
