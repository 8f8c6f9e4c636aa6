/** Enters what was stored before there was an analysis: background changes with progress in `earshot doctor`. `reanalysis.ts` has it analysed. */

import type { Channel } from '../../kernel/channel.ts'
import type { DataChange } from '../../platform/db/data-change.ts'
import { newId } from '../../platform/ids.ts'
import { enterUnread } from './reanalysis.store.ts'

const change = (name: string, channel: Channel, table: string): DataChange => ({
  name,
  table,
  key: 'id',
  rowsPerStep: 200,
  change: (tx, keys) => enterUnread(tx, channel, keys, newId),
})

export const INSIGHT_CHANGES: readonly DataChange[] = [
  change('insight_of_sessions', 'conversation', 'agent_session'),
  change('insight_of_feedback', 'feedback', 'feedback_record'),
  change('insight_of_recordings', 'recording', 'recording'),
]
