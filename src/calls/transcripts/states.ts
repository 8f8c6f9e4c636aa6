/** The states of a transcript, and where it comes from. */
export const TRANSCRIPT_STATUSES = ['waiting', 'queued', 'processing', 'completed', 'failed'] as const
export type TranscriptStatus = (typeof TRANSCRIPT_STATUSES)[number]

/** Why a transcript has `failed`. */
export const TRANSCRIPT_ERRORS = ['audio_unreadable', 'transcriber_refused', 'transcriber_failed'] as const
export type TranscriptError = (typeof TRANSCRIPT_ERRORS)[number]

/** What a `waiting` transcript waits for. */
export const AWAITED = ['media', 'transcriber'] as const
export type Awaited = (typeof AWAITED)[number]

export const TRANSCRIPT_SOURCES = ['api', 'automatic'] as const
export type TranscriptSource = (typeof TRANSCRIPT_SOURCES)[number]
