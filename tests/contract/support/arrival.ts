/**
 * Support for the contract of incoming objects: a row that stores records behind a fence, like the database,
 * and bytes whose values follow from their offsets.
 *
 * Run as a program, it writes objects, prints every record, and finally prints by how many bytes its memory grew at
 * most. A test can kill it midway.
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
  /** The recorded offsets, in order. */
  readonly offsets: number[] = []
  readonly size: number
  #writer = 0

  constructor(size: number) {
    this.size = size
  }

  /** The fence of the next writer; earlier writers are superseded. */
  options(rest: { readonly alone: boolean; readonly held?: boolean }): AppendOptions {
    const writer = ++this.#writer
    return {
      size: this.size,
      contentType: CONTENT_TYPE,
      ...rest,
      record: async (record) => {
        // Like a query: the writer may be superseded meanwhile.
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

/** The length is prime, so every shift changes the bytes. */
const PATTERN = new Uint8Array(1_048_583)
for (let at = 0, state = 1; at < PATTERN.length; at++) {
  state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
  PATTERN[at] = state >>> 16
}

/** The expected bytes of the object from `start`; if `wrong`, every byte differs. */
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
  // Warms up everything that is loaded on first use.
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
