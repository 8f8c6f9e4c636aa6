/**
 * Periodic tasks: expire overdue uploads, delete discarded bytes, and remove incomplete objects that crashes left in
 * the object store. The database's clock decides what is due.
 */
import type { MaintenanceTask } from '../../actors/types.ts'
import type { Deps } from '../../kernel/deps.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { awaitedKeys } from './garbage.store.ts'
import { discardDue } from './garbage.ts'
import * as store from './store.ts'

const UPLOADS_AT_ONCE = 200

/** No transfer takes this long. */
const LEFTOVER_AGE_MS = 24 * 60 * 60 * 1_000

type MaintenanceDeps = Pick<Deps, 'sql' | 'storage' | 'clock' | 'log'>

export function uploadMaintenance(deps: MaintenanceDeps): readonly MaintenanceTask[] {
  return [
    { name: 'upload_expiry', everySeconds: 30, run: (stopping) => expireOverdue(deps, stopping) },
    { name: 'upload_garbage', everySeconds: 60, run: (stopping) => discardDue(deps, stopping) },
    { name: 'storage_sweep', everySeconds: 3_600, run: (stopping) => sweepStorage(deps, stopping) },
  ]
}

/** One transaction each, because each waits for the lock of its recording. */
async function expireOverdue({ sql, log }: MaintenanceDeps, stopping: AbortSignal): Promise<void> {
  for (const upload of await store.overdueUploads(sql, UPLOADS_AT_ONCE)) {
    if (stopping.aborted) return
    const expired = await transaction(sql, async (tx) => {
      await store.lockRecordingOf(tx, upload.id)
      return store.endWaiting(tx, upload, 'expire')
    })
    const { organizationId, recordingId, id: uploadId } = upload
    if (expired) log.info({ organizationId, recordingId, uploadId }, 'upload expired')
  }
}

async function sweepStorage(
  { sql, storage, clock, log }: MaintenanceDeps,
  stopping: AbortSignal,
): Promise<void> {
  const before = new Date(clock.now().getTime() - LEFTOVER_AGE_MS)
  const removed = await storage.sweep(before, await awaitedKeys(sql), stopping)
  if (removed > 0)
    log.info({ removed }, 'removed incomplete objects of crashed processes from the object store')
}
