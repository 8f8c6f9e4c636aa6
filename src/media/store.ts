/**
 * The SQL of media: the asset of a recording, and the objects that no recording shows.
 *
 * The rule: an asset is moved by events only, each with the states that it may come from as a condition; and a key is in
 * `media_garbage` from before its object is put until the statement that publishes it.
 */
import type { Query, Tx } from '../platform/db/pool.ts'
import { ASSET_EVENTS, type AssetErrorCode, type AssetEvent, type MediaFacts } from './rules.ts'

/** What an attempt is about. */
export interface Ingestion {
  readonly organizationId: string
  readonly recordingId: string
  readonly url: string
  /** Since the media was asked for. */
  readonly ageSeconds: number
}

/** null where no media is awaited from a URL: deleted, or ended by another attempt. */
export async function beginIngestion(tx: Tx, recordingId: string): Promise<Ingestion | null> {
  const { from, to } = ASSET_EVENTS.begin
  const [row] = await tx<Ingestion[]>`
    update recording
    set asset_status = ${to}, updated_at = now()
    where id = ${recordingId}
      and asset_status = any(${[...from]}::text[])
      and asset_source_url is not null
    returning
      organization_id as "organizationId", id as "recordingId", asset_source_url as url,
      extract(epoch from now() - created_at)::float8 as "ageSeconds"`
  return row ?? null
}

/** @returns false where the asset is not where the event may come from */
export async function moveAsset(
  tx: Tx,
  { organizationId, recordingId }: Ingestion,
  event: AssetEvent,
  errorCode: AssetErrorCode | null = null,
): Promise<boolean> {
  const { from, to } = ASSET_EVENTS[event]
  const { count } = await tx`
    update recording
    set asset_status = ${to}, asset_error_code = ${errorCode}, updated_at = now()
    where organization_id = ${organizationId}
      and id = ${recordingId}
      and asset_status = any(${[...from]}::text[])`
  return count === 1
}

/** With the object that is there by now. @returns false as `moveAsset`, or where the object may be gone already */
export async function publishAsset(
  tx: Tx,
  ingestion: Ingestion,
  objectKey: string,
  facts: MediaFacts & { readonly fileSize: number },
): Promise<boolean> {
  const { organizationId, recordingId } = ingestion
  const kept = await tx`
    delete from media_garbage
    where organization_id = ${organizationId}
      and object_key = ${objectKey}`
  if (kept.count !== 1 || !(await moveAsset(tx, ingestion, 'publish'))) return false
  await tx`
    update recording
    set
      asset_object_key = ${objectKey}, asset_duration_seconds = ${facts.durationSeconds},
      asset_is_audio = ${facts.isAudio}, asset_content_type = ${facts.contentType},
      asset_file_size = ${facts.fileSize}
    where organization_id = ${organizationId}
      and id = ${recordingId}`
  return true
}

/** Enters the key of an object that is about to be put, to be deleted when every turn of now must have ended. */
export async function enterGarbage(
  tx: Tx,
  { organizationId, recordingId }: Ingestion,
  objectKey: string,
): Promise<void> {
  await tx`
    insert into media_garbage (object_key, organization_id, recording_id, delete_after)
    values (${objectKey}, ${organizationId}, ${recordingId}, now() + interval '3 hours')`
}

/** Keys of earlier attempts; they stay entered, since one of those may still be under way somewhere. */
export async function garbageOf(
  tx: Tx,
  { organizationId, recordingId }: Ingestion,
): Promise<readonly string[]> {
  const rows = await tx<{ key: string }[]>`
    select object_key as key
    from media_garbage
    where organization_id = ${organizationId}
      and recording_id = ${recordingId}`
  return rows.map(({ key }) => key)
}

/** The object of a recording that is being deleted goes soon after. */
export async function discardMedia(tx: Tx, organizationId: string, recordingId: string): Promise<void> {
  await tx`
    insert into media_garbage (object_key, organization_id, recording_id, delete_after)
    select asset_object_key, organization_id, id, now()
    from recording
    where organization_id = ${organizationId}
      and id = ${recordingId}
      and asset_object_key is not null
    on conflict (object_key) do update set delete_after = now()`
}

/** Of every organization: oldest first. */
export async function dueGarbage(query: Query, limit: number): Promise<readonly string[]> {
  const rows = await query<{ key: string }[]>`
    select object_key as key
    from media_garbage
    where delete_after <= now()
    order by delete_after
    limit ${limit}`
  return rows.map(({ key }) => key)
}

/** Their objects must be unpublishable before they are deleted: so the rows go first, in a transaction that then deletes. */
export async function takeGarbage(tx: Tx, keys: readonly string[]): Promise<void> {
  await tx`
    delete from media_garbage
    where object_key = any(${keys as string[]}::text[])
      and delete_after <= now()`
}
