/**
 * Bytes of uploads that have ended: what was stored of them goes, also after a crash.
 *
 * The rule: the transaction that ends an upload enters what it leaves, and an entry goes only when it was deleted twice: a
 * request of another process may still have written the first time.
 */
import type { Deps } from '../container.ts'
import * as store from './store.ts'

/** Lets go of what uploads have left, in the transaction that deletes their recording. */
export { discardUploads } from './store.ts'

const ENTRIES_AT_ONCE = 50

type GarbageDeps = Pick<Deps, 'sql' | 'storage' | 'log'>

/** What the upload has left, while somebody waits; where that fails or takes longer, maintenance does it over. */
export async function discardNow(deps: GarbageDeps, upload: store.UploadRef, ms: number): Promise<void> {
  try {
    const signal = AbortSignal.timeout(ms)
    for (const entry of await store.garbageOf(deps.sql, upload)) await discard(deps, entry, signal)
  } catch (error) {
    deps.log.warn({ uploadId: upload.id, err: error }, 'bytes of an upload not deleted yet')
  }
}

/** Everything that is due; what fails is logged, and due again later, as is what is left when `stopping` is aborted. */
export async function discardDue(deps: GarbageDeps, stopping: AbortSignal): Promise<void> {
  while (!stopping.aborted) {
    const entries = await store.takeDueGarbage(deps.sql, ENTRIES_AT_ONCE)
    let discarded = 0
    for (const entry of entries) {
      if (stopping.aborted) return
      try {
        await discard(deps, entry)
        discarded++
      } catch (error) {
        deps.log.warn({ objectKey: entry.objectKey, err: error }, 'bytes of an upload not deleted yet')
      }
    }
    // Where all have failed, the store is away.
    if (entries.length < ENTRIES_AT_ONCE || discarded === 0) return
  }
}

async function discard(
  { sql, storage }: GarbageDeps,
  entry: store.Garbage,
  signal?: AbortSignal,
): Promise<void> {
  await storage.incoming.discard(entry.objectKey, entry.memory, signal)
  await storage.delete([entry.objectKey], signal)
  await store.settleGarbage(sql, entry)
}
