/**
 * What an upload looks like from outside: where it stands, and how each dialect is told.
 *
 * The rule: every answer can be read by pages of the one origin that created the upload, errors included, and by no other page.
 */
import type { UploadState } from '../state.ts'

export const METHODS = 'DELETE, HEAD, OPTIONS, PATCH, PUT'

/** As long as an upload waits for bytes at least: a browser need not ask again meanwhile. */
const PREFLIGHT_SECONDS = 3600

const REQUEST_HEADERS = [
  'Content-Range',
  'Content-Type',
  'Tus-Resumable',
  'Upload-Checksum',
  'Upload-Length',
  'Upload-Metadata',
  'Upload-Offset',
  'X-HTTP-Method-Override',
  'X-Request-ID',
  'X-Requested-With',
].join(', ')

const EXPOSED = [
  'Location',
  'Range',
  'Retry-After',
  'Tus-Checksum-Algorithm',
  'Tus-Extension',
  'Tus-Max-Size',
  'Tus-Resumable',
  'Tus-Version',
  'Upload-Expires',
  'Upload-Length',
  'Upload-Offset',
  'X-Request-Id',
].join(', ')

type HeaderFields = Readonly<Record<string, string>>

/** Of every answer about an upload that a page of `owner` created; null: no page did. */
export function corsHeaders(origin: string | null, owner: string | null): HeaderFields {
  if (owner === null || origin !== owner) return {}
  return { 'access-control-allow-origin': owner, 'access-control-expose-headers': EXPOSED }
}

/** Of the answer to a preflight by that owner. Clients that may not send `PATCH` send `POST` and say what they mean. */
export function preflightHeaders(origin: string | null, owner: string | null): HeaderFields {
  if (owner === null || origin !== owner) return {}
  return {
    'access-control-allow-methods': `${METHODS}, POST`,
    'access-control-allow-headers': REQUEST_HEADERS,
    'access-control-max-age': String(PREFLIGHT_SECONDS),
  }
}

/** Every byte is there. What is made of them afterwards, or that nothing could be, is not the business of who sent them. */
export function isComplete(state: UploadState): boolean {
  return state.offset === state.fileSize && !isGone(state)
}

/** Takes no more bytes and has no use for those that came: cancelled, expired, or failed while they came. */
export function isGone({ phase, errorCode }: UploadState): boolean {
  return phase === 'cancelled' || (phase === 'failed' && errorCode !== 'processing_failed')
}

/** Where the client stands (tus 1.0.0, "Core" and "Expiration"). What is complete does not expire any more. */
export function offsetHeaders(state: UploadState): HeaderFields {
  return {
    'upload-offset': String(state.offset),
    ...(isComplete(state) ? {} : { 'upload-expires': state.expiresAt.toUTCString() }),
  }
}

/** `Range: bytes=0-41` where 42 bytes are there; none where nothing is. */
export function rangeHeaders({ offset }: UploadState): HeaderFields {
  return offset === 0 ? {} : { range: `bytes=0-${offset - 1}` }
}

/** The upload as JSON; what the status operation says besides is asked for there. */
export function representation(state: UploadState): Readonly<Record<string, unknown>> {
  return {
    uploadId: state.id,
    recordingId: state.recordingId,
    phase: state.phase,
    fileName: state.fileName,
    fileSize: state.fileSize,
    expiresAt: state.expiresAt.toISOString(),
    errorCode: state.errorCode,
  }
}
