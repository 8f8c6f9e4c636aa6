/**
 * Phases of an upload and the transitions between them (specification, "Upload phase"). Pure.
 *
 * Every statement that changes a phase takes its condition from `UPLOAD_EVENTS`.
 */
import type { AssetStatus } from '../../kernel/asset-status.ts'

export const PHASES = ['waiting', 'processing', 'encoding', 'ready', 'failed', 'cancelled'] as const
export type Phase = (typeof PHASES)[number]

export const UPLOAD_ERROR_CODES = ['upload_failed', 'upload_expired', 'processing_failed'] as const
export type UploadErrorCode = (typeof UPLOAD_ERROR_CODES)[number]

/** While an upload is in one of these phases, no other upload may be created for its recording. */
export const ACTIVE_PHASES = ['waiting', 'processing', 'encoding'] as const satisfies readonly Phase[]

interface Move {
  readonly from: readonly Phase[]
  readonly to: Phase
}

/** Each event with the phases it may start from and the phase it leads to. */
export const UPLOAD_EVENTS = {
  /** All bytes are stored. */
  complete: { from: ['waiting'], to: 'processing' },
  cancel: { from: ['waiting'], to: 'cancelled' },
  expire: { from: ['waiting'], to: 'failed' },
  /** An attempt to process begins. It may follow an attempt that died. */
  begin: { from: ['processing', 'encoding'], to: 'processing' },
  encode: { from: ['processing'], to: 'encoding' },
  ready: { from: ['processing', 'encoding'], to: 'ready' },
  /** The file is the cause. Processing it again would fail as well. */
  fail: { from: ['processing', 'encoding'], to: 'failed' },
  /** The cause lies elsewhere. The bytes are kept, and an operator may have them processed again. */
  giveUp: { from: ['processing', 'encoding'], to: 'failed' },
  processAgain: { from: ['failed'], to: 'processing' },
} as const satisfies Readonly<Record<string, Move>>

/** Events of processing. The code that processes the file changes the asset itself. */
export type ProcessingEvent = 'encode' | 'ready' | 'fail' | 'giveUp'

/** How long an upload waits for its next bytes. */
export const TIMEOUT_SECONDS = 3_600

/** Two requests for uploads of one recording are identical if these values are equal. */
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

/**
 * Asset statuses that permit a new upload. At `completed` the upload replaces the media. `waiting` without an upload
 * means that a recorder will bring the media.
 */
const FREE: readonly (AssetStatus | null)[] = [null, 'cancelled', 'failed', 'completed']

/** Whether an upload may be created. The recording has no active upload. */
export function mayUpload(asset: AssetStatus | null): boolean {
  return FREE.includes(asset)
}

/** Control characters, bidirectional controls, and zero-width characters that join nothing. */
const INVISIBLE = /[\p{Cc}\p{Bidi_Control}\u200b\u2060]/gu

/** Files of recorders, cameras and editors. What else stands behind a dot belongs to the name: `Meeting at 5.30pm`, `Call with J.Doe`. */
const EXTENSION = new RegExp(
  `\\.(?:${[
    ...[
      'mp4',
      'm4v',
      'mov',
      'qt',
      'webm',
      'mkv',
      'avi',
      'wmv',
      'asf',
      'flv',
      'mpg',
      'mpeg',
      'mpe',
      'mts',
      'm2ts',
      'ts',
      'vob',
    ],
    ...[
      '3gp',
      '3g2',
      'ogv',
      'mp3',
      'mp2',
      'mpga',
      'm4a',
      'm4b',
      'aac',
      'adts',
      'flac',
      'wav',
      'wave',
      'ogg',
      'oga',
      'opus',
    ],
    ...['spx', 'weba', 'mka', 'wma', 'aif', 'aiff', 'caf', 'amr', 'au', 'gsm', 'bin'],
  ].join('|')})$`,
  'i',
)

/**
 * The display name that an unnamed recording gets from its file: without path, extension and invisible characters.
 * null: nothing is left.
 */
export function displayNameOf(fileName: string): string | null {
  const base = fileName.split(/[/\\]/).findLast((part) => part.trim() !== '') ?? ''
  const name = base.replaceAll(/\s+/gu, ' ').replaceAll(INVISIBLE, '').trim().replace(EXTENSION, '').trim()
  return name === '' ? null : name
}

/** A serialized origin (RFC 6454 section 6.1), or `null`, which opaque origins send. */
const ORIGIN = /^(?:null|[a-z][a-z\d+.-]*:\/\/[^\s/?#@\\]{1,255})$/i

export function isOrigin(text: string): boolean {
  return ORIGIN.test(text)
}
