/**
 * The SQL of media: the asset of a recording, and the objects that no recording shows.
 *
 * The rule: an asset is moved by events only, each with the states that it may come from as a condition; and a key is in
 * `media_garbage` from before its object is put until the statement that publishes it.
 */
import type { Query, Tx } from '../platform/db/pool.ts'
import type { AssetStatus } from '../recordings/model.ts'
import { ASSET_EVENTS, type AssetErrorCode, type AssetEvent, MAX_TURN_MS } from './rules.ts'

/** Whose media it is. */
export interface Subject {
  readonly organizationId: string
  readonly recordingId: string
}

/** What an attempt at media of a URL is about. */
export interface Ingestion extends Subject {
  readonly url: string
  /** Since the media was asked for, by its caller or again by an operator. */
  readonly ageSeconds: number
  /** The recording has other media, which stays as it is until this is published. */
  readonly replaces: boolean
}

/** null where no media is awaited from a URL: deleted, or ended by another attempt. */
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

/** @returns false where the asset is not where the event may come from */
export async function moveAsset(
  tx: Tx,
  { organizationId, recordingId }: Subject,
  event: AssetEvent,
  errorCode: AssetErrorCode | null = null,
): Promise<boolean> {
  const { from, to } = ASSET_EVENTS[event]
  // A URL that may carry a secret is not kept for longer than it is needed.
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

/** Of media that is to replace other media: whether it is still awaited from its URL. */
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

/** Ends the wait for media that was to replace other media. The old media stays, and the code says why it was not replaced. */
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

/** Under the lock of the recording: media is awaited from this URL. Media that is there already stays until then. */
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
  /** Of the URL that it is, or would be, fetched from. */
  readonly hasUrl: boolean
  /** The URL itself, which may carry a secret. */
  readonly url: string | null
}

/** Locks the recording until the transaction ends. @returns undefined where the organization has no such recording */
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

/** Has media that was given up fetched again, with all the time that it had. @returns false where its URL is not there any more */
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

/** Objects that are there by now, and what the one that is played is. */
export interface StoredMedia {
  readonly objectKey: string
  /** Of the file as it came, where another is played. */
  readonly sourceKey: string | null
  readonly waveformKey: string | null
  readonly posterKey: string | null
  /** Those of the keys that are in `media_garbage`. */
  readonly entered: readonly string[]
  readonly contentType: string
  readonly isAudio: boolean
  readonly durationSeconds: number | null
  readonly fileSize: number
}

/**
 * `replace` publishes media in the place of other media, whose objects are deleted soon after.
 * @returns false as `moveAsset`, or where an object may be gone already
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

/** Enters the keys of objects that are about to be put, to be deleted when every turn of now must have ended. */
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

/** Keys of earlier attempts; they stay entered, since one of those may still be under way somewhere. */
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

/** The objects of a recording that is being deleted, or gets other media, are deleted soon after. */
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

/** Keys of one recording that may be deleted now. */
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

/**
 * An object must be unpublishable before it is deleted: so the row goes first, in a transaction that then deletes.
 * @returns false where it was published, or somebody else has deleted it
 */
export async function takeGarbage(tx: Tx, key: string): Promise<boolean> {
  const { count } = await tx`
    delete from media_garbage
    where object_key = ${key}
      and delete_after <= now()`
  return count === 1
}

/** Lets an object that cannot be deleted now wait, so that it does not keep others from being deleted. */
export async function postponeGarbage(query: Query, key: string): Promise<void> {
  await query`
    update media_garbage
    set delete_after = now() + interval '15 minutes'
    where object_key = ${key}`
}
