/** Whether a conversation, a feedback record or a recording was read, and why not. Pure. The triggers of migration 0119 count the same. */
import type { SubjectRow } from './findings.store.ts'

export const READ_STATES = ['read', 'waiting', 'not_read'] as const
export const UNREAD_REASONS = ['language', 'no_words', 'capture_disabled', 'billing'] as const
export type UnreadReason = (typeof UNREAD_REASONS)[number]

export interface Analysis {
  readonly state: (typeof READ_STATES)[number]
  /** Why it was not read. Null otherwise, and if the analysis failed. */
  readonly reason: UnreadReason | null
  /** Who read it last. */
  readonly analyzer: string | null
  readonly version: string | null
}

/** What is stored of its analysis. */
export interface ReadSubject {
  readonly state: SubjectRow['state']
  /** Empty: not analysed yet. */
  readonly analyzer: string
  readonly version: string
}

const REASONS: Readonly<Partial<Record<SubjectRow['state'], UnreadReason>>> = {
  not_supported: 'language',
  no_words: 'no_words',
}

/**
 * @param subject null: it was never analysed
 * @param unread why nothing of it is read, whatever was read before
 */
export function analysisOf(subject: ReadSubject | null, unread: UnreadReason | null = null): Analysis {
  const { state = 'pending', analyzer, version } = subject ?? {}
  const by = { analyzer: analyzer || null, version: version || null }
  if (unread !== null) return { state: 'not_read', reason: unread, ...by }
  if (state === 'pending') return { state: 'waiting', reason: null, ...by }
  if (state === 'analyzed') return { state: 'read', reason: null, ...by }
  return { state: 'not_read', reason: REASONS[state] ?? null, ...by }
}

/** Of a session with this processing status. */
export function unreadSession(processingStatus: string): UnreadReason | null {
  if (processingStatus === 'capture_disabled') return 'capture_disabled'
  return processingStatus === 'billing_blocked' ? 'billing' : null
}

const NO_MEDIA: ReadonlySet<string | null> = new Set([null, 'completed', 'failed', 'cancelled'])

/** Of a recording that has no transcript, and for which none is coming. */
export function unreadRecording(transcript: string, asset: string | null): UnreadReason | null {
  const isComing = transcript !== 'failed' && !(transcript === 'waiting' && NO_MEDIA.has(asset))
  return isComing ? null : 'no_words'
}
