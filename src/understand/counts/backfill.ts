/** Counts what was stored before there were counts: background changes with progress in `earshot doctor`. */
import type { DataChange } from '../../platform/db/data-change.ts'
import { countRowsOf, coverRowsOf } from './backfill.store.ts'
import type { Metric } from './model.ts'

const TABLE_OF = {
  signals: 'agent_signal',
  sessions: 'agent_session',
  feedback: 'feedback_record',
  recordings: 'recording',
  outcomes: 'insight_subject',
} as const satisfies Record<Metric, string>

const ROWS_PER_STEP = 500

export const changeOf = (metric: Metric): string => `count_${metric}`

export const COUNT_CHANGES: readonly DataChange[] = Object.entries(TABLE_OF).map(([metric, table]) => ({
  name: changeOf(metric as Metric),
  table,
  key: 'id',
  rowsPerStep: ROWS_PER_STEP,
  change: (tx, keys) => countRowsOf(tx, table, keys),
}))

const coverage = (name: string, table: Parameters<typeof coverRowsOf>[1]): DataChange => ({
  name: `coverage_of_${name}`,
  table,
  key: 'id',
  rowsPerStep: ROWS_PER_STEP,
  change: (tx, keys) => coverRowsOf(tx, table, keys),
})

/** Counts what was read before there was a coverage. */
export const COVERAGE_CHANGES: readonly DataChange[] = [
  coverage('sessions', 'agent_session'),
  coverage('recordings', 'recording'),
  coverage('subjects', 'insight_subject'),
]
