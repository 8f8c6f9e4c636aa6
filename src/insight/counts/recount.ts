/**
 * Counts by the days of another time zone: a background task after a change.
 *
 * Every row knows the day under which it is counted. A step moves some rows of one table to their new days and commits how far it came, so
 * a process that dies is followed by another. Meanwhile counts are exact, but some are by the former days, and answers say `complete: false`.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { MaintenanceTask } from '../../actors/types.ts'
import type { Deps } from '../../container.ts'
import { countOpen, openTransactions } from '../../platform/db/open-transactions.ts'
import type { Sql, Tx } from '../../platform/db/pool.ts'
import { transaction } from '../../platform/db/transaction.ts'
import * as store from './recount.store.ts'

/** Rows of one step: less than 100 ms. */
const ROWS = 500
/** Organizations that take turns. */
const AT_A_TIME = 20
const EVERY_SECONDS = 2
/** Length of the pause after a step, as a multiple of the step's own time, so that requests have most of the database's time. */
const PAUSE_RATIO = 1

/** Goes as far as it can with every organization. They take turns, so a large one does not hold up the others. */
export async function recountAll(sql: Sql, stopping: AbortSignal, rows = ROWS): Promise<void> {
  let going = await store.recountedOrganizations(sql, AT_A_TIME)
  while (going.length > 0 && !stopping.aborted) {
    const startedAt = performance.now()
    const next: string[] = []
    for (const id of going) if (await transaction(sql, (tx) => step(tx, id, rows))) next.push(id)
    going = next
    const pauseMs = (performance.now() - startedAt) * PAUSE_RATIO
    await delay(pauseMs, undefined, { signal: stopping }).catch(() => {})
  }
}

/** @returns whether there is more that can be done now */
async function step(tx: Tx, organizationId: string, rows: number): Promise<boolean> {
  const recount = await store.lockRecount(tx, organizationId)
  if (recount === null) return false
  // A transaction from before the change may still store rows under the former days.
  const waitsFor = recount.waitsFor ?? (await openTransactions(tx))
  if ((await countOpen(tx, waitsFor)).open > 0) {
    await store.saveRecount(tx, organizationId, { ...recount, waitsFor })
    return false
  }
  const position = await store.moveRows(tx, organizationId, recount, rows)
  const part = position === null ? recount.part + 1 : recount.part
  await store.saveRecount(tx, organizationId, { waitsFor: [], part, position })
  return true
}

export const recountMaintenance = ({ sql }: Pick<Deps, 'sql'>): readonly MaintenanceTask[] => [
  { name: 'recount_days', everySeconds: EVERY_SECONDS, run: (stopping) => recountAll(sql, stopping) },
]
