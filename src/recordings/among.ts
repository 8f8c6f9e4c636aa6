/** Looks a recording up for the features that `recordings/service.ts` imports. */
import type { Query } from '../platform/db/pool.ts'
import * as store from './store.ts'

/** Whether there is a recording with this id that meets an SQL condition on the recording `r`. */
export function isRecordingAmong(
  query: Query,
  recordingId: string,
  condition: store.Condition,
): Promise<boolean> {
  return store.isRecordingAmong(query, recordingId, condition)
}
