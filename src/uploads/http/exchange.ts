/** One request about one upload, on its way through a dialect. */
import { AppError } from '../../platform/errors.ts'
import type { ReceiveRequest, Receiving } from '../receiving.ts'
import {
  ChecksumMismatch,
  OffsetMismatch,
  Superseded,
  TooSlow,
  UnknownUpload,
  UploadClosed,
  UploadNotCancellable,
  type UploadState,
  UploadTooLarge,
} from '../state.ts'
import type { UploadRow } from '../store.ts'
import { isGone, offsetHeaders } from './answer.rules.ts'

export interface Exchange {
  readonly request: Request
  /** As it was when the request came; whoever is sending bytes may have moved it since. */
  readonly found: UploadRow
  /** Of the body, bytes; null where the client does not say (`Transfer-Encoding: chunked`). */
  readonly length: number | null
  /** The body, for whoever reads it to its end; where nobody asks, the connection may be closed behind the answer. */
  readonly takeBody: () => Pick<ReceiveRequest, 'body' | 'signal' | 'onWait'>
  readonly receiving: Receiving
}

/** A client that is told so tries again, and finds out where the upload stands by then. */
const RETRY_SECONDS = '1'

/** The state, or the refusal of an upload that is not there any more. */
export function present(state: UploadState | null): UploadState {
  if (state === null) throw unknownUpload()
  if (isGone(state)) throw closed(state)
  return state
}

export function unknownUpload(): AppError {
  return new AppError('upload_not_found', 'There is no upload at this address.')
}

function closed(state: UploadState): AppError {
  const reason = state.errorCode === 'upload_expired' ? 'has expired' : `is ${state.phase}`
  return new AppError('upload_closed', `The upload ${reason} and takes no more bytes.`)
}

/** 400: what the request says of the size of the file is not what the upload was created with. */
export function wrongLength(message: string): AppError {
  return new AppError('upload_length_mismatch', message)
}

/** 413 */
export function tooLarge({ offset, fileSize }: UploadState): AppError {
  return new AppError(
    'upload_too_large',
    `The request has more bytes than the ${fileSize - offset} that are missing of ${fileSize}.`,
    { extra: { limitBytes: fileSize - offset } },
  )
}

/** 503 */
export function busy(message: string): AppError {
  return new AppError('upload_busy', message, { headers: { 'retry-after': RETRY_SECONDS } })
}

/** 503, not 408: tus clients take what is 4xx for final, and this one is to go on when its line is better. */
function tooSlow(): AppError {
  const message =
    'Too few bytes came for too long. What had come is kept: ask where the upload stands, and go on.'
  return new AppError('upload_too_slow', message, {
    headers: { 'retry-after': RETRY_SECONDS, connection: 'close' },
  })
}

/** What the failures of receiving are to a client; any other error as it is. */
export function translated(error: unknown): unknown {
  if (error instanceof UnknownUpload) return unknownUpload()
  if (error instanceof UploadClosed) return closed(error.state)
  if (error instanceof UploadTooLarge) return tooLarge(error.state)
  if (error instanceof Superseded)
    return busy('Another request sends bytes of this upload by now. What had come before is kept.')
  if (error instanceof TooSlow) return tooSlow()
  if (error instanceof OffsetMismatch) return offsetMismatch(error.state)
  if (error instanceof ChecksumMismatch)
    return new AppError('upload_checksum_mismatch', 'The bytes do not match Upload-Checksum; none were kept.')
  if (error instanceof UploadNotCancellable)
    return new AppError('upload_not_cancellable', 'Every byte has come: the upload is being processed.')
  return error
}

/** 409 */
export function offsetMismatch(state: UploadState): AppError {
  return new AppError('upload_offset_mismatch', `The upload goes on at byte ${state.offset}.`, {
    headers: offsetHeaders(state),
    extra: { offset: state.offset },
  })
}
