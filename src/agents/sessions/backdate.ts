/**
 * Conversations count for the day on which they arrive. Those of the demo arrive at once and were held over two months, so they
 * get the times of their events.
 */
import type { Tx } from '../../platform/db/pool.ts'
import * as store from './backdate.store.ts'

export const backdateSessions = (tx: Tx, organizationId: string): Promise<void> =>
  store.backdateSessions(tx, organizationId)
