/** Counts by hour of units that were stored before there were such counts. */
import type { DataChange } from '../../../platform/db/data-change.ts'
import { countOlderUnits } from './usage.store.ts'

export const usageChange: DataChange = {
  name: 'usage_by_hour',
  table: 'agent_application',
  key: 'id',
  rowsPerStep: 1,
  change: countOlderUnits,
}
