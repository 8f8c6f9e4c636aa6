/**
 * SQL of folders and upload batches.
 *
 * `visibleFolder` defines who sees a folder, `visibleRecording` who sees a recording. Every statement about either uses
 * one of them.
 */
import type { Owner, Viewer } from '../../kernel/principal.ts'
import { asMicroseconds, behind, type TimeSlice } from '../../platform/db/keyset.ts'
import type { Query } from '../../platform/db/pool.ts'
import type { Folder, UploadBatch } from './model.ts'

/** SQL condition on the folder `f`: shared folders are visible to the whole organization, private ones to their owner. */
export const visibleFolder = (sql: Query, viewer: Viewer) => sql`
  f.organization_id = ${viewer.organizationId}
  and (f.owner_user_id is null ${viewer.kind === 'user' ? sql`or f.owner_user_id = ${viewer.userId}` : sql``})`

/**
 * SQL condition on the recording `r`: it belongs to the organization and has no folder, or a folder that the viewer sees.
 *
 * The scalar subquery is deliberate: it costs one index look-up a row. PostgreSQL answers an `exists` by hashing all of
 * `recording_folder` first, because it does not see that a list stops after a page.
 *
 * A list therefore also reads the recordings that it hides, at some microseconds each. A flag on the recording would
 * spare that for keys but not for users, and one statement that forgets to maintain it would publish private recordings.
 */
export const visibleRecording = (sql: Query, viewer: Viewer) => sql`
  r.organization_id = ${viewer.organizationId}
  and coalesce(
    (
      select bool_or(${visibleFolder(sql, viewer)})
      from recording_folder rf
      join folder f on f.id = rf.folder_id
      where rf.recording_id = r.id
    ),
    true
  )`

/** Ids of the recordings that are only in folders that the viewer does not see, as a query. It starts at the private folders. */
export const hiddenRecordings = (sql: Query, viewer: Viewer) => sql`
  select hiding.recording_id
  from folder private
  join recording_folder hiding on hiding.folder_id = private.id
  where private.organization_id = ${viewer.organizationId}
    and private.owner_user_id is not null
    and not exists (
      select
      from recording_folder rf
      join folder f on f.id = rf.folder_id
      where rf.recording_id = hiding.recording_id and ${visibleFolder(sql, viewer)}
    )`

export type FolderRow = Folder & { readonly createdMicroseconds: number }

const folderColumns = (sql: Query) => sql`
  f.id, f.name, f.owner_user_id is null as shared, f.created_at as "createdAt",
  ${asMicroseconds(sql, 'f.created_at')} as "createdMicroseconds"`

export async function insertFolder(
  sql: Query,
  row: {
    readonly id: string
    readonly organizationId: string
    readonly ownerUserId: string | null
    readonly name: string
  },
): Promise<FolderRow> {
  const [folder] = await sql<FolderRow[]>`
    insert into folder as f (id, organization_id, owner_user_id, name)
    values (${row.id}, ${row.organizationId}, ${row.ownerUserId}, ${row.name})
    returning ${folderColumns(sql)}`
  return folder as FolderRow
}

export async function findFolder(sql: Query, viewer: Viewer, id: string): Promise<FolderRow | undefined> {
  const [folder] = await sql<FolderRow[]>`
    select ${folderColumns(sql)}
    from folder f
    where ${visibleFolder(sql, viewer)}
      and f.id = ${id}`
  return folder
}

/** @returns undefined if the viewer cannot see the folder */
export async function renameFolder(
  sql: Query,
  viewer: Viewer,
  id: string,
  name: string,
): Promise<FolderRow | undefined> {
  const [folder] = await sql<FolderRow[]>`
    update folder f
    set name = ${name}
    where ${visibleFolder(sql, viewer)}
      and f.id = ${id}
    returning ${folderColumns(sql)}`
  return folder
}

/** Until the transaction ends, no recording is put into the folder. @returns false if the viewer cannot see it */
export async function lockFolder(tx: Query, viewer: Viewer, id: string): Promise<boolean> {
  const rows = await tx`
    select 1
    from folder f
    where ${visibleFolder(tx, viewer)}
      and f.id = ${id}
    for update`
  return rows.length === 1
}

/** Deletes the locked folder if it is empty. @returns false if it holds a recording */
export async function deleteEmptyFolder(tx: Query, organizationId: string, id: string): Promise<boolean> {
  const rows = await tx`
    delete from folder f
    where f.organization_id = ${organizationId}
      and f.id = ${id}
      and not exists (select 1 from recording_folder rf where rf.folder_id = f.id)
    returning 1`
  return rows.length === 1
}

/** Newest first. */
export function listFolders(sql: Query, viewer: Viewer, { after, limit }: TimeSlice) {
  return sql<FolderRow[]>`
    select ${folderColumns(sql)}
    from folder f
    where ${visibleFolder(sql, viewer)}
      ${behind(sql, 'f.created_at', 'f.id', after)}
    order by f.created_at desc, f.id desc
    limit ${limit + 1}`
}

/** Folders among these ids that the viewer sees. Their rows stay until the transaction ends. */
export async function lockFolders(
  tx: Query,
  viewer: Viewer,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await tx<{ id: string }[]>`
    select f.id
    from folder f
    where ${visibleFolder(tx, viewer)}
      and f.id = any(${ids as string[]}::uuid[])
    order by f.id
    for key share`
  return new Set(rows.map(({ id }) => id))
}

/** Counts the user's private folders, and the recordings that are in no other folder. */
export async function countPrivate(
  tx: Query,
  organizationId: string,
  userId: string,
): Promise<{ readonly folders: number; readonly recordings: number }> {
  const [row] = await tx<{ folders: number; recordings: number }[]>`
    with own as (
      select id from folder where organization_id = ${organizationId} and owner_user_id = ${userId}
    )
    select
      (select count(*) from own)::int as folders,
      (
        select count(distinct rf.recording_id)
        from own
        join recording_folder rf on rf.folder_id = own.id
        where not exists (
          select 1 from recording_folder other
          where other.recording_id = rf.recording_id and other.folder_id not in (select id from own)
        )
      )::int as recordings`
  return row ?? { folders: 0, recordings: 0 }
}

/** Makes another user the owner of the private folders. */
export async function handOver(tx: Query, organizationId: string, from: string, to: string): Promise<void> {
  await tx`
    update folder
    set owner_user_id = ${to}
    where organization_id = ${organizationId}
      and owner_user_id = ${from}`
}

const batchColumns = (sql: Query) => sql`b.id, b.created_at as "createdAt"`

export async function insertBatch(
  sql: Query,
  row: { readonly id: string; readonly organizationId: string; readonly userId: string },
): Promise<UploadBatch> {
  const [batch] = await sql<UploadBatch[]>`
    insert into upload_batch as b (id, organization_id, user_id)
    values (${row.id}, ${row.organizationId}, ${row.userId})
    returning ${batchColumns(sql)}`
  return batch as UploadBatch
}

/** Newest first. */
export function listBatches(sql: Query, user: Owner, limit: number) {
  return sql<UploadBatch[]>`
    select ${batchColumns(sql)}
    from upload_batch b
    where b.organization_id = ${user.organizationId}
      and b.user_id = ${user.userId}
    order by b.created_at desc, b.id desc
    limit ${limit}`
}

export async function findBatch(sql: Query, user: Owner, id: string): Promise<UploadBatch | undefined> {
  const [batch] = await sql<UploadBatch[]>`
    select ${batchColumns(sql)}
    from upload_batch b
    where b.organization_id = ${user.organizationId}
      and b.user_id = ${user.userId}
      and b.id = ${id}`
  return batch
}

/** Whether the recording exists and the viewer sees it. */
export async function seesRecording(query: Query, viewer: Viewer, recordingId: string): Promise<boolean> {
  const rows = await query`
    select 1
    from recording r
    where ${visibleRecording(query, viewer)}
      and r.id = ${recordingId}`
  return rows.length === 1
}
