/**
 * Reads the part of a request body that belongs to the file.
 *
 * The last chunk of the file is passed on only after the body has ended, so that a body that is too long never
 * completes a file. A client that sends too slowly is disconnected.
 */
import { releaseChunk } from '../../platform/storage/release-chunk.ts'

/** The minimum pace: `bytes` in every `ms` milliseconds spent waiting for the client. */
export interface Pace {
  readonly bytes: number
  readonly ms: number
}

export interface BodyRequest {
  readonly body: ReadableStream<Uint8Array> | null
  /** Number of bytes to skip at the start. */
  readonly skip: number
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal
  /**
   * Called with true before waiting for the client, and with false afterwards. Waiting for the object store is not the
   * client's fault.
   */
  readonly onWait?: (isForClient: boolean) => void
}

/** `broken`: the connection ended before the body did. `slow`: the client sent too slowly. */
export type Ending = 'whole' | 'broken' | 'cut' | 'slow' | 'tooLong'

/** Limits for reading the body. */
interface Bounds {
  /** Number of bytes that the file still needs. */
  readonly missing: number
  readonly pace: Pace
  /** Ends the reading at once. */
  readonly cut: AbortSignal
}

/** Passes the bytes on one chunk at a time, at most `missing` of them. */
export async function readBody(
  { body, skip, signal, onWait = () => {} }: BodyRequest,
  { missing, pace, cut }: Bounds,
  take: (chunk: Uint8Array) => Promise<void>,
): Promise<Ending> {
  if (body === null) return 'whole'
  const reader = body.getReader()
  // Cancelling resolves a pending read as if the body had ended.
  const stop = () => void reader.cancel().catch(() => {})
  const slow = new AbortController()
  const paced = keepPace(reader, pace, () => slow.abort())
  const waiting: Reader = {
    read: () => {
      onWait(true)
      return paced.read().finally(() => onWait(false))
    },
  }
  const signals = [signal, cut, slow.signal]
  for (const one of signals) one.addEventListener('abort', stop, { once: true })
  try {
    if (signals.some(({ aborted }) => aborted)) stop()
    const isWhole = await passOn(waiting, skip, missing, take)
    if (!isWhole) return 'tooLong'
    if (cut.aborted) return 'cut'
    if (slow.signal.aborted) return 'slow'
    return signal.aborted ? 'broken' : 'whole'
  } catch (error) {
    if (!(error instanceof BrokenBody)) throw error
    if (cut.aborted) return 'cut'
    return slow.signal.aborted ? 'slow' : 'broken'
  } finally {
    for (const one of signals) one.removeEventListener('abort', stop)
    stop()
  }
}

interface Reader {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>
}

class BrokenBody extends Error {}

/** Measures the pace of a reader. Only time spent in `read` counts. */
function keepPace(reader: Reader, { bytes, ms }: Pace, onSlow: () => void): Reader {
  let [leftMs, missing] = [ms, bytes]
  return {
    async read() {
      const since = performance.now()
      const timer = setTimeout(onSlow, leftMs)
      try {
        const next = await reader.read()
        missing -= next.value?.byteLength ?? 0
        return next
      } finally {
        clearTimeout(timer)
        leftMs = Math.max(0, leftMs - (performance.now() - since))
        if (missing <= 0) [leftMs, missing] = [ms, bytes]
      }
    },
  }
}

/** @returns false if the body has more than `missing` bytes */
async function passOn(
  reader: Reader,
  skip: number,
  missing: number,
  take: (chunk: Uint8Array) => Promise<void>,
): Promise<boolean> {
  let [toSkip, left] = [skip, missing]
  let last: Uint8Array | null = null
  try {
    for (;;) {
      const { done, value } = await read(reader)
      if (done || value === undefined) return true
      const chunk = toSkip === 0 ? value : value.subarray(toSkip)
      toSkip -= value.byteLength - chunk.byteLength
      if (chunk.byteLength === 0) continue
      if (chunk.byteLength > left) {
        last = null
        return false
      }
      left -= chunk.byteLength
      if (left === 0) last = chunk
      else {
        await take(chunk)
        releaseChunk(value)
      }
    }
  } finally {
    // The file is complete here, even if the connection broke.
    if (last !== null) await take(last)
  }
}

async function read(reader: Reader) {
  try {
    return await reader.read()
  } catch (cause) {
    throw new BrokenBody('the body was cut off', { cause })
  }
}
