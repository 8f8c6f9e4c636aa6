/**
 * The SQL of arriving bytes.
 *
 * Every statement requires the writer number of its request and a waiting upload. A request that was superseded, or
 * whose upload has ended, therefore changes nothing, in whichever process it still runs.
 */

import type { Json, Query, Tx } from '../../platform/db/pool.ts'
import type { IncomingRecord } from '../../platform/storage/incoming.ts'
import { completeUpload, moveAsset } from '../assets/service.ts'
import { discardUpload } from './garbage.store.ts'
import { displayNameOf, TIMEOUT_SECONDS, UPLOAD_EVENTS } from './rules.ts'
import { columns, lockRecordingOf, subjectOf, type UploadRef, type UploadRow } from './store.ts'

/** The upload as claimed by its newest request. */
export interface WriteClaim extends UploadRef {
  readonly writer: number
  /** Process of the request. */
  readonly process: string
  /** false if another process may still be writing. */
  readonly alone: boolean
  readonly objectKey: string
  readonly offset: number
  readonly fileName: string
  readonly fileSize: number
  readonly resumeState: Json
}

const awaitsBytes = (query: Query) => query`phase = 'waiting' and expires_at > now()`

const isClaimedBy = (query: Query, { id, organizationId, writer }: WriteClaim) => query`
  organization_id = ${organizationId}
  and id = ${id}
  and writer = ${writer}
  and ${awaitsBytes(query)}`

const deadline = (query: Query) => query`now() + make_interval(secs => ${TIMEOUT_SECONDS})`

/**
 * Makes the request the newest. The previous `writer_process` stays until this request records something, because until
 * then the row refers to the bytes of that process.
 * @returns null if the upload takes no bytes
 */
export async function takeOver(query: Query, upload: UploadRef, process: string): Promise<WriteClaim | null> {
  const [claim] = await query<WriteClaim[]>`
    update upload
    set writer = writer + 1, writer_process = coalesce(writer_process, ${process})
    where organization_id = ${upload.organizationId}
      and id = ${upload.id}
      and ${awaitsBytes(query)}
    returning
      id, organization_id as "organizationId", recording_id as "recordingId", writer,
      ${process}::uuid as process, writer_process = ${process} as alone, object_key as "objectKey",
      bytes_received as "offset", file_name as "fileName", file_size as "fileSize", resume_state as "resumeState"`
  return claim ?? null
}

/**
 * Takes the next writer number, so that older requests can record nothing more.
 * @returns the state of the upload from then on; null if it takes no bytes
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

/** Called when no request of this process writes to the upload any more. */
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
 * Starts over under a new key, to which no other request writes, and discards received bytes.
 * @returns null if a newer request has taken over
 */
export async function restart(tx: Tx, claim: WriteClaim, objectKey: string): Promise<WriteClaim | null> {
  const held = await tx`
    select 1
    from upload
    where ${isClaimedBy(tx, claim)}
    for update`
  if (held.count === 0) return null
  await discardUpload(tx, claim)
  await tx`
    update upload
    set object_key = ${objectKey}, bytes_received = 0, resume_state = null, writer_process = ${claim.process}
    where ${isClaimedBy(tx, claim)}`
  return { ...claim, objectKey, offset: 0, resumeState: null, alone: true }
}

/** Sets the asset to `uploading` and extends the deadline. @returns false if the request may not continue */
export async function markArriving(tx: Tx, claim: WriteClaim): Promise<boolean> {
  await lockRecordingOf(tx, claim.id)
  const marked = await tx`
    update upload
    set expires_at = ${deadline(tx)}
    where ${isClaimedBy(tx, claim)}`
  if (marked.count === 0) return false
  const subject = subjectOf(claim)
  if (subject !== null) await moveAsset(tx, subject, 'uploadBegins')
  return true
}

/**
 * Records what is durable in the object store and extends the deadline. @returns false if the request may not continue
 */
export async function recordProgress(tx: Tx, claim: WriteClaim, record: IncomingRecord): Promise<boolean> {
  const recorded = await tx`
    update upload
    set
      bytes_received = ${record.offset}, resume_state = ${tx.json(record.resumeState)}, writer_process = ${claim.process},
      expires_at = ${deadline(tx)}, updated_at = now()
    where ${isClaimedBy(tx, claim)}`
  if (recorded.count === 0) return false
  await insertParts(tx, claim, record)
  return true
}

/**
 * Records the last byte: the file is now processed, and names a recording that has no name. @returns false if the
 * request may not continue
 */
export async function complete(tx: Tx, claim: WriteClaim, record: IncomingRecord): Promise<boolean> {
  const { to } = UPLOAD_EVENTS.complete
  await lockRecordingOf(tx, claim.id)
  const [completed] = await tx<{ fileName: string; createdAt: string }[]>`
    update upload
    set
      phase = ${to}, bytes_received = ${record.offset}, resume_state = ${tx.json(record.resumeState)}, updated_at = now()
    where ${isClaimedBy(tx, claim)}
      and file_size = ${record.offset}
    returning file_name as "fileName", created_at::text as "createdAt"`
  if (completed === undefined) return false
  await insertParts(tx, claim, record)
  const subject = subjectOf(claim)
  if (subject === null) return true
  // The name is read again: a person may have been erased from it since the request began.
  const name = { displayName: displayNameOf(completed.fileName), namedAt: completed.createdAt }
  await completeUpload(tx, subject, name)
  return true
}

async function insertParts(
  tx: Tx,
  { id, organizationId }: WriteClaim,
  { parts }: IncomingRecord,
): Promise<void> {
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
