/**
 * Headers and JSON that describe an upload, for each dialect.
 *
 * Only pages of the origin that created the upload can read the answers, errors included.
 */
import type { UploadState } from '../state.ts'

export const METHODS = 'DELETE, HEAD, OPTIONS, PATCH, PUT'

/** At least as long as an upload waits for bytes, so that a browser asks only once. */
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

/** CORS headers of every answer about an upload. `owner`: origin of the page that created it; null: no page did. */
export function corsHeaders(origin: string | null, owner: string | null): HeaderFields {
  if (owner === null || origin !== owner) return {}
  return { 'access-control-allow-origin': owner, 'access-control-expose-headers': EXPOSED }
}

/** Answer to a preflight by the owner. Clients that cannot send `PATCH` send `POST` with `X-HTTP-Method-Override`. */
export function preflightHeaders(origin: string | null, owner: string | null): HeaderFields {
  if (owner === null || origin !== owner) return {}
  return {
    'access-control-allow-methods': `${METHODS}, POST`,
    'access-control-allow-headers': REQUEST_HEADERS,
    'access-control-max-age': String(PREFLIGHT_SECONDS),
  }
}

/** All bytes are stored. The sender is not concerned with whether processing succeeds. */
export function isComplete(state: UploadState): boolean {
  return state.offset === state.fileSize && !isGone(state)
}

/**
 * The upload takes no more bytes and has discarded those received: cancelled, expired, or failed while bytes arrived.
 */
export function isGone({ phase, errorCode }: UploadState): boolean {
  return phase === 'cancelled' || (phase === 'failed' && errorCode !== 'processing_failed')
}

/** The current offset and expiry (tus 1.0.0, "Core" and "Expiration"). A complete upload no longer expires. */
export function offsetHeaders(state: UploadState): HeaderFields {
  return {
    'upload-offset': String(state.offset),
    ...(isComplete(state) ? {} : { 'upload-expires': state.expiresAt.toUTCString() }),
  }
}

/** `Range: bytes=0-41` for 42 stored bytes; no header for none. */
export function rangeHeaders({ offset }: UploadState): HeaderFields {
  return offset === 0 ? {} : { range: `bytes=0-${offset - 1}` }
}

/** The upload as JSON. The status operation has more members. */
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
