/**
 * The SQL of media: the asset of a recording, and objects that no recording refers to.
 *
 * An asset changes by events only, each with the statuses it may start from as a condition. A key is in `media_garbage`
 * from before its object is put until the statement that publishes it.
 */
import type { Query, Tx } from '../platform/db/pool.ts'
import type { AssetStatus } from '../recordings/model.ts'
import { ASSET_EVENTS, type AssetErrorCode, type AssetEvent, MAX_TURN_MS } from './rules.ts'

/** The recording that owns the media. */
export interface Subject {
  readonly organizationId: string
  readonly recordingId: string
}

/** One attempt to ingest media of a URL. */
export interface Ingestion extends Subject {
  readonly url: string
  /** Seconds since the caller requested the media, or an operator its retry. */
  readonly ageSeconds: number
  /** The recording has other media, which stays until this media is published. */
  readonly replaces: boolean
}

/** @returns null if no media is awaited from a URL: it was deleted, or another attempt ended it */
export async function beginIngestion(tx: Tx, recordingId: string): Promise<Ingestion | null> {
  const { from, to } = ASSET_EVENTS.begin
  const [row] = await tx<Ingestion[]>`
    update recording
    set
      asset_status = case when asset_status = 'completed' then 'completed' else ${to} end,
      updated_at = now()
    where id = ${recordingId}
      and (asset_status = any(${[...from]}::text[]) or asset_status = 'completed')
      and asset_source_url is not null
    returning
      organization_id as "organizationId", id as "recordingId", asset_source_url as url,
      asset_status = 'completed' as replaces,
      extract(epoch from now() - coalesce(asset_retried_at, created_at))::float8 as "ageSeconds"`
  return row ?? null
}

/** @returns false if the asset is in no status that the event may start from */
export async function moveAsset(
  tx: Tx,
  { organizationId, recordingId }: Subject,
  event: AssetEvent,
  errorCode: AssetErrorCode | null = null,
): Promise<boolean> {
  const { from, to } = ASSET_EVENTS[event]
  // The URL may contain a secret and is deleted as soon as it is no longer needed.
  const isOver = event === 'publish' || event === 'replace' || event === 'fail'
  const { count } = await tx`
    update recording
    set
      asset_status = ${to}, asset_error_code = ${errorCode}, updated_at = now(),
      asset_source_url = case when not ${isOver} then asset_source_url end
    where organization_id = ${organizationId}
      and id = ${recordingId}
      and asset_status = any(${[...from]}::text[])`
  return count === 1
}

/** Whether replacing media is still awaited from its URL. */
export async function isReplacing(tx: Tx, ingestion: Ingestion): Promise<boolean> {
  const { count } = await tx`
    select 1
    from recording
    where organization_id = ${ingestion.organizationId}
      and id = ${ingestion.recordingId}
      and asset_status = 'completed'
      and asset_source_url = ${ingestion.url}`
  return count === 1
}

/** Stops waiting for replacing media. The old media stays, and the code tells why it was not replaced. */
export async function failReplacement(
  tx: Tx,
  { organizationId, recordingId, url }: Ingestion,
  errorCode: AssetErrorCode,
): Promise<void> {
  await tx`
    update recording
    set asset_source_url = null, asset_error_code = ${errorCode}, updated_at = now()
    where organization_id = ${organizationId}
      and id = ${recordingId}
      and asset_status = 'completed'
      and asset_source_url = ${url}`
}

/** Awaits media from this URL. Current media stays until then. The caller has locked the recording. */
export async function awaitFromUrl(
  tx: Tx,
  { organizationId, recordingId }: Subject,
  url: string,
): Promise<void> {
  await tx`
    update recording
    set
      asset_status = case when asset_status = 'completed' then 'completed' else 'queued' end,
      asset_source_url = ${url}, asset_error_code = null, asset_retried_at = now(), updated_at = now()
    where organization_id = ${organizationId}
      and id = ${recordingId}`
}

export interface LockedAsset {
  readonly status: AssetStatus | null
  /** Whether the asset has, or kept, a source URL. */
  readonly hasUrl: boolean
  /** The URL itself, which may contain a secret. */
  readonly url: string | null
}

/** Locks the recording until the transaction ends. @returns undefined if the organization has no such recording */
export async function lockAsset(
  tx: Tx,
  { organizationId, recordingId }: Subject,
): Promise<LockedAsset | undefined> {
  const [row] = await tx<LockedAsset[]>`
    select asset_status as status, asset_source_url is not null as "hasUrl", asset_source_url as url
    from recording
    where organization_id = ${organizationId}
      and id = ${recordingId}
    for update`
  return row
}

/** Queues media that was given up, with its full time limit. @returns false if its URL was not kept */
export async function fetchAgain(tx: Tx, { organizationId, recordingId }: Subject): Promise<boolean> {
  const { from, to } = ASSET_EVENTS.fetchAgain
  const { count } = await tx`
    update recording
    set asset_status = ${to}, asset_error_code = null, asset_retried_at = now(), updated_at = now()
    where organization_id = ${organizationId}
      and id = ${recordingId}
      and asset_status = any(${[...from]}::text[])
      and asset_source_url is not null`
  return count === 1
}

/** Recordings of the organization whose media was given up and can be fetched again, oldest first. */
export async function recordingsToFetchAgain(query: Query, organizationId: string) {
  const rows = await query<{ id: string }[]>`
    select id
    from recording
    where organization_id = ${organizationId}
      and asset_status = 'failed'
      and asset_source_url is not null
    order by created_at, id`
  return rows.map(({ id }) => id)
}

/** Stored objects, and the properties of the one that is played. */
export interface StoredMedia {
  readonly objectKey: string
  /** Key of the original file if another file is played. */
  readonly sourceKey: string | null
  readonly waveformKey: string | null
  readonly posterKey: string | null
  /** The keys that are in `media_garbage`. */
  readonly entered: readonly string[]
  readonly contentType: string
  readonly isAudio: boolean
  readonly durationSeconds: number | null
  readonly fileSize: number
}

/**
 * `replace` publishes media in place of other media, whose objects are soon deleted.
 * @returns false as `moveAsset` does, or if an object may already be deleted
 */
export async function publishAsset(
  tx: Tx,
  subject: Subject,
  media: StoredMedia,
  event: 'publish' | 'replace' = 'publish',
): Promise<boolean> {
  const { organizationId, recordingId } = subject
  const kept = await tx`
    delete from media_garbage
    where organization_id = ${organizationId}
      and object_key = any(${[...media.entered]}::text[])`
  if (kept.count !== media.entered.length || !(await moveAsset(tx, subject, event))) return false
  if (event === 'replace') await discardMedia(tx, organizationId, recordingId)
  await tx`
    update recording
    set
      asset_object_key = ${media.objectKey}, asset_source_key = ${media.sourceKey},
      asset_waveform_key = ${media.waveformKey}, asset_poster_key = ${media.posterKey},
      asset_duration_seconds = ${media.durationSeconds}, asset_is_audio = ${media.isAudio},
      asset_content_type = ${media.contentType}, asset_file_size = ${media.fileSize}
    where organization_id = ${organizationId}
      and id = ${recordingId}`
  return true
}

/** Enters the keys of objects that are about to be put. They become due once every current turn must have ended. */
export async function enterGarbage(
  tx: Tx,
  { organizationId, recordingId }: Subject,
  keys: readonly string[],
): Promise<void> {
  await tx`
    insert into media_garbage (object_key, organization_id, recording_id, delete_after)
    select
      unnest(${[...keys]}::text[]), ${organizationId}, ${recordingId},
      now() + make_interval(secs => ${MAX_TURN_MS / 1_000}, hours => 1)`
}

/** Keys of earlier attempts. They stay entered, because such an attempt may still be running. */
export async function garbageOf(
  tx: Tx,
  { organizationId, recordingId }: Subject,
): Promise<readonly string[]> {
  const rows = await tx<{ key: string }[]>`
    select object_key as key
    from media_garbage
    where organization_id = ${organizationId}
      and recording_id = ${recordingId}`
  return rows.map(({ key }) => key)
}

/** Has the objects of a recording deleted soon. The recording is being deleted, or gets other media. */
export async function discardMedia(tx: Tx, organizationId: string, recordingId: string): Promise<void> {
  await tx`
    insert into media_garbage (object_key, organization_id, recording_id, delete_after)
    select distinct object_key, organization_id, id, now()
    from recording
    cross join unnest(
      array[asset_object_key, asset_source_key, asset_waveform_key, asset_poster_key]
    ) as object_key
    where organization_id = ${organizationId}
      and id = ${recordingId}
      and object_key is not null
    on conflict (object_key) do update set delete_after = now()`
}

/** Keys of one recording that are due. */
export async function dueGarbageOf(
  query: Query,
  { organizationId, recordingId }: Subject,
): Promise<readonly string[]> {
  const rows = await query<{ key: string }[]>`
    select object_key as key
    from media_garbage
    where organization_id = ${organizationId}
      and recording_id = ${recordingId}
      and delete_after <= now()`
  return rows.map(({ key }) => key)
}

/** Keys of every organization that are due, oldest first. */
export async function dueGarbage(query: Query, limit: number): Promise<readonly string[]> {
  const rows = await query<{ key: string }[]>`
    select object_key as key
    from media_garbage
    where delete_after <= now()
    order by delete_after
    limit ${limit}`
  return rows.map(({ key }) => key)
}

/**
 * An object must be unpublishable before it is deleted. Therefore the row is deleted first, in the transaction that
 * then deletes the object.
 * @returns false if the object was published or already deleted
 */
export async function takeGarbage(tx: Tx, key: string): Promise<boolean> {
  const { count } = await tx`
    delete from media_garbage
    where object_key = ${key}
      and delete_after <= now()`
  return count === 1
}

/** Postpones an object that cannot be deleted now, so that it does not block the others. */
export async function postponeGarbage(query: Query, key: string): Promise<void> {
  await query`
    update media_garbage
    set delete_after = now() + interval '15 minutes'
    where object_key = ${key}`
}
