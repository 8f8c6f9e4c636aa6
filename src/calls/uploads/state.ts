/** The state of an upload as the HTTP dialects see it, and the errors of receiving. */
import type { Phase, UploadErrorCode } from './rules.ts'

/**
 * The durable state of an upload. An overdue upload is `failed` with `upload_expired`, even before that is written.
 */
export interface UploadState {
  readonly id: string
  /** null: the file is no media of a recording (`file-uploads.ts`). */
  readonly recordingId: string | null
  readonly phase: Phase
  /** Number of stored bytes. */
  readonly offset: number
  /** Size of the whole file in bytes. */
  readonly fileSize: number
  readonly fileName: string
  /** Origin of the page that created the upload. Only its scripts may read answers. null: no page created it. */
  readonly origin: string | null
  readonly expiresAt: Date
  readonly errorCode: UploadErrorCode | null
}

/** No upload has this token. */
export class UnknownUpload extends Error {
  override readonly name = 'UnknownUpload'
}

/** A newer request has taken over. Bytes stored before are kept. */
export class Superseded extends Error {
  override readonly name = 'Superseded'
}

/** The client sent too little for too long. Bytes received so far are kept. */
export class TooSlow extends Error {
  override readonly name = 'TooSlow'
}

/** Errors that carry the state of the upload. */
abstract class StateError extends Error {
  constructor(readonly state: UploadState) {
    super(`the upload ${state.id} is ${state.phase} at ${state.offset} of ${state.fileSize} bytes`)
  }
}

/** The request does not start at the stored offset. None of its bytes were stored. */
export class OffsetMismatch extends StateError {
  override readonly name = 'OffsetMismatch'
}

/** The request has more bytes than the upload still needs. */
export class UploadTooLarge extends StateError {
  override readonly name = 'UploadTooLarge'
}

/** The upload takes no more bytes: it has expired, was cancelled or has failed. */
export class UploadClosed extends StateError {
  override readonly name = 'UploadClosed'
}

/** The bytes do not match the checksum. None of them were stored. */
export class ChecksumMismatch extends StateError {
  override readonly name = 'ChecksumMismatch'
}

/** The upload is being processed, or has ended in another way. */
export class UploadNotCancellable extends StateError {
  override readonly name = 'UploadNotCancellable'
}
