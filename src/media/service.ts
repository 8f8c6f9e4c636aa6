/** What others need of media besides its handlers: giving up, cleaning up, and the end of a recording. */
import type { GiveUp, MaintenanceTask } from '../actors/types.ts'
import type { Deps } from '../container.ts'
import { transaction } from '../platform/db/transaction.ts'
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
  if (ingestion !== null) await store.moveAsset(tx, ingestion, 'giveUp', 'processing_failed')
  return 'handled'
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
