/** The SQL of uploads whose bytes have all arrived. The caller of a change has locked the recording's row. */
import type { Query, Tx } from '../../platform/db/pool.ts'
import type { IncomingPart, IncomingRecord } from '../../platform/storage/incoming.ts'
import { ACTIVE_PHASES, type ProcessingEvent, UPLOAD_EVENTS, type UploadErrorCode } from './rules.ts'
import type { RecordingRef, UploadRef } from './store.ts'

/** An upload whose bytes have all arrived, and how they were received. */
export interface BegunUpload {
  readonly id: string
  readonly organizationId: string
  /** null: the file is no media of a recording. */
  readonly recordingId: string | null
  /** The key that `IncomingStore.publish` makes an object. */
  readonly objectKey: string
  readonly fileName: string
  /** Bytes. */
  readonly fileSize: number
  readonly createdAt: Date
  readonly resumeState: IncomingRecord['resumeState']
}

/**
 * Sets the phase to `processing`, whatever an earlier attempt left. Takes the id alone, because the actor's message has
 * nothing else. @returns null if the upload was deleted or has ended
 */
export async function setProcessing(tx: Tx, uploadId: string): Promise<BegunUpload | null> {
  const { from, to } = UPLOAD_EVENTS.begin
  const [begun] = await tx<BegunUpload[]>`
    update upload
    set phase = ${to}, encode_progress = null, updated_at = now()
    where id = ${uploadId}
      and phase = any(${[...from]}::text[])
    returning
      id, organization_id as "organizationId", recording_id as "recordingId", object_key as "objectKey",
      file_name as "fileName", file_size as "fileSize", created_at as "createdAt", resume_state as "resumeState"`
  return begun ?? null
}

/** The parts in which the bytes of an upload were stored, in order. */
export function partsOf(tx: Tx, { id, organizationId }: Pick<UploadRef, 'id' | 'organizationId'>) {
  return tx<IncomingPart[]>`
    select number, size, etag
    from upload_part
    where organization_id = ${organizationId}
      and upload_id = ${id}
    order by number`
}

/** @returns false if the upload is in no phase that the event may start from */
export async function changePhase(
  tx: Tx,
  { id, organizationId }: Pick<UploadRef, 'id' | 'organizationId'>,
  event: ProcessingEvent,
  errorCode: UploadErrorCode | null,
): Promise<boolean> {
  const { from, to } = UPLOAD_EVENTS[event]
  const moved = await tx`
    update upload
    set
      phase = ${to}, error_code = ${errorCode}, encode_progress = ${event === 'encode' ? 0 : null},
      bytes_kept = ${event === 'giveUp'}, updated_at = now()
    where organization_id = ${organizationId}
      and id = ${id}
      and phase = any(${[...from]}::text[])`
  return moved.count > 0
}

/** Whether an upload brings, or may still bring, media of the recording. */
export async function hasActiveUpload(
  tx: Tx,
  { organizationId, recordingId }: RecordingRef,
): Promise<boolean> {
  const { count } = await tx`
    select 1
    from upload
    where organization_id = ${organizationId}
      and recording_id = ${recordingId}
      and phase = any(${[...ACTIVE_PHASES]}::text[])
      and not (phase = 'waiting' and expires_at <= now())`
  return count > 0
}

/** The recording's upload that is being processed, if any. */
export async function findProcessed(
  tx: Tx,
  { organizationId, recordingId }: RecordingRef,
): Promise<string | null> {
  const [found] = await tx<{ id: string }[]>`
    select id
    from upload
    where organization_id = ${organizationId}
      and recording_id = ${recordingId}
      and phase = any(${[...UPLOAD_EVENTS.begin.from]}::text[])`
  return found?.id ?? null
}

/** Sets the newest upload with kept bytes back to `processing`. @returns its id; null if the recording has none */
export async function processAgain(
  tx: Tx,
  { organizationId, recordingId }: RecordingRef,
): Promise<string | null> {
  const { from, to } = UPLOAD_EVENTS.processAgain
  const [found] = await tx<{ id: string }[]>`
    update upload
    set phase = ${to}, error_code = null, bytes_kept = false, updated_at = now()
    where organization_id = ${organizationId}
      and id = (
        select id
        from upload
        where organization_id = ${organizationId}
          and recording_id = ${recordingId}
          and bytes_kept
          and phase = any(${[...from]}::text[])
        order by created_at desc, id desc
        limit 1
      )
    returning id`
  return found?.id ?? null
}

/**
 * Recordings of the organization that have an upload with kept bytes. They have no media, or still the media that the
 * upload was to replace. Oldest upload first.
 */
export async function recordingsToProcessAgain(query: Query, organizationId: string) {
  const rows = await query<{ recordingId: string }[]>`
    select r.id as "recordingId"
    from upload u
    join recording r on r.id = u.recording_id
    where u.organization_id = ${organizationId}
      and r.organization_id = u.organization_id
      and u.bytes_kept
      and r.asset_status in ('failed', 'completed')
    order by u.created_at, u.id`
  return rows.map(({ recordingId }) => recordingId)
}

/** `percent`: 0 to 100. Does nothing unless the upload is being encoded. */
export async function recordEncodeProgress(
  tx: Tx,
  { id, organizationId }: Pick<UploadRef, 'id' | 'organizationId'>,
  percent: number,
): Promise<void> {
  await tx`
    update upload
    set encode_progress = ${Math.max(0, Math.min(100, Math.floor(percent)))}, updated_at = now()
    where organization_id = ${organizationId}
      and id = ${id}
      and phase = 'encoding'`
}

/** Whether a file whose object key has the prefix, with an upload that was created until `until`, waits to be used or is being used. */
export async function isFileAwaited(
  query: Query,
  organizationId: string,
  prefix: string,
  until: Date,
): Promise<boolean> {
  const rows = await query`
    select 1
    from upload
    where organization_id = ${organizationId}
      and recording_id is null
      and phase = any(${[...UPLOAD_EVENTS.begin.from]}::text[])
      and starts_with(object_key, ${prefix})
      and created_at <= ${until}
    limit 1`
  return rows.length > 0
}
