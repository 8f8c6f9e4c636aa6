/**
 * The SQL of bytes that arrive.
 *
 * The rule: every statement here has the writer number of its request as a condition, together with the wait for bytes. So a
 * request that a newer one has overtaken, and one whose upload has ended, can change nothing, wherever it still runs.
 */
import type { Json, Query, Tx } from '../platform/db/pool.ts'
import type { IncomingRecord } from '../platform/storage/incoming.ts'
import { ASSET_AFTER, displayNameOf, TIMEOUT_SECONDS, UPLOAD_EVENTS } from './rules.ts'
import { columns, discardUpload, lockRecordingOf, type UploadRef, type UploadRow } from './store.ts'

/** What a request holds while it is the newest. */
export interface Hold extends UploadRef {
  readonly writer: number
  /** Where it writes. */
  readonly process: string
  /** false where another process may still be writing. */
  readonly alone: boolean
  readonly objectKey: string
  readonly offset: number
  readonly fileName: string
  readonly fileSize: number
  readonly memory: Json
}

const awaitsBytes = (query: Query) => query`phase = 'waiting' and expires_at > now()`

const isHeldBy = (query: Query, { id, organizationId, writer }: Hold) => query`
  organization_id = ${organizationId}
  and id = ${id}
  and writer = ${writer}
  and ${awaitsBytes(query)}`

const deadline = (query: Query) => query`now() + make_interval(secs => ${TIMEOUT_SECONDS})`

/**
 * Makes the request the newest. A process that is entered as writing stays so until this one has recorded something, since
 * until then the database leads to the bytes of that one.
 * @returns null where no bytes are awaited
 */
export async function takeOver(query: Query, upload: UploadRef, process: string): Promise<Hold | null> {
  const [hold] = await query<Hold[]>`
    update upload
    set writer = writer + 1, writer_process = coalesce(writer_process, ${process})
    where organization_id = ${upload.organizationId}
      and id = ${upload.id}
      and ${awaitsBytes(query)}
    returning
      id, organization_id as "organizationId", recording_id as "recordingId", writer,
      ${process}::uuid as process, writer_process = ${process} as alone, object_key as "objectKey",
      bytes_received as "offset", file_name as "fileName", file_size as "fileSize", store_memory as memory`
  return hold ?? null
}

/**
 * Nothing is recorded any more under an older number.
 * @returns where the upload stands from then on; null where no bytes are awaited
 */
export async function fence(query: Query, { id, organizationId }: UploadRef): Promise<UploadRow | null> {
  const [fenced] = await query<UploadRow[]>`
    update upload u
    set writer = writer + 1
    where organization_id = ${organizationId}
      and id = ${id}
      and ${awaitsBytes(query)}
    returning ${columns(query)}`
  return fenced ?? null
}

/** No request of this process writes any more. */
export async function release(
  query: Query,
  { id, organizationId }: UploadRef,
  process: string,
): Promise<void> {
  await query`
    update upload
    set writer_process = null
    where organization_id = ${organizationId}
      and id = ${id}
      and writer_process = ${process}`
}

/**
 * Begins anew under another key, which nobody else writes to, and lets go of what has come.
 * @returns null where the request is not the newest any more
 */
export async function restart(tx: Tx, hold: Hold, objectKey: string): Promise<Hold | null> {
  const held = await tx`
    select 1
    from upload
    where ${isHeldBy(tx, hold)}
    for update`
  if (held.count === 0) return null
  await discardUpload(tx, hold)
  await tx`
    update upload
    set object_key = ${objectKey}, bytes_received = 0, store_memory = null, writer_process = ${hold.process}
    where ${isHeldBy(tx, hold)}`
  return { ...hold, objectKey, offset: 0, memory: null, alone: true }
}

/** Bytes are arriving: the asset says so, and the deadline slides. @returns false where the request may not go on */
export async function markArriving(tx: Tx, hold: Hold): Promise<boolean> {
  await lockRecordingOf(tx, hold.id)
  const marked = await tx`
    update upload
    set expires_at = ${deadline(tx)}
    where ${isHeldBy(tx, hold)}`
  if (marked.count === 0) return false
  await tx`
    update recording
    set asset_status = 'uploading', updated_at = now()
    where organization_id = ${hold.organizationId}
      and id = ${hold.recordingId}
      and asset_status = 'waiting'`
  return true
}

/** What is durable in the object store. The deadline slides. @returns false where the request may not go on */
export async function recordProgress(tx: Tx, hold: Hold, record: IncomingRecord): Promise<boolean> {
  const recorded = await tx`
    update upload
    set
      bytes_received = ${record.offset}, store_memory = ${tx.json(record.memory)}, writer_process = ${hold.process},
      expires_at = ${deadline(tx)}, updated_at = now()
    where ${isHeldBy(tx, hold)}`
  if (recorded.count === 0) return false
  await insertParts(tx, hold, record)
  return true
}

/** The last byte: from here on the file is processed, and names a recording that has no name. @returns false where the request may not go on */
export async function complete(tx: Tx, hold: Hold, record: IncomingRecord): Promise<boolean> {
  const { to } = UPLOAD_EVENTS.complete
  await lockRecordingOf(tx, hold.id)
  const completed = await tx`
    update upload
    set
      phase = ${to}, bytes_received = ${record.offset}, store_memory = ${tx.json(record.memory)}, updated_at = now()
    where ${isHeldBy(tx, hold)}
      and file_size = ${record.offset}`
  if (completed.count === 0) return false
  await insertParts(tx, hold, record)
  await tx`
    update recording
    set
      asset_status = ${ASSET_AFTER.complete}, updated_at = now(),
      display_name = coalesce(display_name, ${displayNameOf(hold.fileName)})
    where organization_id = ${hold.organizationId}
      and id = ${hold.recordingId}
      and asset_status in ('waiting', 'uploading')`
  return true
}

async function insertParts(tx: Tx, { id, organizationId }: Hold, { parts }: IncomingRecord): Promise<void> {
  if (parts.length === 0) return
  await tx`
    insert into upload_part (organization_id, upload_id, number, size, etag)
    select ${organizationId}, ${id}, p.number, p.size, p.etag
    from unnest(
      ${parts.map(({ number }) => number)}::int[],
      ${parts.map(({ size }) => size)}::bigint[],
      ${parts.map(({ etag }) => etag)}::text[]
    ) as p (number, size, etag)`
}
