/**
 * What a transcript changes in its recording: its status, its source and the automatic summary. Transcription and
 * transcripts use it, always in their own transaction. A transcript or summary supplied by the caller is never changed.
 */
import type { Query, Tx } from '../../platform/db/pool.ts'
import * as store from './status.store.ts'

export type { Subject, Transcription, TranscriptionEnd, Untranscribed } from './status.store.ts'

/**
 * waiting | failed → queued.
 * @returns false if the recording has no published media, or has a transcript, or one is being created
 */
export function queueTranscription(
  tx: Tx,
  recording: store.Subject,
  from: store.Untranscribed,
): Promise<boolean> {
  return store.queueTranscription(tx, recording, from)
}

/** Begins an attempt, whatever an earlier one left. @returns null if no transcript is awaited */
export function beginTranscription(tx: Tx, recordingId: string): Promise<store.Transcription | null> {
  return store.beginTranscription(tx, recordingId)
}

/**
 * Ends an attempt: completed, failed, or back to the queue.
 * @returns false if the transcript is no longer awaited, or other media has replaced the transcribed media
 */
export function endTranscription(
  tx: Tx,
  transcription: Pick<store.Transcription, keyof store.Subject | 'objectKey'>,
  outcome: store.TranscriptionEnd,
): Promise<boolean> {
  return store.endTranscription(tx, transcription, outcome)
}

/**
 * The recorder of a meeting has made the transcript, which the caller writes.
 * @returns false if the recording has one, or one is being created
 */
export function completeByRecorder(tx: Tx, recording: store.Subject): Promise<boolean> {
  return store.completeByRecorder(tx, recording)
}

/**
 * Makes a completed or failed automatic transcript wait again, without its automatic summary. The caller deletes the
 * utterances. @returns false if there is nothing to reset, or the caller supplied the transcript
 */
export function resetAutomaticTranscript(tx: Tx, recording: store.Subject): Promise<boolean> {
  return store.resetAutomaticTranscript(tx, recording)
}

/** Ids of the recordings of the organization with published media but without a transcript, oldest first. */
export async function untranscribedRecordings(
  query: Query,
  organizationId: string,
  statuses: readonly store.Untranscribed[],
): Promise<readonly string[]> {
  const rows = await store.listUntranscribed(query, organizationId, statuses)
  return rows.map(({ id }) => id)
}

/** Until the transaction ends, the transcript is not replaced. @returns false if the recording was deleted */
export function keepTranscript(tx: Tx, recording: store.Subject): Promise<boolean> {
  return store.lockForTranscript(tx, recording)
}

/**
 * Until the transaction ends, the recording is not deleted.
 * @returns its organization and who wrote the summary; null if it was deleted
 */
export function findSummarized(tx: Tx, recordingId: string): Promise<store.Summarized | null> {
  return store.findSummarized(tx, recordingId)
}

/** The words have changed in place. The caller has the transcript summarised again. */
export function outdateSummary(tx: Tx, recording: store.Subject): Promise<void> {
  return store.outdateSummary(tx, recording)
}

/**
 * Stores the automatic summary of the words of this version; null removes an earlier one, which was created from another transcript. Does
 * nothing if the words have changed since.
 */
export function saveSummary(
  tx: Tx,
  recording: store.Subject,
  wordsVersion: number,
  summary: string | null,
): Promise<void> {
  return store.saveSummary(tx, recording, wordsVersion, summary)
}

/** Whether one of the recordings has media that is being processed, or a transcript that is being made. */
export function isTranscriptAwaited(
  query: Query,
  organizationId: string,
  recordingIds: readonly string[],
): Promise<boolean> {
  return store.isTranscriptAwaited(query, organizationId, recordingIds)
}

/** Until the transaction ends, the recordings are not changed. */
export function keepRecordings(
  tx: Tx,
  organizationId: string,
  recordingIds: readonly string[],
): Promise<void> {
  return store.lockRecordings(tx, organizationId, recordingIds)
}
