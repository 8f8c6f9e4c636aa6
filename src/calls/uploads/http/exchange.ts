/** One request about one upload, and the errors that all dialects share. */
import { AppError } from '../../../platform/errors.ts'
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
import type { ReceiveRequest, UploadReceiver } from '../upload-receiver.ts'
import { isGone, offsetHeaders } from './answer.rules.ts'

export interface Exchange {
  readonly request: Request
  /** The upload when the request arrived. A request that is sending bytes may have changed it since. */
  readonly found: UploadRow
  /** Bytes of the body; null if the client does not state them (`Transfer-Encoding: chunked`). */
  readonly length: number | null
  /**
   * The body, for a handler that reads it completely. If no handler takes it, the connection may be closed after the
   * answer.
   */
  readonly takeBody: () => Pick<ReceiveRequest, 'body' | 'signal' | 'onWait'>
  readonly uploadReceiver: UploadReceiver
}

/** The client retries after this time and then reads the state of the upload. */
const RETRY_SECONDS = '1'

/** @returns the state @throws AppError if the upload is missing or takes no more bytes */
export function assertOpen(state: UploadState | null): UploadState {
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

/** 400: the request states another file size than the upload was created with. */
export function wrongLength(message: string): AppError {
  return new AppError('upload_length_mismatch', message)
}

/** 413 */
export function tooLarge({ offset, fileSize }: UploadState): AppError {
  return new AppError(
    'upload_too_large',
    `The request has more bytes than the ${fileSize - offset} of ${fileSize} that are missing.`,
    { extra: { limitBytes: fileSize - offset } },
  )
}

/** 503 */
export function busy(message: string): AppError {
  return new AppError('upload_busy', message, { headers: { 'retry-after': RETRY_SECONDS } })
}

/** 503 instead of 408: tus clients treat any 4xx as final, but this client should resume on a better connection. */
function tooSlow(): AppError {
  const message =
    'The client sent too slowly. Bytes received so far are kept: ask for the offset and continue from there.'
  return new AppError('upload_too_slow', message, {
    headers: { 'retry-after': RETRY_SECONDS, connection: 'close' },
  })
}

/** Maps errors of the upload receiver to API errors. Returns any other error unchanged. */
export function toAppError(error: unknown): unknown {
  if (error instanceof UnknownUpload) return unknownUpload()
  if (error instanceof UploadClosed) return closed(error.state)
  if (error instanceof UploadTooLarge) return tooLarge(error.state)
  if (error instanceof Superseded)
    return busy('A newer request sends bytes of this upload. Bytes stored before are kept.')
  if (error instanceof TooSlow) return tooSlow()
  if (error instanceof OffsetMismatch) return offsetMismatch(error.state)
  if (error instanceof ChecksumMismatch)
    return new AppError('upload_checksum_mismatch', 'The bytes do not match Upload-Checksum. None were kept.')
  if (error instanceof UploadNotCancellable)
    return new AppError('upload_not_cancellable', 'All bytes have arrived and the upload is being processed.')
  return error
}

/** 409 */
export function offsetMismatch(state: UploadState): AppError {
  return new AppError('upload_offset_mismatch', `The upload continues at byte ${state.offset}.`, {
    headers: offsetHeaders(state),
    extra: { offset: state.offset },
  })
}
