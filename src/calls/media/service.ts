/** What other features use of media besides its handlers: giving up, cleaning up, and deleting a recording. */
import type { GiveUp, MaintenanceTask } from '../../actors/types.ts'
import type { AssetStatus } from '../../kernel/asset-status.ts'
import type { Deps } from '../../kernel/deps.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { AppError } from '../../platform/errors.ts'
import * as assets from '../assets/service.ts'
import { hasActiveUpload } from '../uploads/processing.ts'
import * as store from './store.ts'

/** Rarely more than a few: a key is due only after a crash or a deletion. */
const KEYS_AT_ONCE = 500

/** More attempts than fit into the maximum age at the largest pause between them. */
export const INGEST_ATTEMPTS = 300

/**
 * Handles an `ingest_url` message that failed every time without an error code, because its worker was killed or hung.
 * The URL is kept.
 */
export const giveUpIngestion: GiveUp = async (message, tx) => {
  const ingestion = await assets.beginIngestion(tx, message.id)
  if (ingestion?.replaces) await assets.failReplacement(tx, ingestion, 'processing_failed')
  else if (ingestion !== null) await assets.moveAsset(tx, ingestion, 'giveUp', 'processing_failed')
  return 'handled'
}

/** Asset statuses that permit media by URL. At `completed` it replaces the current media. */
const PERMIT_URL: readonly (AssetStatus | null)[] = [null, 'completed', 'failed', 'cancelled']

/**
 * Has media fetched from a URL. Runs in the transaction that locks the recording. Current media stays playable until
 * the new media is published. Requesting the same URL again while it is awaited changes nothing.
 * @returns whether to send the message `ingest_url`
 * @throws AppError 409 `media_ingestion_active` if other media is being ingested
 */
export async function requestMedia(tx: Tx, recording: assets.Subject, url: string): Promise<boolean> {
  const asset = await assets.lockAsset(tx, recording)
  if (asset === undefined) return false
  const isAwaited = asset.url !== null && asset.status !== 'failed'
  if (isAwaited && asset.url === url) return false
  if (isAwaited || !PERMIT_URL.includes(asset.status) || (await hasActiveUpload(tx, recording)))
    throw new AppError(
      'media_ingestion_active',
      'Other media of this recording is being ingested. Wait until it is ready or has failed.',
    )
  await assets.awaitFromUrl(tx, recording, url)
  return true
}

/** Has the objects of a recording deleted soon, for the transaction that deletes the recording. */
export function discardMedia(tx: Tx, recording: assets.Subject): Promise<void> {
  return store.discardMedia(tx, recording)
}

type GarbageDeps = Pick<Deps, 'sql' | 'storage' | 'log'>

/** Deletes objects that no recording refers to. */
export function mediaMaintenance(deps: GarbageDeps): readonly MaintenanceTask[] {
  return [{ name: 'media_garbage', everySeconds: 60, run: (stopping) => deleteGarbage(deps, stopping) }]
}

/**
 * Deletes the entries of `discardMedia` for a recording, after its transaction, so that playback URLs fail from now on,
 * including those of the object store itself. Maintenance deletes what takes longer than `ms`.
 */
export async function deleteDiscarded(deps: GarbageDeps, subject: assets.Subject, ms: number): Promise<void> {
  const signal = AbortSignal.timeout(ms)
  try {
    const keys = await store.dueGarbageOf(deps.sql, subject)
    await Promise.all(keys.map((key) => deleteOne(deps, key, signal)))
  } catch (error) {
    deps.log.warn({ recordingId: subject.recordingId, err: error }, 'could not delete media yet')
  }
}

/** Deletes what is due of an organization that is being erased. @returns the number of keys, also of those that could not be deleted */
export async function deleteDiscardedOf(
  deps: GarbageDeps,
  organizationId: string,
  stopping: AbortSignal,
): Promise<number> {
  const keys = await store.dueGarbageIn(deps.sql, organizationId, KEYS_AT_ONCE)
  for (const key of keys) {
    if (stopping.aborted) break
    await deleteOne(deps, key)
  }
  return keys.length
}

async function deleteGarbage(deps: GarbageDeps, stopping: AbortSignal): Promise<void> {
  while (!stopping.aborted) {
    const keys = await store.dueGarbage(deps.sql, KEYS_AT_ONCE)
    if (keys.length === 0) return
    for (const key of keys) {
      if (stopping.aborted) return
      await deleteOne(deps, key)
    }
  }
}

/** Deleting the row first makes the object unpublishable. If the object cannot be deleted, the row comes back. */
async function deleteOne(
  { sql, storage, log }: GarbageDeps,
  key: string,
  signal?: AbortSignal,
): Promise<void> {
  try {
    await transaction(sql, async (tx) => {
      if (await store.takeGarbage(tx, key)) await storage.delete([key], signal)
    })
  } catch (error) {
    log.warn({ objectKey: key, err: error }, 'could not delete media yet')
    await store.postponeGarbage(sql, key)
  }
}
