/**
 * The bytes of a file to the URL of an upload, by tus 1.0 (https://tus.io/protocols/resumable-upload).
 *
 * The rule: how far the upload is, is what the server says. After every failure it is asked, and what follows is sent.
 */
import { ClientError, failureOf, Transient } from './failures.ts'
import { type Persistence, persist } from './persist.ts'
import type { SourceFile } from './source-file.ts'

const HEADERS = { 'tus-resumable': '1.0.0' }
const ANSWER_MS = 60_000
/** Without one chunk leaving, or without the answer to the last one. */
const STALL_MS = 90_000
const STALL_CHECK_MS = 5_000
/** Where something before the service takes no bodies as large as the rest of a file. */
const LARGEST_PIECE = 64 * 1024 * 1024
const SMALLEST_PIECE = 256 * 1024

export interface Sending extends Persistence {
  /** Bytes that have left, those included that an earlier run has sent. */
  readonly onSent: (bytes: number) => void
}

/**
 * Resolves when the server has all of it, durably.
 * @throws ClientError, such as `upload_expired`; the reason of the signal
 */
export async function sendFile(uploadUrl: string, file: SourceFile, sending: Sending): Promise<void> {
  let piece = Number.POSITIVE_INFINITY
  let furthest = 0
  await persist(async (progressed) => {
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

/** @throws ClientError where even the smallest is too large */
function smaller(piece: number): number {
  if (piece <= SMALLEST_PIECE)
    throw new ClientError('payload_too_large', 'something before the server takes no uploads')
  return Math.min(LARGEST_PIECE, piece / 4)
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
    throw new ClientError('file_changed', `the upload is of ${length} bytes, the file has ${file.size}`)
  return offsetOf(response)
}

interface Piece {
  readonly start: number
  readonly end: number
}

/** @returns the offset that the server has then, or that the body was too large for somebody on the way */
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
  // The service itself says what it speaks.
  if (response.status === 413 && !response.headers.has('tus-resumable')) return 'too large'
  // Somebody else has sent some of it meanwhile, such as an older request of this client that was still on its way.
  if (response.status === 409) throw new Transient('the server has another offset', null, true)
  throw await uploadFailureOf(response)
}

async function uploadFailureOf(response: Response): Promise<Error> {
  if (response.status === 404)
    return new ClientError('upload_gone', 'the server does not know the upload', 404)
  if (response.status === 410) return new ClientError('upload_expired', 'the upload has expired', 410)
  return failureOf(response, new Date())
}

function offsetOf({ headers }: Response): number {
  const value = headers.get('upload-offset') ?? ''
  if (/^\d{1,16}$/.test(value)) return Number(value)
  throw new ClientError(
    'not_tus',
    'the server does not say how far the upload is: is something between it and here?',
  )
}

/** Aborts where nothing has moved for too long: a connection may die without a word. */
function watchForStall() {
  const controller = new AbortController()
  let moved = performance.now()
  const timer = setInterval(() => {
    if (performance.now() - moved > STALL_MS) controller.abort(new Transient('nothing moves any more'))
  }, STALL_CHECK_MS)
  return {
    signal: controller.signal,
    touch() {
      moved = performance.now()
    },
    [Symbol.dispose]: () => clearInterval(timer),
  }
}
