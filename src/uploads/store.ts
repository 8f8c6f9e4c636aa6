/**
 * The SQL of uploads: created, read, ended, and what they leave behind.
 *
 * The rule: whoever changes an upload's phase has locked its recording's row first, since the asset moves with it. An upload
 * past its deadline has failed, whoever looks first.
 */
import type { PendingQuery, Row } from 'postgres'
import type { Json, Query, Tx } from '../platform/db/pool.ts'
import type { AssetStatus } from '../recordings/model.ts'
import { ACTIVE_PHASES, ASSET_AFTER, TIMEOUT_SECONDS, UPLOAD_EVENTS, type UploadIdentity } from './rules.ts'
import type { UploadState } from './state.ts'

type Fragment = PendingQuery<Row[]>

export interface UploadRow extends UploadState {
  readonly organizationId: string
  /** Only while it is being encoded. */
  readonly encodeProgress: number | null
  /** Until the deadline, rounded down. */
  readonly timeoutSeconds: number
}

/** Names an upload of which the caller knows that it is there, or was. */
export type UploadRef = Pick<UploadRow, 'id' | 'organizationId' | 'recordingId'>

const isOverdue = (query: Query) => query`(u.phase = 'waiting' and u.expires_at <= now())`

/** Of `upload u`, as an `UploadRow`. */
export const columns = (query: Query) => query`
  u.id, u.organization_id as "organizationId", u.recording_id as "recordingId",
  case when ${isOverdue(query)} then 'failed' else u.phase end as phase,
  case when ${isOverdue(query)} then 'upload_expired' else u.error_code end as "errorCode",
  case when u.phase = 'encoding' then u.encode_progress end as "encodeProgress",
  u.bytes_received as "offset", u.file_size as "fileSize", u.file_name as "fileName", u.origin,
  u.expires_at as "expiresAt",
  greatest(0, floor(extract(epoch from u.expires_at - now())))::int as "timeoutSeconds"`

/** Of a recording that the caller sees. */
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

export async function findByToken(query: Query, tokenHash: Uint8Array): Promise<UploadRow | undefined> {
  const [row] = await query<UploadRow[]>`
    select ${columns(query)}
    from upload u
    where u.token_hash = ${tokenHash}`
  return row
}

/** Locks the recording until the transaction ends. @returns undefined where the condition on `r` hides it */
export async function lockRecording(
  tx: Tx,
  recordingId: string,
  visible: Fragment,
): Promise<{ readonly assetStatus: AssetStatus | null; readonly isReplacing: boolean } | undefined> {
  const [row] = await tx<{ assetStatus: AssetStatus | null; isReplacing: boolean }[]>`
    select
      r.asset_status as "assetStatus",
      r.asset_status = 'completed' and r.asset_source_url is not null as "isReplacing"
    from recording r
    where ${visible}
      and r.id = ${recordingId}
    for update of r`
  return row
}

/** By the upload alone, which leads to its organization: the actor that processes one knows nothing else. */
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

/** Under the lock of the recording: the one upload that has its media, also one that is overdue. */
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
 * How many uploads of the organization wait for bytes, at most `limit`. Until the transaction ends nobody else is told, so
 * that of many who come at once no more are let in than may be.
 */
export async function countWaiting(tx: Tx, organizationId: string, limit: number): Promise<number> {
  await tx`
    select 1
    from organization
    where id = ${organizationId}
    for no key update`
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
  readonly recordingId: string
  readonly userId: string | null
  readonly origin: string | null
  readonly tokenHash: Uint8Array
  readonly objectKey: string
}

/**
 * Under the lock of the recording. Its asset waits from then on and keeps nothing of an earlier attempt; media that plays
 * already stays as it is until the upload replaces it.
 */
export async function insertUpload(tx: Tx, row: NewUpload): Promise<UploadRow> {
  await tx`
    update recording
    set
      asset_status = 'waiting', asset_error_code = null, asset_source_url = null, asset_object_key = null,
      asset_duration_seconds = null, asset_is_audio = null, asset_content_type = null, asset_file_size = null,
      updated_at = now()
    where organization_id = ${row.organizationId}
      and id = ${row.recordingId}
      and asset_status is distinct from 'completed'`
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

/** Where the key of the service is not the one of then: from now on the upload has the other URL. */
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
 * Under the lock of the recording: ends the wait for bytes, and frees the recording for another upload. What has come is
 * let go of.
 * @returns false where it did not wait any more, or where its deadline says the other
 */
export async function endWaiting(tx: Tx, upload: UploadRef, event: 'cancel' | 'expire'): Promise<boolean> {
  const { from, to } = UPLOAD_EVENTS[event]
  const errorCode = event === 'expire' ? 'upload_expired' : null
  const { organizationId, recordingId } = upload
  const ended = await tx`
    update upload
    set phase = ${to}, error_code = ${errorCode}, updated_at = now()
    where organization_id = ${organizationId}
      and id = ${upload.id}
      and phase = any(${[...from]}::text[])
      and ${event === 'expire' ? tx`expires_at <= now()` : tx`expires_at > now()`}`
  if (ended.count === 0) return false
  await tx`
    update recording
    set asset_status = ${ASSET_AFTER[event]}, asset_error_code = ${errorCode}, updated_at = now()
    where organization_id = ${organizationId}
      and id = ${recordingId}
      and asset_status in ('waiting', 'uploading')`
  await discardUpload(tx, upload)
  return true
}

/** Of every organization. */
export function overdueUploads(query: Query, limit: number) {
  return query<UploadRef[]>`
    select u.id, u.organization_id as "organizationId", u.recording_id as "recordingId"
    from upload u
    where ${isOverdue(query)}
    order by u.expires_at
    limit ${limit}`
}

/** Bytes that came, or are coming, may still become media. */
const holdsBytes = (query: Query) => query`(phase = any(${[...ACTIVE_PHASES]}::text[]) or bytes_kept)`

/** Of every organization: keys of objects whose bytes are not all in place yet, or were kept where they are. */
export async function awaitedKeys(query: Query): Promise<readonly string[]> {
  const rows = await query<{ key: string }[]>`
    select object_key as key
    from upload
    where ${holdsBytes(query)}`
  return rows.map(({ key }) => key)
}

/** Lets go of what came of an upload that has just ended, or begins anew. */
export async function discardUpload(tx: Tx, upload: Pick<UploadRef, 'id' | 'organizationId'>): Promise<void> {
  await tx`
    insert into upload_garbage (object_key, organization_id, store_memory, delete_after)
    select object_key, organization_id, store_memory, now()
    from upload
    where organization_id = ${upload.organizationId}
      and id = ${upload.id}
    on conflict (object_key) do nothing`
  await forgetParts(tx, upload)
}

/** When the object is whole, or never will be. */
export async function forgetParts(
  tx: Tx,
  { id, organizationId }: Pick<UploadRef, 'id' | 'organizationId'>,
): Promise<void> {
  await tx`
    delete from upload_part
    where organization_id = ${organizationId}
      and upload_id = ${id}`
}

/** Lets go of what was kept of earlier uploads of the recording: something else is its media by now. */
export async function discardKept(
  tx: Tx,
  { organizationId, recordingId }: Omit<UploadRef, 'id'>,
): Promise<void> {
  const kept = await tx<{ id: string }[]>`
    update upload
    set bytes_kept = false
    where organization_id = ${organizationId}
      and recording_id = ${recordingId}
      and bytes_kept
    returning id`
  for (const { id } of kept) await discardUpload(tx, { id, organizationId })
}

/** Lets go of what came of uploads of a recording that is being deleted, and had not ended or was kept. */
export async function discardUploads(tx: Tx, organizationId: string, recordingId: string): Promise<void> {
  await tx`
    insert into upload_garbage (object_key, organization_id, store_memory, delete_after)
    select object_key, organization_id, store_memory, now()
    from upload
    where organization_id = ${organizationId}
      and recording_id = ${recordingId}
      and ${holdsBytes(tx)}
    on conflict (object_key) do nothing`
}

export interface Garbage {
  readonly objectKey: string
  readonly memory: Json
  /** It was deleted once already. */
  readonly again: boolean
}

/** What has come of an upload that has ended, where it is not deleted yet. */
export function garbageOf(query: Query, { id, organizationId }: UploadRef) {
  return query<Garbage[]>`
    select g.object_key as "objectKey", g.store_memory as memory, g.again
    from upload_garbage g
    join upload u on u.object_key = g.object_key
    where g.organization_id = ${organizationId}
      and u.id = ${id}
      and not g.again`
}

/** Of every organization, oldest first. It is due again later: what fails stands in nobody's way until then. */
export function takeDueGarbage(query: Query, limit: number) {
  return query<Garbage[]>`
    with due as (
      select object_key
      from upload_garbage
      where delete_after <= now()
      order by delete_after
      limit ${limit}
      for update skip locked
    )
    update upload_garbage g
    set delete_after = now() + interval '15 minutes'
    from due
    where g.object_key = due.object_key
    returning g.object_key as "objectKey", g.store_memory as memory, g.again`
}

/** What was deleted is deleted again, once, when no request of then can be under way any more; then it is forgotten. */
export async function settleGarbage(query: Query, { objectKey, again }: Garbage): Promise<void> {
  await (again
    ? query`
        delete from upload_garbage
        where object_key = ${objectKey}`
    : query`
        update upload_garbage
        set again = true, delete_after = now() + interval '15 minutes'
        where object_key = ${objectKey}
          and not again`)
}
