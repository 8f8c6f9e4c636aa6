/**
 * How an upload moves (specification, "Upload phase"). Pure.
 *
 * The rule: a phase changes along this table only, which is the condition of every statement that moves one.
 */
import type { AssetStatus } from '../recordings/model.ts'

export const PHASES = ['waiting', 'processing', 'encoding', 'ready', 'failed', 'cancelled'] as const
export type Phase = (typeof PHASES)[number]

export const UPLOAD_ERROR_CODES = ['upload_failed', 'upload_expired', 'processing_failed'] as const
export type UploadErrorCode = (typeof UPLOAD_ERROR_CODES)[number]

/** In these a recording's media is taken: no other upload may be created for it. */
export const ACTIVE_PHASES = ['waiting', 'processing', 'encoding'] as const satisfies readonly Phase[]

interface Move {
  readonly from: readonly Phase[]
  readonly to: Phase
}

/** Event → the phases that it may come from, and the one that it leads to. */
export const UPLOAD_EVENTS = {
  /** All bytes are there. */
  complete: { from: ['waiting'], to: 'processing' },
  cancel: { from: ['waiting'], to: 'cancelled' },
  expire: { from: ['waiting'], to: 'failed' },
  /** An attempt to process begins, whatever an earlier one that died has left. */
  begin: { from: ['processing', 'encoding'], to: 'processing' },
  encode: { from: ['processing'], to: 'encoding' },
  ready: { from: ['processing', 'encoding'], to: 'ready' },
  /** The file is why: nothing would become of it. */
  fail: { from: ['processing', 'encoding'], to: 'failed' },
  /** The file is not why: what came is kept, and an operator may have it processed again. */
  giveUp: { from: ['processing', 'encoding'], to: 'failed' },
  processAgain: { from: ['failed'], to: 'processing' },
} as const satisfies Readonly<Record<string, Move>>

export type UploadEvent = keyof typeof UPLOAD_EVENTS

/** Of those, what is about bytes that arrive; they move the asset of the recording, too. */
export type ArrivalEvent = 'complete' | 'cancel' | 'expire'
/** The others, of whoever processes the file: the asset is moved by that one. */
export type ProcessingEvent = 'encode' | 'ready' | 'fail' | 'giveUp'

/** What an event of arriving bytes makes of the asset. */
export const ASSET_AFTER: Readonly<Record<ArrivalEvent, AssetStatus>> = {
  complete: 'processing',
  cancel: 'cancelled',
  expire: 'failed',
}

/** How long an upload waits for its next bytes. */
export const TIMEOUT_SECONDS = 3_600

/** What makes two requests for an upload of one recording the same request. */
export interface UploadIdentity {
  readonly fileName: string
  readonly fileSize: number
  readonly source: string
  readonly folderId: string | null
  readonly batchId: string | null
}

export function isSameUpload(one: UploadIdentity, other: UploadIdentity): boolean {
  return (
    one.fileName === other.fileName &&
    one.fileSize === other.fileSize &&
    one.source === other.source &&
    one.folderId === other.folderId &&
    one.batchId === other.batchId
  )
}

/** Where an upload may begin: at `completed` it replaces the media. `waiting` without an upload is media that a recorder brings. */
const FREE: readonly (AssetStatus | null)[] = [null, 'cancelled', 'failed', 'completed']

/** Of a recording without an active upload. */
export function mayUpload(asset: AssetStatus | null): boolean {
  return FREE.includes(asset)
}

/** Control characters, those that turn the direction of what stands around them, and those without a width that join nothing. */
const UNSEEN = /[\p{Cc}\p{Bidi_Control}\u200b\u2060]/gu

/** Such as `.mp4` and `.m4a`, but not the end of `Release 1.2` or of `Call with Dr. Smith`. */
const EXTENSION = /\.(?!\d+$)[a-z\d]{2,4}$/i

/**
 * What a recording without a name is called when it gets its media from a file of this name: without path, extension and what
 * nobody sees. null: nothing is left.
 */
export function displayNameOf(fileName: string): string | null {
  const base = fileName.split(/[/\\]/).findLast((part) => part.trim() !== '') ?? ''
  const name = base.replaceAll(/\s+/gu, ' ').replaceAll(UNSEEN, '').trim().replace(EXTENSION, '').trim()
  return name === '' ? null : name
}

/** A serialized origin (RFC 6454 section 6.1), or `null` of a page that has none to show. */
const ORIGIN = /^(?:null|[a-z][a-z\d+.-]*:\/\/[^\s/?#@\\]{1,255})$/i

export function isOrigin(text: string): boolean {
  return ORIGIN.test(text)
}
