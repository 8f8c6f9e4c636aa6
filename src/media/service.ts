/** What others need of media besides its handlers: giving up, cleaning up, and the end of a recording. */
import type { GiveUp, MaintenanceTask } from '../actors/types.ts'
import type { Deps } from '../container.ts'
import type { Tx } from '../platform/db/pool.ts'
import { transaction } from '../platform/db/transaction.ts'
import { AppError } from '../platform/errors.ts'
import type { AssetStatus } from '../recordings/model.ts'
import { hasActiveUpload } from '../uploads/processing.ts'
import * as store from './store.ts'

/** Lets the objects of a recording go, in the transaction that deletes it. */
export { discardMedia } from './store.ts'

/** Seldom more than a few: a key is due only where a process was killed or a recording deleted. */
const KEYS_AT_ONCE = 500

/** More tries than fit into the maximum age at the largest pause between them. */
export const INGEST_ATTEMPTS = 300

/** Of the message `ingest_url`, which failed every time without saying why: its worker was killed, or it hung. The URL is kept. */
export const giveUpIngestion: GiveUp = async (message, tx) => {
  const ingestion = await store.beginIngestion(tx, message.id)
  if (ingestion?.replaces) await store.failReplacement(tx, ingestion, 'processing_failed')
  else if (ingestion !== null) await store.moveAsset(tx, ingestion, 'giveUp', 'processing_failed')
  return 'handled'
}

/** Where media may be asked for by URL; at `completed` it replaces the media that is there. */
const MAY_ASK: readonly (AssetStatus | null)[] = [null, 'completed', 'failed', 'cancelled']

/**
 * Has media fetched from a URL, in the transaction that has locked the recording. Where media is there, it stays playable until
 * the new media is published. The same URL again, while it is awaited, changes nothing.
 * @returns whether the message `ingest_url` is to be sent
 * @throws AppError 409 `media_ingestion_active` where other media is on its way
 */
export async function requestMedia(tx: Tx, recording: store.Subject, url: string): Promise<boolean> {
  const asset = await store.lockAsset(tx, recording)
  if (asset === undefined) return false
  const isAwaited = asset.url !== null && asset.status !== 'failed'
  if (isAwaited && asset.url === url) return false
  if (isAwaited || !MAY_ASK.includes(asset.status) || (await hasActiveUpload(tx, recording)))
    throw new AppError(
      'media_ingestion_active',
      'Other media of this recording is on its way: wait until it is there or has failed.',
    )
  await store.awaitFromUrl(tx, recording, url)
  return true
}

type GarbageDeps = Pick<Deps, 'sql' | 'storage' | 'log'>

/** Deletes objects that nothing shows. */
export function mediaMaintenance(deps: GarbageDeps): readonly MaintenanceTask[] {
  return [{ name: 'media_garbage', everySeconds: 60, run: (stopping) => deleteGarbage(deps, stopping) }]
}

/**
 * Deletes what `discardMedia` has entered for a recording, after its transaction, so that playback URLs of it are refused from now
 * on, also those that lead to the object store itself. What cannot be deleted within `ms` is left to maintenance.
 */
export async function deleteDiscarded(deps: GarbageDeps, subject: store.Subject, ms: number): Promise<void> {
  const signal = AbortSignal.timeout(ms)
  try {
    const keys = await store.dueGarbageOf(deps.sql, subject)
    await Promise.all(keys.map((key) => deleteOne(deps, key, signal)))
  } catch (error) {
    deps.log.warn({ recordingId: subject.recordingId, err: error }, 'media not deleted yet')
  }
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

/** A row that is gone cannot be published any more; where its object cannot be deleted, it comes back. */
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
    log.warn({ objectKey: key, err: error }, 'media not deleted yet')
    await store.postponeGarbage(sql, key)
  }
}
