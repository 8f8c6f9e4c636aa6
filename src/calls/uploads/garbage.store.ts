/** The SQL of bytes that uploads leave behind, and of objects whose bytes may still become media. */
import type { Json, Query, Tx } from '../../platform/db/pool.ts'
import { ACTIVE_PHASES } from './rules.ts'
import type { UploadState } from './state.ts'

interface UploadRef extends Pick<UploadState, 'id'> {
  readonly organizationId: string
}

interface RecordingRef {
  readonly organizationId: string
  readonly recordingId: string
}

/** True for uploads whose bytes may still become media. */
const holdsBytes = (query: Query) => query`(phase = any(${[...ACTIVE_PHASES]}::text[]) or bytes_kept)`

/** Object keys of every organization whose bytes are incomplete or were kept. */
export async function awaitedKeys(query: Query): Promise<readonly string[]> {
  const rows = await query<{ key: string }[]>`
    select object_key as key
    from upload
    where ${holdsBytes(query)}`
  return rows.map(({ key }) => key)
}

/** Discards the received bytes of an upload that has just ended or starts over. */
export async function discardUpload(tx: Tx, upload: UploadRef): Promise<void> {
  await tx`
    insert into upload_garbage (object_key, organization_id, resume_state, delete_after)
    select object_key, organization_id, resume_state, now()
    from upload
    where organization_id = ${upload.organizationId}
      and id = ${upload.id}
    on conflict (object_key) do nothing`
  await forgetParts(tx, upload)
}

/** Called when the object is complete, or never will be. */
export async function forgetParts(tx: Tx, { id, organizationId }: UploadRef): Promise<void> {
  await tx`
    delete from upload_part
    where organization_id = ${organizationId}
      and upload_id = ${id}`
}

/** Discards the bytes kept from earlier uploads of the recording, because other media has taken their place. */
export async function discardKept(tx: Tx, { organizationId, recordingId }: RecordingRef): Promise<void> {
  const kept = await tx<{ id: string }[]>`
    update upload
    set bytes_kept = false
    where organization_id = ${organizationId}
      and recording_id = ${recordingId}
      and bytes_kept
    returning id`
  for (const { id } of kept) await discardUpload(tx, { id, organizationId })
}

/** Discards the bytes of uploads of a recording that is being deleted, if they are active or their bytes were kept. */
export async function discardUploads(tx: Tx, { organizationId, recordingId }: RecordingRef): Promise<void> {
  await tx`
    insert into upload_garbage (object_key, organization_id, resume_state, delete_after)
    select object_key, organization_id, resume_state, now()
    from upload
    where organization_id = ${organizationId}
      and recording_id = ${recordingId}
      and ${holdsBytes(tx)}
    on conflict (object_key) do nothing`
}

/**
 * Deletes some uploads of an organization that is being erased, and discards their bytes. A request that is receiving one finds no row
 * and ends. @returns the number of uploads, at most `limit`
 */
export async function deleteUploads(tx: Tx, organizationId: string, limit: number): Promise<number> {
  const rows = await tx<{ id: string }[]>`
    select id from upload
    where organization_id = ${organizationId}
    order by id
    limit ${limit}
    for update`
  const ids = rows.map(({ id }) => id)
  await tx`
    insert into upload_garbage (object_key, organization_id, resume_state, delete_after)
    select object_key, organization_id, resume_state, now()
    from upload
    where organization_id = ${organizationId}
      and id = any(${ids}::uuid[])
      and ${holdsBytes(tx)}
    on conflict (object_key) do nothing`
  await tx`delete from upload where organization_id = ${organizationId} and id = any(${ids}::uuid[])`
  return ids.length
}

export interface Garbage {
  readonly objectKey: string
  readonly resumeState: Json
  /** The object was already deleted once. */
  readonly again: boolean
}

/** Undeleted bytes of an upload that has ended. */
export function garbageOf(query: Query, { id, organizationId }: UploadRef) {
  return query<Garbage[]>`
    select g.object_key as "objectKey", g.resume_state as "resumeState", g.again
    from upload_garbage g
    join upload u on u.object_key = g.object_key
    where g.organization_id = ${organizationId}
      and u.id = ${id}
      and not g.again`
}

/** Due entries of one organization, for the first or the second deletion. */
export function dueGarbageIn(query: Query, organizationId: string, limit: number) {
  return query<Garbage[]>`
    select object_key as "objectKey", resume_state as "resumeState", again
    from upload_garbage
    where organization_id = ${organizationId}
      and delete_after <= now()
    limit ${limit}`
}

/**
 * Due entries of every organization, oldest first. Each becomes due again later, so that a failing entry does not block
 * the others.
 */
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
    returning g.object_key as "objectKey", g.resume_state as "resumeState", g.again`
}

/**
 * After the first deletion, schedules a second one for when no older request can still be writing. After the second,
 * removes the entry.
 */
export async function markDeleted(query: Query, { objectKey, again }: Garbage): Promise<void> {
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
