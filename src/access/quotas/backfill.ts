/** Data changes that count what was stored before quotas. */
import type { DataChange } from '../../platform/db/data-change.ts'
import { countOlderEvents, countOlderMedia, countOlderUploads } from './store.ts'

const SESSIONS_PER_STEP = 200
const ROWS_PER_STEP = 500

export const QUOTA_CHANGES: readonly DataChange[] = [
  {
    name: 'quota_events',
    table: 'agent_session',
    key: 'id',
    rowsPerStep: SESSIONS_PER_STEP,
    change: countOlderEvents,
  },
  { name: 'quota_media', table: 'recording', key: 'id', rowsPerStep: ROWS_PER_STEP, change: countOlderMedia },
  {
    name: 'quota_uploads',
    table: 'upload',
    key: 'id',
    rowsPerStep: ROWS_PER_STEP,
    change: countOlderUploads,
  },
]
