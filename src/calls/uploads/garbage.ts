/**
 * Deletes the stored bytes of uploads that have ended, even after a crash.
 *
 * The transaction that ends an upload enters its object key. An entry is removed after two deletions, because a request
 * of another process may still have been writing during the first.
 */
import type { Deps } from '../../kernel/deps.ts'
import type { Tx } from '../../platform/db/pool.ts'
import * as store from './garbage.store.ts'
import type { RecordingRef, UploadRef } from './store.ts'

const ENTRIES_AT_ONCE = 50

type GarbageDeps = Pick<Deps, 'sql' | 'storage' | 'log'>

/** Has the bytes of the uploads of a recording deleted soon, for the transaction that deletes the recording. */
export function discardUploads(tx: Tx, recording: RecordingRef): Promise<void> {
  return store.discardUploads(tx, recording)
}

/**
 * Deletes the bytes of an upload while the caller waits. If that fails or takes longer than `ms`, maintenance deletes
 * them later.
 */
export async function discardNow(deps: GarbageDeps, upload: UploadRef, ms: number): Promise<void> {
  try {
    const signal = AbortSignal.timeout(ms)
    for (const entry of await store.garbageOf(deps.sql, upload)) await discard(deps, entry, signal)
  } catch (error) {
    deps.log.warn({ uploadId: upload.id, err: error }, 'could not delete the bytes of an upload yet')
  }
}

/** Deletes some uploads of an organization that is being erased. @returns their number, at most `limit` */
export function deleteUploads(tx: Tx, organizationId: string, limit: number): Promise<number> {
  return store.deleteUploads(tx, organizationId, limit)
}

/** Deletes what is due of an organization that is being erased. @returns the number of deleted entries */
export async function discardDueOf(
  deps: GarbageDeps,
  organizationId: string,
  stopping: AbortSignal,
): Promise<number> {
  const entries = await store.dueGarbageIn(deps.sql, organizationId, ENTRIES_AT_ONCE)
  return discardAll(deps, entries, stopping)
}

/**
 * Deletes everything that is due. Failures are logged and retried later; so is what remains when `stopping` is aborted.
 */
export async function discardDue(deps: GarbageDeps, stopping: AbortSignal): Promise<void> {
  while (!stopping.aborted) {
    const entries = await store.takeDueGarbage(deps.sql, ENTRIES_AT_ONCE)
    const discarded = await discardAll(deps, entries, stopping)
    // If every deletion failed, the object store is unavailable.
    if (entries.length < ENTRIES_AT_ONCE || discarded === 0) return
  }
}

/** Failures are logged. @returns the number of entries without a failure */
async function discardAll(
  deps: GarbageDeps,
  entries: readonly store.Garbage[],
  stopping: AbortSignal,
): Promise<number> {
  let discarded = 0
  for (const entry of entries) {
    if (stopping.aborted) break
    try {
      await discard(deps, entry)
      discarded++
    } catch (error) {
      deps.log.warn({ objectKey: entry.objectKey, err: error }, 'could not delete the bytes of an upload yet')
    }
  }
  return discarded
}

async function discard(
  { sql, storage }: GarbageDeps,
  entry: store.Garbage,
  signal?: AbortSignal,
): Promise<void> {
  await storage.incoming.discard(entry.objectKey, entry.resumeState, signal)
  await storage.delete([entry.objectKey], signal)
  await store.markDeleted(sql, entry)
}
