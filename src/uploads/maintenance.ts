/** What becomes due without a request: uploads whose bytes stayed away, and what ended ones have left. Time is the database's. */
import type { MaintenanceTask } from '../actors/types.ts'
import type { Deps } from '../container.ts'
import { transaction } from '../platform/db/transaction.ts'
import { discardDue } from './garbage.ts'
import * as store from './store.ts'

const UPLOADS_AT_ONCE = 200

type MaintenanceDeps = Pick<Deps, 'sql' | 'storage' | 'log'>

export function uploadMaintenance(deps: MaintenanceDeps): readonly MaintenanceTask[] {
  return [
    { name: 'upload_expiry', everySeconds: 30, run: () => expireOverdue(deps) },
    { name: 'upload_garbage', everySeconds: 60, run: () => discardDue(deps) },
  ]
}

/** One by one, since each waits for its recording. */
async function expireOverdue({ sql, log }: MaintenanceDeps): Promise<void> {
  for (const upload of await store.overdueUploads(sql, UPLOADS_AT_ONCE)) {
    const expired = await transaction(sql, async (tx) => {
      await store.lockRecordingOf(tx, upload.id)
      return store.endWaiting(tx, upload, 'expire')
    })
    const { organizationId, recordingId, id: uploadId } = upload
    if (expired) log.info({ organizationId, recordingId, uploadId }, 'upload expired')
  }
}
