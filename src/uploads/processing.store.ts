/**
 * The SQL of uploads whose bytes are all there.
 *
 * The rule: the recording's row is locked first, as everywhere.
 */
import type { Query, Tx } from '../platform/db/pool.ts'
import type { IncomingPart, IncomingRecord } from '../platform/storage/incoming.ts'
import { ACTIVE_PHASES, type ProcessingEvent, UPLOAD_EVENTS, type UploadErrorCode } from './rules.ts'
import { discardKept, discardUpload, forgetParts, lockRecordingOf, type UploadRef } from './store.ts'

/** An upload whose bytes are all there. */
export interface ProcessedUpload {
  readonly id: string
  readonly organizationId: string
  readonly recordingId: string
  /** Under which `IncomingStore.publish` makes it an object. */
  readonly objectKey: string
  readonly fileName: string
  /** Bytes. */
  readonly fileSize: number
  /** For `IncomingStore.publish`. */
  readonly whole: IncomingRecord
}

interface Begun extends Omit<ProcessedUpload, 'whole'> {
  readonly memory: IncomingRecord['memory']
}

/**
 * Puts it back to `processing`, whatever an earlier attempt has left. By id alone: an actor knows nothing else.
 * @returns null where nobody awaits it any more
 */
export async function beginProcessing(tx: Tx, uploadId: string): Promise<ProcessedUpload | null> {
  await lockRecordingOf(tx, uploadId)
  const { from, to } = UPLOAD_EVENTS.begin
  const [begun] = await tx<Begun[]>`
    update upload
    set phase = ${to}, encode_progress = null, updated_at = now()
    where id = ${uploadId}
      and phase = any(${[...from]}::text[])
    returning
      id, organization_id as "organizationId", recording_id as "recordingId", object_key as "objectKey",
      file_name as "fileName", file_size as "fileSize", store_memory as memory`
  if (begun === undefined) return null
  const { memory, ...upload } = begun
  const parts = await tx<IncomingPart[]>`
    select number, size, etag
    from upload_part
    where organization_id = ${upload.organizationId}
      and upload_id = ${uploadId}
    order by number`
  return { ...upload, whole: { offset: upload.fileSize, memory, parts: [...parts] } }
}

/**
 * The asset is the caller's to move, in the same transaction. `fail` lets go of the file, also of one that was published
 * under the upload's key; `giveUp` keeps it; `ready` lets go of those that were kept of this recording before.
 * @returns false where the upload is not where the event may come from
 */
export async function moveUpload(
  tx: Tx,
  upload: UploadRef,
  event: ProcessingEvent,
  errorCode: UploadErrorCode | null = null,
): Promise<boolean> {
  const { id, organizationId } = upload
  await lockRecordingOf(tx, id)
  const { from, to } = UPLOAD_EVENTS[event]
  const moved = await tx`
    update upload
    set
      phase = ${to}, error_code = ${errorCode}, encode_progress = ${event === 'encode' ? 0 : null},
      bytes_kept = ${event === 'giveUp'}, updated_at = now()
    where organization_id = ${organizationId}
      and id = ${id}
      and phase = any(${[...from]}::text[])`
  if (moved.count === 0) return false
  if (event === 'fail') await discardUpload(tx, upload)
  if (event === 'ready') {
    await forgetParts(tx, upload)
    await discardKept(tx, upload)
  }
  return true
}

/** Whether an upload is bringing media of the recording, or still may. The caller has locked the recording. */
export async function hasActiveUpload(
  tx: Tx,
  { organizationId, recordingId }: Omit<UploadRef, 'id'>,
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

/** The upload of a recording whose bytes are being processed, if any. The caller has locked the recording. */
export async function findProcessed(
  tx: Tx,
  { organizationId, recordingId }: Omit<UploadRef, 'id'>,
): Promise<string | null> {
  const [found] = await tx<{ id: string }[]>`
    select id
    from upload
    where organization_id = ${organizationId}
      and recording_id = ${recordingId}
      and phase = any(${[...UPLOAD_EVENTS.begin.from]}::text[])`
  return found?.id ?? null
}

/**
 * Has the newest upload whose bytes were kept processed again; the message is the caller's to send, and the asset to move. The
 * caller has locked the recording, and has seen that nothing else is to become its media.
 * @returns the upload; null where the recording has none
 */
export async function processAgain(
  tx: Tx,
  { organizationId, recordingId }: Omit<UploadRef, 'id'>,
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
 * Recordings of the organization with an upload that was given up and whose bytes were kept: they have no media, or still the
 * media that the upload was to replace. Oldest upload first.
 */
export async function recordingsToProcessAgain(query: Query, organizationId: string) {
  const rows = await query<{ recordingId: string }[]>`
    select u.recording_id as "recordingId"
    from upload u
    join recording r on r.id = u.recording_id
    where u.organization_id = ${organizationId}
      and r.organization_id = u.organization_id
      and u.bytes_kept
      and r.asset_status in ('failed', 'completed')
    order by u.created_at, u.id`
  return rows.map(({ recordingId }) => recordingId)
}

/** `percent`: 0 to 100. Nothing where it is not being encoded. */
export async function recordEncodeProgress(
  tx: Tx,
  { id, organizationId }: Pick<ProcessedUpload, 'id' | 'organizationId'>,
  percent: number,
): Promise<void> {
  await tx`
    update upload
    set encode_progress = ${Math.max(0, Math.min(100, Math.floor(percent)))}, updated_at = now()
    where organization_id = ${organizationId}
      and id = ${id}
      and phase = 'encoding'`
}
