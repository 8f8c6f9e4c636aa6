/** Reads and changes the asset of a recording. Changes run in the caller's transaction. Uploads, media and recordings use it. */
import type { PendingQuery, Row } from 'postgres'
import type { Query, Tx } from '../../platform/db/pool.ts'
import { ASSET_EVENTS, type AssetErrorCode, type AssetEvent, keepsUrl } from './rules.ts'
import * as store from './store.ts'

export type { Ingestion, LockedAsset, PublishedMedia, Subject } from './store.ts'

/** Applies an event. @returns false if the asset is in no status that the event may start from */
export function moveAsset(
  tx: Tx,
  subject: store.Subject,
  event: AssetEvent,
  errorCode: AssetErrorCode | null = null,
): Promise<boolean> {
  return store.changeStatus(tx, subject, { ...ASSET_EVENTS[event], errorCode, keepsUrl: keepsUrl(event) })
}

/** The asset's upload has completed. A recording without a name gets `displayName`, if that is not null. */
export function completeUpload(tx: Tx, subject: store.Subject, name: store.NameOfFile): Promise<void> {
  return store.completeUpload(tx, subject, ASSET_EVENTS.uploadCompletes, name)
}

/** @returns null if no media is awaited from a URL: it was deleted, or another attempt ended it */
export function beginIngestion(tx: Tx, recordingId: string): Promise<store.Ingestion | null> {
  return store.beginIngestion(tx, recordingId, ASSET_EVENTS.begin)
}

/** Queues media that was given up, with its full time limit. @returns false if its URL was not kept */
export function fetchAgain(tx: Tx, subject: store.Subject): Promise<boolean> {
  return store.fetchAgain(tx, subject, ASSET_EVENTS.fetchAgain)
}

/** Publishes media. `replace`: in place of other media. @returns false as `moveAsset` does */
export async function publishMedia(
  tx: Tx,
  subject: store.Subject,
  media: store.PublishedMedia,
  event: 'publish' | 'replace',
): Promise<boolean> {
  if (!(await moveAsset(tx, subject, event))) return false
  await store.writeMedia(tx, subject, media)
  return true
}

/** Locks the recording until the transaction ends. @returns undefined if the organization has no such recording */
export function lockAsset(tx: Tx, subject: store.Subject): Promise<store.LockedAsset | undefined> {
  return store.lockAsset(tx, subject)
}

/** As `lockAsset`, for the viewer of a request. @returns undefined if the condition on the recording `r` hides it */
export function lockVisibleAsset(
  tx: Tx,
  recordingId: string,
  visible: PendingQuery<Row[]>,
): Promise<store.SeenAsset | undefined> {
  return store.lockVisibleAsset(tx, recordingId, visible)
}

/** Makes the asset wait for an upload and forgets earlier attempts. Media that already plays stays unchanged. */
export function awaitUpload(tx: Tx, subject: store.Subject): Promise<void> {
  return store.awaitUpload(tx, subject)
}

/** Makes the asset wait for the recorder of a meeting. Until it has ended, other media is refused. */
export function awaitRecorder(tx: Tx, subject: store.Subject): Promise<void> {
  return store.awaitUpload(tx, subject)
}

/** Awaits media from this URL. Current media stays until then. The caller has locked the recording. */
export function awaitFromUrl(tx: Tx, subject: store.Subject, url: string): Promise<void> {
  return store.awaitFromUrl(tx, subject, url)
}

/** Whether replacing media is still awaited from its URL. */
export function isReplacing(tx: Tx, ingestion: store.Ingestion): Promise<boolean> {
  return store.isReplacing(tx, ingestion)
}

/** Stops waiting for replacing media. The old media stays, and the code tells why it was not replaced. */
export function failReplacement(
  tx: Tx,
  ingestion: store.Ingestion,
  errorCode: AssetErrorCode,
): Promise<void> {
  return store.failReplacement(tx, ingestion, errorCode)
}

/** Part of a statement: a query of the recording's object keys, with the columns `object_key`, `organization_id` and `recording_id`. */
export function objectsOf(query: Query, subject: store.Subject): PendingQuery<Row[]> {
  return store.objectsOf(query, subject)
}

/** Ids of the recordings of the organization whose media was given up and can be fetched again, oldest first. */
export function recordingsToFetchAgain(query: Query, organizationId: string): Promise<readonly string[]> {
  return store.recordingsToFetchAgain(query, organizationId)
}
