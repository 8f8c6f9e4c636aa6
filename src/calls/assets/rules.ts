/**
 * Status of a recording's asset (specification, "Recording asset status"). Pure.
 *
 * Every statement that changes the status takes its condition from `ASSET_EVENTS`.
 */
import type { AssetStatus } from '../../kernel/asset-status.ts'

/** Stable codes of `asset.errorCode`. */
export type AssetErrorCode =
  | 'url_unreachable'
  | 'url_forbidden'
  | 'url_not_found'
  | 'url_not_allowed'
  | 'too_many_redirects'
  | 'media_too_large'
  | 'media_empty'
  | 'unsupported_media_type'
  | 'transfer_timeout'
  | 'upload_failed'
  | 'upload_expired'
  | 'processing_failed'
  | 'join_timeout'
  | 'waiting_room_timeout'
  | 'meeting_not_found'
  | 'recorder_failed'
  | 'quota_exceeded'

const UNDER_WAY = ['queued', 'uploading', 'processing'] as const
const AWAITS_UPLOAD = ['waiting', 'uploading'] as const

interface Transition {
  readonly from: readonly AssetStatus[]
  readonly to: AssetStatus
}

/** Each event with the statuses it may start from and the status it leads to. */
export const ASSET_EVENTS = {
  /** The first bytes of an upload arrive. */
  uploadBegins: { from: ['waiting'], to: 'uploading' },
  uploadCompletes: { from: AWAITS_UPLOAD, to: 'processing' },
  uploadIsCancelled: { from: AWAITS_UPLOAD, to: 'cancelled' },
  uploadExpires: { from: AWAITS_UPLOAD, to: 'failed' },
  /** The recorder of a meeting brings no media. */
  recorderFails: { from: ['waiting'], to: 'failed' },
  recorderIsCancelled: { from: ['waiting'], to: 'cancelled' },
  /** An attempt begins. It may follow an attempt that died. */
  begin: { from: UNDER_WAY, to: 'queued' },
  firstByte: { from: ['queued'], to: 'uploading' },
  lastByte: { from: ['uploading'], to: 'processing' },
  publish: { from: ['processing'], to: 'completed' },
  /** A new file replaces media that plays. Until now the old media was shown. */
  replace: { from: ['completed'], to: 'completed' },
  /** A failure that another attempt may not have. */
  retry: { from: UNDER_WAY, to: 'queued' },
  /** The media or its origin is the cause. */
  fail: { from: UNDER_WAY, to: 'failed' },
  /** The cause lies elsewhere. An operator can have it retried. */
  giveUp: { from: UNDER_WAY, to: 'failed' },
  fetchAgain: { from: ['failed'], to: 'queued' },
  processAgain: { from: ['failed', 'cancelled'], to: 'processing' },
} as const satisfies Readonly<Record<string, Transition>>

export type AssetEvent = keyof typeof ASSET_EVENTS

/** After these events the URL, which may contain a secret, is no longer needed. */
const ENDS: readonly AssetEvent[] = ['publish', 'replace', 'fail']

export function keepsUrl(event: AssetEvent): boolean {
  return !ENDS.includes(event)
}
