/** What the dialects of HTTP know of an upload, and how receiving it can fail. */
import type { Phase, UploadErrorCode } from './rules.ts'

/** An upload as it is durably; one that is overdue has failed with `upload_expired`, whether or not that was written yet. */
export interface UploadState {
  readonly id: string
  readonly recordingId: string
  readonly phase: Phase
  /** Bytes that are stored. */
  readonly offset: number
  /** Bytes of the whole. */
  readonly fileSize: number
  readonly fileName: string
  /** Of the page that created it, the only one whose scripts may read answers; null: none. */
  readonly origin: string | null
  readonly expiresAt: Date
  readonly errorCode: UploadErrorCode | null
}

/** Nothing is there under this token. */
export class UnknownUpload extends Error {
  override readonly name = 'UnknownUpload'
}

/** A newer request has taken over; what was stored before is kept. */
export class Superseded extends Error {
  override readonly name = 'Superseded'
}

/** The client has sent so little for so long that it was not waited for any more; what had come is kept. */
export class TooSlow extends Error {
  override readonly name = 'TooSlow'
}

/** Failures that say where the upload stands. */
abstract class StateError extends Error {
  constructor(readonly state: UploadState) {
    super(`the upload ${state.id} is ${state.phase} at ${state.offset} of ${state.fileSize} bytes`)
  }
}

/** The request does not go on where the upload stands; nothing of it was taken. */
export class OffsetMismatch extends StateError {
  override readonly name = 'OffsetMismatch'
}

/** The request has more bytes than are missing. */
export class UploadTooLarge extends StateError {
  override readonly name = 'UploadTooLarge'
}

/** No bytes are awaited any more: expired, cancelled or failed. */
export class UploadClosed extends StateError {
  override readonly name = 'UploadClosed'
}

/** The bytes are not those that the checksum is of; nothing of them was taken. */
export class ChecksumMismatch extends StateError {
  override readonly name = 'ChecksumMismatch'
}

/** It is processed by now, or has ended in another way. */
export class UploadNotCancellable extends StateError {
  override readonly name = 'UploadNotCancellable'
}
