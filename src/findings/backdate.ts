/** What was found in conversations of the demo gets the times of these conversations. */
import type { Tx } from '../platform/db/pool.ts'
import * as store from './backdate.store.ts'

export const backdateSubjects = (tx: Tx, organizationId: string): Promise<void> =>
  store.backdateSubjects(tx, organizationId)
