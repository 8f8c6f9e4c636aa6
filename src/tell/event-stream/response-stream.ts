/**
 * The body of one answer: text that is written only when the client has taken what was written before.
 *
 * So at most one piece waits in the process for a client, beside the buffers of its connection.
 */

/** Time that a client may take to read what was written. */
const TIMEOUT_MS = 30_000

export class SlowClient extends Error {
  override readonly name = 'SlowClient'
}

export interface ResponseStream {
  readonly body: ReadableStream<Uint8Array>
  /** Aborted when the client is gone, or `close` was called. */
  readonly ended: AbortSignal
  /** Waits until the client has taken what was written before. @throws SlowClient if that takes too long */
  write(text: string): Promise<void>
  /** Ends the answer after `last`. */
  close(last: string): void
}

export function createResponseStream(timeoutMs = TIMEOUT_MS): ResponseStream {
  const encoder = new TextEncoder()
  const ending = new AbortController()
  let wanted = Promise.withResolvers<boolean>()
  let output: ReadableStreamDefaultController<Uint8Array> | null = null
  ending.signal.addEventListener('abort', () => wanted.resolve(false))
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        output = controller
      },
      pull() {
        wanted.resolve(true)
      },
      cancel() {
        ending.abort()
      },
    },
    { highWaterMark: 1 },
  )
  return {
    body,
    ended: ending.signal,
    async write(text) {
      const timer = setTimeout(() => wanted.reject(new SlowClient('the client does not read')), timeoutMs)
      try {
        await wanted.promise
      } finally {
        clearTimeout(timer)
      }
      if (ending.signal.aborted) return
      wanted = Promise.withResolvers()
      output?.enqueue(encoder.encode(text))
    },
    close(last) {
      if (ending.signal.aborted) return
      ending.abort()
      output?.enqueue(encoder.encode(last))
      output?.close()
    },
  }
}
