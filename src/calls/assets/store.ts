/** The SQL of the asset of a recording. No other store writes the columns `recording.asset_*`. */
import type { PendingQuery, Row } from 'postgres'
import type { AssetStatus } from '../../kernel/asset-status.ts'
import type { Query, Tx } from '../../platform/db/pool.ts'
import { nameWords } from '../../platform/text/words.rules.ts'
import type { AssetErrorCode } from './rules.ts'

/** The recording that owns the asset. */
export interface Subject {
  readonly organizationId: string
  readonly recordingId: string
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

/** A part of a statement. */
type Fragment = PendingQuery<Row[]>

export interface SeenAsset {
  readonly assetStatus: AssetStatus | null
  /** Media from a URL is to replace the media that plays. */
  readonly isReplacing: boolean
}

/** As `lockAsset`, for the viewer of a request. @returns undefined if the condition on the recording `r` hides it */
export async function lockVisibleAsset(
  tx: Tx,
  recordingId: string,
  visible: Fragment,
): Promise<SeenAsset | undefined> {
  const [row] = await tx<SeenAsset[]>`
    select
      r.asset_status as "assetStatus",
      r.asset_status = 'completed' and r.asset_source_url is not null as "isReplacing"
    from recording r
    where ${visible}
      and r.id = ${recordingId}
    for update of r`
  return row
}

export interface StatusChange {
  readonly from: readonly AssetStatus[]
  readonly to: AssetStatus
  readonly errorCode: AssetErrorCode | null
  readonly keepsUrl: boolean
}

/** @returns false if the asset is in none of the statuses `from` */
export async function changeStatus(
  tx: Tx,
  { organizationId, recordingId }: Subject,
  { from, to, errorCode, keepsUrl }: StatusChange,
): Promise<boolean> {
  const { count } = await tx`
    update recording
    set
      asset_status = ${to}, asset_error_code = ${errorCode}, updated_at = now(),
      asset_source_url = case when ${keepsUrl} then asset_source_url end
    where organization_id = ${organizationId}
      and id = ${recordingId}
      and asset_status = any(${[...from]}::text[])`
  return count === 1
}

export interface NameOfFile {
  readonly displayName: string | null
  /** When the name was received, as text. */
  readonly namedAt: string
}

/** As `changeStatus`, for an upload that has completed. A recording without a name gets `displayName`, if that is not null. */
export async function completeUpload(
  tx: Tx,
  { organizationId, recordingId }: Subject,
  { from, to }: Pick<StatusChange, 'from' | 'to'>,
  { displayName, namedAt }: NameOfFile,
): Promise<void> {
  await tx`
    update recording
    set
      asset_status = ${to}, updated_at = now(), display_name = coalesce(display_name, ${displayName}),
      name_words = case when display_name is null then ${nameWords(displayName)} else name_words end,
      named_at = case when display_name is null then ${namedAt}::text::timestamptz else named_at end
    where organization_id = ${organizationId}
      and id = ${recordingId}
      and asset_status = any(${[...from]}::text[])`
}

/** Makes the asset wait for an upload and forgets earlier attempts. Media that already plays stays unchanged. */
export async function awaitUpload(tx: Tx, { organizationId, recordingId }: Subject): Promise<void> {
  await tx`
    update recording
    set
      asset_status = 'waiting', asset_error_code = null, asset_source_url = null, asset_object_key = null,
      asset_duration_seconds = null, asset_is_audio = null, asset_content_type = null, asset_file_size = null,
      updated_at = now()
    where organization_id = ${organizationId}
      and id = ${recordingId}
      and asset_status is distinct from 'completed'`
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

/** One attempt to ingest media of a URL. */
export interface Ingestion extends Subject {
  readonly url: string
  /** Seconds since the caller requested the media, or an operator its retry. */
  readonly ageSeconds: number
  /** The recording has other media, which stays until this media is published. */
  readonly replaces: boolean
}

/** Takes the id alone, because the actor's message has nothing else. @returns null if no media is awaited from a URL */
export async function beginIngestion(
  tx: Tx,
  recordingId: string,
  { from, to }: Pick<StatusChange, 'from' | 'to'>,
): Promise<Ingestion | null> {
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

/** Queues media that was given up, with its full time limit. @returns false if its URL was not kept */
export async function fetchAgain(
  tx: Tx,
  { organizationId, recordingId }: Subject,
  { from, to }: Pick<StatusChange, 'from' | 'to'>,
): Promise<boolean> {
  const { count } = await tx`
    update recording
    set asset_status = ${to}, asset_error_code = null, asset_retried_at = now(), updated_at = now()
    where organization_id = ${organizationId}
      and id = ${recordingId}
      and asset_status = any(${[...from]}::text[])
      and asset_source_url is not null`
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

/** The objects of published media, and the properties of the object that is played. */
export interface PublishedMedia {
  readonly objectKey: string
  /** Key of the original file if another file is played. */
  readonly sourceKey: string | null
  readonly waveformKey: string | null
  readonly posterKey: string | null
  readonly contentType: string
  readonly isAudio: boolean
  readonly durationSeconds: number | null
  readonly fileSize: number
  /** Size of the original if another file is played; else null. */
  readonly sourceBytes: number | null
}

export async function writeMedia(
  tx: Tx,
  { organizationId, recordingId }: Subject,
  media: PublishedMedia,
): Promise<void> {
  await tx`
    update recording
    set
      asset_object_key = ${media.objectKey}, asset_source_key = ${media.sourceKey},
      asset_waveform_key = ${media.waveformKey}, asset_poster_key = ${media.posterKey},
      asset_duration_seconds = ${media.durationSeconds}, asset_is_audio = ${media.isAudio},
      asset_content_type = ${media.contentType}, asset_file_size = ${media.fileSize},
      asset_source_bytes = ${media.sourceBytes}
    where organization_id = ${organizationId}
      and id = ${recordingId}`
}

/** A query of the object keys of a recording, with the columns `object_key`, `organization_id` and `recording_id`. */
export const objectsOf = (query: Query, { organizationId, recordingId }: Subject): Fragment => query`
  select object_key, organization_id, id as recording_id
  from recording
  cross join unnest(
    array[asset_object_key, asset_source_key, asset_waveform_key, asset_poster_key]
  ) as object_key
  where organization_id = ${organizationId}
    and id = ${recordingId}
    and object_key is not null`

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
