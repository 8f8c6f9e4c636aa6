/**
 * The SQL of uploads: create, read, end, and discard their bytes.
 *
 * A statement that changes an upload's phase runs under the lock of its recording's row, because the asset changes with
 * the phase. An upload past its deadline counts as failed, even before that is written.
 */

import type { Query, Tx } from '../../platform/db/pool.ts'
import { awaitUpload, moveAsset, type Subject } from '../assets/service.ts'
import { discardUpload } from './garbage.store.ts'
import { ACTIVE_PHASES, TIMEOUT_SECONDS, UPLOAD_EVENTS, type UploadIdentity } from './rules.ts'
import type { UploadState } from './state.ts'

export interface UploadRow extends UploadState {
  readonly organizationId: string
  /** Percent; set only while the file is being encoded. */
  readonly encodeProgress: number | null
  /** Seconds until the deadline, rounded down. */
  readonly timeoutSeconds: number
}

/** Identifies an upload that exists, or existed. */
export type UploadRef = Pick<UploadRow, 'id' | 'organizationId' | 'recordingId'>

export interface RecordingRef {
  readonly organizationId: string
  readonly recordingId: string
}

/** The asset that changes with the upload; null if the file is no media of a recording. */
export function subjectOf({ organizationId, recordingId }: UploadRef): Subject | null {
  return recordingId === null ? null : { organizationId, recordingId }
}

const isOverdue = (query: Query) => query`(u.phase = 'waiting' and u.expires_at <= now())`

/** The columns of an `UploadRow`, read from `upload u`. */
export const columns = (query: Query) => query`
  u.id, u.organization_id as "organizationId", u.recording_id as "recordingId",
  case when ${isOverdue(query)} then 'failed' else u.phase end as phase,
  case when ${isOverdue(query)} then 'upload_expired' else u.error_code end as "errorCode",
  case when u.phase = 'encoding' then u.encode_progress end as "encodeProgress",
  u.bytes_received as "offset", u.file_size as "fileSize", u.file_name as "fileName", u.origin,
  u.expires_at as "expiresAt",
  greatest(0, floor(extract(epoch from u.expires_at - now())))::int as "timeoutSeconds"`

/** The caller has checked that the viewer may see the recording. */
export async function findUpload(
  query: Query,
  organizationId: string,
  recordingId: string,
  uploadId: string,
): Promise<UploadRow | undefined> {
  const [row] = await query<UploadRow[]>`
    select ${columns(query)}
    from upload u
    where u.organization_id = ${organizationId}
      and u.recording_id = ${recordingId}
      and u.id = ${uploadId}`
  return row
}

/** An upload of any kind, for the service itself. */
export async function findById(
  query: Query,
  { organizationId, id }: Pick<UploadRef, 'id' | 'organizationId'>,
): Promise<UploadRow | undefined> {
  const [row] = await query<UploadRow[]>`
    select ${columns(query)}
    from upload u
    where u.organization_id = ${organizationId}
      and u.id = ${id}`
  return row
}

export async function findByToken(query: Query, tokenHash: Uint8Array): Promise<UploadRow | undefined> {
  const [row] = await query<UploadRow[]>`
    select ${columns(query)}
    from upload u
    join organization o on o.id = u.organization_id
    where u.token_hash = ${tokenHash} and o.erasure_began_at is null`
  return row
}

/** Locks the recording of the upload, if it has one. Takes the upload's id alone, because the processing actor knows nothing else. */
export async function lockRecordingOf(tx: Tx, uploadId: string): Promise<void> {
  await tx`
    select 1
    from recording r
    join upload u on u.recording_id = r.id
    where u.id = ${uploadId}
      and r.organization_id = u.organization_id
    for update of r`
}

export type ActiveUpload = UploadRow & UploadIdentity

/** The recording's active upload, even if it is overdue. The caller has locked the recording. */
export async function findActive(
  tx: Tx,
  organizationId: string,
  recordingId: string,
): Promise<ActiveUpload | undefined> {
  const [row] = await tx<ActiveUpload[]>`
    select ${columns(tx)}, u.source, u.folder_id as "folderId", u.batch_id as "batchId"
    from upload u
    where u.organization_id = ${organizationId}
      and u.recording_id = ${recordingId}
      and u.phase = any(${[...ACTIVE_PHASES]}::text[])`
  return row
}

/**
 * Counts the uploads of the organization that wait for bytes, up to `limit`. The caller has locked the organization, so
 * that concurrent requests cannot exceed the limit together.
 */
export async function countWaiting(tx: Tx, organizationId: string, limit: number): Promise<number> {
  const [row] = await tx<{ count: number }[]>`
    select count(*)::int as count
    from (
      select 1
      from upload
      where organization_id = ${organizationId}
        and phase = 'waiting'
        and expires_at > now()
      limit ${limit}
    ) as waiting`
  return row?.count ?? 0
}

export interface NewUpload extends UploadIdentity {
  readonly id: string
  readonly organizationId: string
  readonly recordingId: string | null
  readonly userId: string | null
  readonly origin: string | null
  readonly tokenHash: Uint8Array
  readonly objectKey: string
}

/**
 * The caller has locked the recording. The asset becomes `waiting` and forgets earlier attempts. Media that already
 * plays stays until the upload replaces it.
 */
export async function insertUpload(tx: Tx, row: NewUpload): Promise<UploadRow> {
  const subject = subjectOf(row)
  if (subject !== null) await awaitUpload(tx, subject)
  const [upload] = await tx<UploadRow[]>`
    insert into upload as u (
      id, organization_id, recording_id, user_id, phase, file_name, file_size, source, folder_id, batch_id,
      origin, token_hash, object_key, expires_at
    )
    values (
      ${row.id}, ${row.organizationId}, ${row.recordingId}, ${row.userId}, 'waiting', ${row.fileName},
      ${row.fileSize}, ${row.source}, ${row.folderId}, ${row.batchId},
      ${row.origin}, ${row.tokenHash}, ${row.objectKey}, now() + make_interval(secs => ${TIMEOUT_SECONDS})
    )
    returning ${columns(tx)}`
  return upload as UploadRow
}

/** Stores a new token hash if the key of the service has changed. The upload then has a new URL. */
export async function replaceToken(
  query: Query,
  { id, organizationId }: UploadRef,
  tokenHash: Uint8Array,
): Promise<void> {
  await query`
    update upload
    set token_hash = ${tokenHash}
    where organization_id = ${organizationId}
      and id = ${id}
      and token_hash <> ${tokenHash}`
}

/**
 * Ends the wait for bytes, frees the recording for another upload, and discards received bytes. The caller has locked
 * the recording.
 * @returns false if the upload no longer waits, or its deadline contradicts the event
 */
export async function endWaiting(tx: Tx, upload: UploadRef, event: 'cancel' | 'expire'): Promise<boolean> {
  const { from, to } = UPLOAD_EVENTS[event]
  const errorCode = event === 'expire' ? 'upload_expired' : null
  const { organizationId } = upload
  const ended = await tx`
    update upload
    set phase = ${to}, error_code = ${errorCode}, updated_at = now()
    where organization_id = ${organizationId}
      and id = ${upload.id}
      and phase = any(${[...from]}::text[])
      and ${event === 'expire' ? tx`expires_at <= now()` : tx`expires_at > now()`}`
  if (ended.count === 0) return false
  const subject = subjectOf(upload)
  if (subject !== null && event === 'expire') await moveAsset(tx, subject, 'uploadExpires', 'upload_expired')
  if (subject !== null && event === 'cancel') await moveAsset(tx, subject, 'uploadIsCancelled')
  await discardUpload(tx, upload)
  return true
}

/** Uploads of every organization. */
export function overdueUploads(query: Query, limit: number) {
  return query<UploadRef[]>`
    select u.id, u.organization_id as "organizationId", u.recording_id as "recordingId"
    from upload u
    where ${isOverdue(query)}
    order by u.expires_at
    limit ${limit}`
}
