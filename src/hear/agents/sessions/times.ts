/** Sessions that an older version stored get the times of their events. */
import type { DataChange } from '../../../platform/db/data-change.ts'
import { readTimes } from './times.store.ts'

const SESSIONS_PER_STEP = 200

export const sessionTimesChange: DataChange = {
  name: 'session_times',
  table: 'agent_session',
  key: 'id',
  rowsPerStep: SESSIONS_PER_STEP,
  change: readTimes,
}
