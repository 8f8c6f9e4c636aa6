/**
 * The SQL of what a transcript changes in its recording: its status, its source and the automatic summary.
 *
 * A transcript supplied by a caller is never changed. Every statement that changes the status of a transcript names the
 * statuses it may start from, and requires that the transcript has no other source.
 */
import type { Query, Tx } from '../../platform/db/pool.ts'
import type { TranscriptError } from './states.ts'

/** The recording of the transcript. */
export interface Subject {
  readonly organizationId: string
  readonly recordingId: string
}

/** Statuses in which a transcript may be requested. */
export type Untranscribed = 'waiting' | 'failed'

/** How an attempt ends. */
export type TranscriptionEnd = 'completed' | 'queued' | 'waiting' | { readonly failed: TranscriptError }

/** With the media that is played, which is what gets transcribed. */
export interface Transcription extends Subject {
  readonly objectKey: string
  readonly contentType: string
  readonly isAudio: boolean
  readonly durationSeconds: number | null
}

/** waiting | failed → queued. @returns false if the recording has a transcript, or one is being created */
export async function queueTranscription(
  tx: Tx,
  { organizationId, recordingId }: Subject,
  from: Untranscribed,
): Promise<boolean> {
  const { count } = await tx`
    update recording
    set transcript_status = 'queued', updated_at = now()
    where organization_id = ${organizationId}
      and id = ${recordingId}
      and transcript_status = ${from}
      and transcript_source is null
      and asset_status = 'completed'`
  return count === 1
}

/**
 * queued | processing → processing, because an earlier attempt may have died. Takes the id alone, because the actor's
 * message has nothing else. @returns null if no transcript is awaited
 */
export async function beginTranscription(tx: Tx, recordingId: string): Promise<Transcription | null> {
  const [row] = await tx<Transcription[]>`
    update recording
    set transcript_status = 'processing', updated_at = now()
    where id = ${recordingId}
      and transcript_status in ('queued', 'processing')
      and transcript_source is null
      and asset_status = 'completed'
    returning
      organization_id as "organizationId", id as "recordingId", asset_object_key as "objectKey",
      asset_content_type as "contentType", asset_is_audio as "isAudio", asset_duration_seconds as "durationSeconds"`
  return row ?? null
}

/**
 * Ends an attempt: completed, failed, or back to the queue.
 * @returns false if the transcript is no longer awaited, or other media has replaced the transcribed media
 */
export async function endTranscription(
  tx: Tx,
  { organizationId, recordingId, objectKey }: Pick<Transcription, keyof Subject | 'objectKey'>,
  outcome: TranscriptionEnd,
): Promise<boolean> {
  const { status, error } =
    typeof outcome === 'string'
      ? { status: outcome, error: null }
      : { status: 'failed', error: outcome.failed }
  const { count } = await tx`
    update recording
    set
      transcript_status = ${status},
      transcript_error_code = ${error},
      transcript_source = ${outcome === 'completed' ? 'automatic' : null},
      words_version = words_version + 1,
      updated_at = now()
    where organization_id = ${organizationId}
      and id = ${recordingId}
      and transcript_status = 'processing'
      and transcript_source is null
      and asset_object_key = ${objectKey}`
  return count === 1
}

/** waiting | failed → completed, by the recorder of a meeting. @returns false if the recording has a transcript, or one is being created */
export async function completeByRecorder(tx: Tx, { organizationId, recordingId }: Subject): Promise<boolean> {
  const { count } = await tx`
    update recording
    set transcript_status = 'completed', transcript_source = 'automatic', words_version = words_version + 1, updated_at = now()
    where organization_id = ${organizationId}
      and id = ${recordingId}
      and transcript_status in ('waiting', 'failed')
      and transcript_source is null`
  return count === 1
}

/**
 * completed | failed → waiting, and deletes the automatic summary of that transcript. A `queued` or `processing`
 * transcript stays: its message uses the new media, if necessary in one more attempt.
 * @returns false if there is nothing to reset, or the caller supplied the transcript
 */
export async function resetAutomaticTranscript(
  tx: Tx,
  { organizationId, recordingId }: Subject,
): Promise<boolean> {
  const { count } = await tx`
    update recording
    set
      transcript_status = 'waiting', transcript_source = null, words_version = words_version + 1, updated_at = now(),
      summary = case when summary_source = 'automatic' then null else summary end,
      summary_source = case when summary_source = 'automatic' then null else summary_source end
    where organization_id = ${organizationId}
      and id = ${recordingId}
      and transcript_status in ('completed', 'failed')
      and transcript_source is distinct from 'api'`
  return count === 1
}

/** Recordings of the organization with published media but without a transcript, oldest first. */
export function listUntranscribed(
  query: Query,
  organizationId: string,
  statuses: readonly Untranscribed[],
): Promise<readonly { readonly id: string }[]> {
  return query<{ id: string }[]>`
    select id
    from recording
    where organization_id = ${organizationId}
      and transcript_status = any(${[...statuses]}::text[])
      and transcript_source is null
      and asset_status = 'completed'
    order by created_at, id`
}

/**
 * Locks the recording until the transaction ends, so that its transcript is not replaced. @returns false if it was
 * deleted
 */
export async function lockForTranscript(tx: Tx, { organizationId, recordingId }: Subject): Promise<boolean> {
  const rows = await tx`
    select 1
    from recording
    where organization_id = ${organizationId} and id = ${recordingId}
    for no key update`
  return rows.length > 0
}

/** The words have changed: a summary that is being made of the former ones is not stored. */
export async function outdateSummary(tx: Tx, { organizationId, recordingId }: Subject): Promise<void> {
  await tx`
    update recording
    set words_version = words_version + 1
    where organization_id = ${organizationId} and id = ${recordingId}`
}

export interface Summarized {
  readonly organizationId: string
  readonly summarySource: 'api' | 'automatic' | null
  /** Of the words that are summarised. */
  readonly wordsVersion: number
}

/**
 * Reads the recording and prevents its deletion until the transaction ends. Takes the id alone, because the actor's
 * message has nothing else. @returns null if it was deleted
 */
export async function findSummarized(tx: Tx, recordingId: string): Promise<Summarized | null> {
  const [row] = await tx<Summarized[]>`
    select organization_id as "organizationId", summary_source as "summarySource", words_version as "wordsVersion"
    from recording
    where id = ${recordingId}
    for no key update`
  return row ?? null
}

/**
 * null removes an earlier automatic summary, which was created from another transcript. A summary of words that have changed since is not
 * stored: another message makes a new one.
 */
export async function saveSummary(
  tx: Tx,
  { organizationId, recordingId }: Subject,
  wordsVersion: number,
  summary: string | null,
): Promise<void> {
  await tx`
    update recording
    set summary = ${summary}, summary_source = ${summary === null ? null : 'automatic'}, updated_at = now()
    where organization_id = ${organizationId}
      and id = ${recordingId}
      and summary_source is distinct from 'api'
      and words_version = ${wordsVersion}
      and summary is distinct from ${summary}`
}

/** Whether one of the recordings has media that is being processed, or a transcript that is being made. */
export async function isTranscriptAwaited(
  query: Query,
  organizationId: string,
  recordingIds: readonly string[],
): Promise<boolean> {
  const rows = await query`
    select 1
    from recording
    where organization_id = ${organizationId}
      and id = any(${recordingIds as string[]}::uuid[])
      and (transcript_status in ('queued', 'processing') or asset_status = 'processing')
    limit 1`
  return rows.length > 0
}

/** Locks the recordings until the transaction ends, in the order of their ids. */
export async function lockRecordings(
  tx: Tx,
  organizationId: string,
  recordingIds: readonly string[],
): Promise<void> {
  await tx`
    select 1
    from recording
    where organization_id = ${organizationId} and id = any(${recordingIds as string[]}::uuid[])
    order by id
    for no key update`
}
