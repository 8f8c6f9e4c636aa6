/**
 * Sends a file to the upload URL of a recording (tus 1.0, https://tus.io/protocols/resumable-upload). The server's offset counts: after
 * every failure it is asked for, and only what is missing is sent.
 */
import { isRetryable, waitMs } from './retry.rules.ts'
import { EarshotError, type Fetch } from './sender.ts'

/** How to send a file, and how long to try. */
export interface UploadOptions {
  readonly signal?: AbortSignal
  /** Gets the bytes that the service has. */
  readonly onProgress?: (bytes: number) => void
  /** Failures in a row without progress after which to give up. Default: 10. */
  readonly attempts?: number
  readonly fetch?: Fetch
}

const TUS = { 'tus-resumable': '1.0.0' }
/** Bytes of one request. */
const PIECE = 8 * 1024 * 1024

/**
 * Resolves when the service has every byte. It may be called again with the same URL after any failure.
 * @param uploadUrl `uploadUrl` of the answer that created the upload
 * @throws EarshotError; the reason of the signal
 */
export async function uploadFile(uploadUrl: string, file: Blob, options: UploadOptions = {}): Promise<void> {
  const { signal, onProgress, attempts = 10 } = options
  let [failures, furthest] = [0, -1]
  for (;;) {
    signal?.throwIfAborted()
    const { offset, error, retryAfter } = await step(uploadUrl, file, furthest, options)
    if (error === null) {
      if (offset > furthest) {
        failures = 0
        onProgress?.(offset)
      }
      furthest = offset
      if (offset >= file.size) return
      continue
    }
    signal?.throwIfAborted()
    const { status, code } = error
    // 409: another request has sent some of these bytes.
    if (!(isRetryable(status, code) || status === 409) || ++failures >= attempts) throw error
    furthest = -1
    await new Promise((resolve) =>
      setTimeout(resolve, waitMs(failures, retryAfter, Date.now(), Math.random())),
    )
  }
}

/** Asks for the offset where it is unknown (-1), else sends a piece from it. */
async function step(uploadUrl: string, file: Blob, from: number, { signal, fetch: own }: UploadOptions) {
  const init: RequestInit =
    from < 0
      ? { method: 'HEAD', headers: TUS }
      : {
          method: 'PATCH',
          headers: {
            ...TUS,
            'content-type': 'application/offset+octet-stream',
            'upload-offset': String(from),
          },
          body: file.slice(from, from + PIECE),
        }
  try {
    const limit = AbortSignal.timeout(120_000)
    const request = { ...init, signal: signal === undefined ? limit : AbortSignal.any([signal, limit]) }
    const response = await (own ?? fetch)(uploadUrl, request)
    await response.arrayBuffer()
    const stated = response.headers.get('upload-offset') ?? ''
    if (response.ok && /^\d{1,16}$/.test(stated))
      return { offset: Number(stated), error: null, retryAfter: null }
    const message = response.ok ? 'the answer states no offset' : `the service answered ${response.status}`
    const error = new EarshotError(message, 'upload_failed', response.ok ? 502 : response.status)
    return { offset: -1, error, retryAfter: response.headers.get('retry-after') }
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unknown'
    return { offset: -1, error: new EarshotError(`no answer: ${reason}`, 'network'), retryAfter: null }
  }
}
