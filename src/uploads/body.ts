/**
 * The body of a request, as far as it belongs to the file.
 *
 * The rule: the chunk that completes the file is handed on only when nothing came after it, so that a body with too many
 * bytes never completes one; and the client is waited for only while it keeps its pace.
 */
import { releaseChunk } from '../platform/storage/release-chunk.ts'

/** At least so many bytes in every so many milliseconds in which the client is waited for. */
export interface Pace {
  readonly bytes: number
  readonly ms: number
}

export interface BodyRequest {
  readonly body: ReadableStream<Uint8Array> | null
  /** Bytes to pass over at the beginning. */
  readonly skip: number
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal
  /** Told before the client is waited for, and when it is not any more: a wait for the store is not its fault. */
  readonly onWait?: (isForClient: boolean) => void
}

/** `broken`: the connection ended before the body did. `slow`: the client does not keep its pace. */
export type Ending = 'whole' | 'broken' | 'cut' | 'slow' | 'tooLong'

/** What surrounds the body. */
interface Bounds {
  /** Bytes of the file that are not there yet. */
  readonly missing: number
  readonly pace: Pace
  /** Ends it at once. */
  readonly cut: AbortSignal
}

/** Hands the bytes on one chunk at a time, at most `missing` of them. */
export async function readBody(
  { body, skip, signal, onWait = () => {} }: BodyRequest,
  { missing, pace, cut }: Bounds,
  take: (chunk: Uint8Array) => Promise<void>,
): Promise<Ending> {
  if (body === null) return 'whole'
  const reader = body.getReader()
  // A read that waits then resolves, as if the body had ended.
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
    const isWhole = await handOn(waiting, skip, missing, take)
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

/** Reads as before, and says when too little has come for too long. Time in which nobody reads does not count. */
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

/** @returns false where there is more than what is missing */
async function handOn(
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
    // Also where the connection broke: every byte of the file is there.
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
