/**
 * The body of a request, as far as it belongs to the file.
 *
 * The rule: the chunk that completes the file is handed on only when nothing came after it, so that a body with too many
 * bytes never completes one.
 */
import { releaseChunk } from '../platform/release-chunk.ts'

export interface BodyRequest {
  readonly body: ReadableStream<Uint8Array> | null
  /** Bytes to pass over at the beginning. */
  readonly skip: number
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal
  /** Told before the client is waited for, and when it is not any more: a wait for the store is not its fault. */
  readonly onWait?: (isForClient: boolean) => void
}

/** `broken`: the connection ended before the body did. */
export type Ending = 'whole' | 'broken' | 'cut' | 'tooLong'

/** Hands the bytes on one chunk at a time, at most `missing` of them; stops at once when `cut` is aborted. */
export async function readBody(
  { body, skip, signal, onWait = () => {} }: BodyRequest,
  missing: number,
  cut: AbortSignal,
  take: (chunk: Uint8Array) => Promise<void>,
): Promise<Ending> {
  if (body === null) return 'whole'
  const reader = body.getReader()
  const waiting: Reader = {
    read: () => {
      onWait(true)
      return reader.read().finally(() => onWait(false))
    },
  }
  // A read that waits then resolves, as if the body had ended.
  const stop = () => void reader.cancel().catch(() => {})
  const signals = [signal, cut]
  for (const one of signals) one.addEventListener('abort', stop, { once: true })
  try {
    if (signals.some(({ aborted }) => aborted)) stop()
    const isWhole = await handOn(waiting, skip, missing, take)
    if (!isWhole) return 'tooLong'
    if (cut.aborted) return 'cut'
    return signal.aborted ? 'broken' : 'whole'
  } catch (error) {
    if (error instanceof BrokenBody) return cut.aborted ? 'cut' : 'broken'
    throw error
  } finally {
    for (const one of signals) one.removeEventListener('abort', stop)
    stop()
  }
}

interface Reader {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>
}

class BrokenBody extends Error {}

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
