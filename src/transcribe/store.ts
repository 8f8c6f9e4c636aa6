/**
 * The SQL of automatic transcription.
 *
 * The rule: what a caller supplied is never touched. Every statement that moves a transcript has the states that it may come
 * from as a condition, and that it has no other source.
 */
import type { Query, Tx } from '../platform/db/pool.ts'

/** Whose sound is to be transcribed. */
export interface Subject {
  readonly organizationId: string
  readonly recordingId: string
}

/** Where a transcript is that may be asked for. */
export type Untranscribed = 'waiting' | 'failed'

/** With the media that is played, which everything is heard from. */
export interface Transcription extends Subject {
  readonly objectKey: string
  readonly contentType: string
  readonly isAudio: boolean
  readonly durationSeconds: number | null
}

/** waiting | failed → queued. @returns false where the recording has a transcript, or one is on its way */
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

/** queued | processing → processing, since an attempt may have died. Null where no transcript is awaited. By id alone: an actor knows nothing else. */
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
 * Ends an attempt: completed, failed, or back to where another one begins.
 * @returns false where it is not awaited any more, or other media has taken the place of what was heard
 */
export async function endTranscription(
  tx: Tx,
  { organizationId, recordingId, objectKey }: Pick<Transcription, keyof Subject | 'objectKey'>,
  outcome: 'completed' | 'failed' | 'queued' | 'waiting',
): Promise<boolean> {
  const { count } = await tx`
    update recording
    set
      transcript_status = ${outcome},
      transcript_source = ${outcome === 'completed' ? 'automatic' : null},
      updated_at = now()
    where organization_id = ${organizationId}
      and id = ${recordingId}
      and transcript_status = 'processing'
      and transcript_source is null
      and asset_object_key = ${objectKey}`
  return count === 1
}

/**
 * completed | failed → waiting, and the automatic summary of that transcript goes. One that is `queued` or `processing` stays:
 * its message hears the new media, if need be in one more attempt.
 * @returns false where there is nothing to reset, or the caller supplied the transcript
 */
export async function resetAutomaticTranscript(
  tx: Tx,
  { organizationId, recordingId }: Subject,
): Promise<boolean> {
  const { count } = await tx`
    update recording
    set
      transcript_status = 'waiting', transcript_source = null, updated_at = now(),
      summary = case when summary_source = 'automatic' then null else summary end,
      summary_source = case when summary_source = 'automatic' then null else summary_source end
    where organization_id = ${organizationId}
      and id = ${recordingId}
      and transcript_status in ('completed', 'failed')
      and transcript_source is distinct from 'api'`
  return count === 1
}

/** Recordings of an organization whose media is there and whose transcript is not, oldest first. */
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
