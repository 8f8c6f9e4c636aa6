/**
 * Sends a file to an upload URL with tus 1.0 (https://tus.io/protocols/resumable-upload).
 *
 * The server's offset is authoritative. After every failure the client asks for it and continues from there.
 */
import { ClientError, failureOf, TransientError } from './failures.ts'
import { type RetryOptions, retryWithBackoff } from './retry.ts'
import type { SourceFile } from './source-file.ts'

const HEADERS = { 'tus-resumable': '1.0.0' }
const ANSWER_MS = 60_000
/** Time without a chunk leaving, or without the answer after the last one. */
const STALL_MS = 90_000
const STALL_CHECK_MS = 5_000
/** Sizes to try if a proxy in front of the service limits request bodies. */
const LARGEST_PIECE = 64 * 1024 * 1024
const SMALLEST_PIECE = 512

export interface Sending extends RetryOptions {
  /** Bytes sent so far, including those of earlier runs. */
  readonly onSent: (bytes: number) => void
}

/**
 * Resolves once the server has stored the whole file durably.
 * @throws ClientError, such as `upload_expired`; the reason of the signal
 */
export async function sendFile(uploadUrl: string, file: SourceFile, sending: Sending): Promise<void> {
  let piece = Number.POSITIVE_INFINITY
  let furthest = 0
  await retryWithBackoff(async (progressed) => {
    let offset = await askOffset(uploadUrl, file, sending.signal)
    for (;;) {
      sending.onSent(offset)
      if (offset > furthest) progressed()
      furthest = Math.max(furthest, offset)
      if (offset >= file.size) return
      const reached = await sendPiece(
        uploadUrl,
        file,
        { start: offset, end: Math.min(file.size, offset + piece) },
        sending,
      )
      if (reached === 'too large') piece = smaller(Math.min(piece, file.size - offset))
      else offset = reached
    }
  }, sending)
}

/** A whole number of bytes, whatever the size of the file. @throws ClientError if a proxy refuses even the smallest piece */
function smaller(piece: number): number {
  if (piece <= SMALLEST_PIECE)
    throw new ClientError('payload_too_large', 'a proxy in front of the server refuses uploads')
  return Math.min(LARGEST_PIECE, Math.max(SMALLEST_PIECE, Math.floor(piece / 4)))
}

async function askOffset(uploadUrl: string, file: SourceFile, signal: AbortSignal): Promise<number> {
  const response = await fetch(uploadUrl, {
    method: 'HEAD',
    headers: HEADERS,
    redirect: 'manual',
    signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]),
  })
  if (!response.ok) throw await uploadFailureOf(response)
  const length = response.headers.get('upload-length')
  if (length !== null && Number(length) !== file.size)
    throw new ClientError('file_changed', `the upload has ${length} bytes, but the file has ${file.size}`)
  return offsetOf(response)
}

interface Piece {
  readonly start: number
  readonly end: number
}

/** @returns the server's offset afterwards, or 'too large' if a proxy refused the body */
async function sendPiece(
  uploadUrl: string,
  file: SourceFile,
  { start, end }: Piece,
  { signal, onSent }: Sending,
): Promise<number | 'too large'> {
  using watch = watchForStall()
  const response = await fetch(uploadUrl, {
    method: 'PATCH',
    headers: {
      ...HEADERS,
      'content-type': 'application/offset+octet-stream',
      'content-length': String(end - start),
      'upload-offset': String(start),
    },
    body: file.read(start, end, (offset) => {
      watch.touch()
      onSent(offset)
    }),
    redirect: 'manual',
    signal: AbortSignal.any([signal, watch.signal]),
  })
  if (response.ok) return offsetOf(response)
  // The service's own answers carry `Tus-Resumable`; a proxy's do not.
  if (response.status === 413 && !response.headers.has('tus-resumable')) return 'too large'
  // Another request sent some of these bytes, such as an older request of this client.
  if (response.status === 409) throw new TransientError('the server has another offset', null, true)
  throw await uploadFailureOf(response)
}

async function uploadFailureOf(response: Response): Promise<Error> {
  if (response.status === 404)
    return new ClientError('upload_gone', 'the server does not know this upload', 404)
  if (response.status === 410) return new ClientError('upload_expired', 'the upload has expired', 410)
  return failureOf(response, new Date())
}

function offsetOf({ headers }: Response): number {
  const value = headers.get('upload-offset') ?? ''
  if (/^\d{1,16}$/.test(value)) return Number(value)
  throw new ClientError(
    'not_tus',
    'the server did not state the offset of the upload; a proxy may have answered',
  )
}

/** Aborts if nothing has moved for too long, because a connection may die silently. */
function watchForStall() {
  const controller = new AbortController()
  let moved = performance.now()
  const timer = setInterval(() => {
    if (performance.now() - moved > STALL_MS)
      controller.abort(new TransientError('no data was transferred for too long'))
  }, STALL_CHECK_MS)
  return {
    signal: controller.signal,
    touch() {
      moved = performance.now()
    },
    [Symbol.dispose]: () => clearInterval(timer),
  }
}
