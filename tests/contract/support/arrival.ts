/**
 * What the contract of incoming objects is tested with: a row that keeps what is recorded, under a fence as the database has it,
 * and bytes of which every offset tells what it should be.
 *
 * As a program: a process of its own that writes objects, prints every record, and at the end by how many bytes its memory grew at
 * most. One that can be killed in the middle.
 */
import { createFolderStore } from '../../../src/platform/storage/folder.ts'
import type {
  AppendOptions,
  IncomingPart,
  IncomingProgress,
  IncomingRecord,
} from '../../../src/platform/storage/incoming.ts'
import { createS3Store } from '../../../src/platform/storage/s3.ts'
import type { Transfer } from './transfer.ts'

export const CONTENT_TYPE = 'video/mp4'

/** Records of the newest writer only. */
export class Row {
  progress: IncomingProgress = { offset: 0, resumeState: null }
  readonly parts: IncomingPart[] = []
  /** Offsets as they were recorded. */
  readonly offsets: number[] = []
  readonly size: number
  #writer = 0

  constructor(size: number) {
    this.size = size
  }

  /** Of the next writer; those before it are superseded. */
  options(rest: { readonly alone: boolean; readonly held?: boolean }): AppendOptions {
    const writer = ++this.#writer
    return {
      size: this.size,
      contentType: CONTENT_TYPE,
      ...rest,
      record: async (record) => {
        // As a query would: the writer may be superseded meanwhile.
        await Promise.resolve()
        if (writer !== this.#writer) throw new Error('superseded')
        this.take(record)
      },
    }
  }

  take({ offset, resumeState, parts }: IncomingRecord): void {
    this.progress = JSON.parse(JSON.stringify({ offset, resumeState }))
    this.parts.push(...parts)
    this.offsets.push(offset)
  }

  get whole(): IncomingRecord {
    return { ...this.progress, parts: this.parts }
  }
}

/** Of a length that is no divisor of anything, so that no shift goes unnoticed. */
const PATTERN = new Uint8Array(1_048_583)
for (let at = 0, state = 1; at < PATTERN.length; at++) {
  state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
  PATTERN[at] = state >>> 16
}

/** The bytes from `start`, of the object as it should be; where they are `wrong`, each of them differs. */
export function* bytesAt(start: number, length: number, wrong = false): Generator<Uint8Array> {
  for (let at = start; at < start + length; ) {
    const from = at % PATTERN.length
    const piece = PATTERN.slice(from, Math.min(PATTERN.length, from + start + length - at))
    yield wrong ? piece.map((byte) => ~byte) : piece
    at += piece.byteLength
  }
}

export function sha256At(start: number, length: number): string {
  const hash = new Bun.CryptoHasher('sha256')
  for (const piece of bytesAt(start, length)) hash.update(piece)
  return hash.digest('hex')
}

export interface Arrival {
  readonly store: Transfer['store']
  /** Written at the same time. */
  readonly keys: readonly string[]
  readonly size: number
  /** Of each. */
  readonly progress: IncomingProgress
  readonly alone: boolean
}

if (import.meta.main) {
  const { store: options, keys, size, progress, alone }: Arrival = JSON.parse(process.argv[2] ?? '')
  const store = 's3' in options ? createS3Store(options.s3) : createFolderStore(options.folder)
  // Loads what is loaded at first use.
  await store.head('nothing')
  const before = process.memoryUsage.rss()
  let peak = before
  const watch = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss())
  }, 5)
  const writeOne = async (key: string) => {
    const record = async (record: IncomingRecord) => console.log(JSON.stringify({ key, record }))
    const append = { size, contentType: CONTENT_TYPE, alone, record }
    const writer = await store.incoming.append(key, progress, append)
    const chunk = new Uint8Array(64 * 1024)
    for (let at = progress.offset; at < size; at += chunk.length) {
      const length = Math.min(chunk.length, size - at)
      let filled = 0
      for (const piece of bytesAt(at, length)) {
        chunk.set(piece, filled)
        filled += piece.length
      }
      await writer.write(chunk.subarray(0, length))
    }
    await writer.flush()
  }
  await Promise.all(keys.map(writeOne))
  clearInterval(watch)
  console.log(JSON.stringify({ growth: peak - before }))
  store.close()
}
