/** Whether a caller may see a recording, for the features that `recordings/service.ts` imports. */
import type { Query } from '../../platform/db/pool.ts'
import * as store from './store.ts'

/** Whether the recording exists and meets an SQL condition on `r`. */
export function recordingMatches(
  query: Query,
  recordingId: string,
  condition: store.Condition,
): Promise<boolean> {
  return store.recordingMatches(query, recordingId, condition)
}
