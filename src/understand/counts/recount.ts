/**
 * Counts by the days of another time zone: a background task after a change.
 *
 * Every row knows the day under which it is counted. A step moves some rows of one table to their new days and commits how far it came, so
 * a process that dies is followed by another. Meanwhile some rows are counted by the former days, and answers say `complete: false`.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { MaintenanceTask } from '../../actors/types.ts'
import type { Deps } from '../../kernel/deps.ts'
import { countOpen, openTransactions } from '../../platform/db/open-transactions.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { transaction } from '../../platform/db/transaction.ts'
import * as store from './recount.store.ts'

/** Rows of one step: less than 100 ms. */
const ROWS = 500
/** Organizations that take turns. */
const AT_A_TIME = 100
const EVERY_SECONDS = 2
/** Length of the pause after a step, as a multiple of the step's own time, so that requests have most of the database's time. */
const PAUSE_RATIO = 1

/**
 * Goes as far as it can with every organization, also with those that come meanwhile. They take turns, so one that is large, waits or fails
 * does not hold up the others.
 */
export async function recountAll(
  { sql, log }: Pick<Deps, 'sql' | 'log'>,
  stopping: AbortSignal,
  rows = ROWS,
): Promise<void> {
  const waiting = new Set<string>()
  while (!stopping.aborted) {
    const startedAt = performance.now()
    const going = (await store.recountedOrganizations(sql, AT_A_TIME)).filter((id) => !waiting.has(id))
    if (going.length === 0) return
    for (const id of going) {
      try {
        if (!(await transaction(sql, (tx) => step(tx, id, rows)))) waiting.add(id)
      } catch (error) {
        waiting.add(id)
        log.error({ organizationId: id, err: error }, 'could not count by the days of another time zone yet')
      }
    }
    const pauseMs = (performance.now() - startedAt) * PAUSE_RATIO
    await delay(pauseMs, undefined, { signal: stopping }).catch(() => {})
  }
}

/** @returns whether there is more that can be done now */
async function step(tx: Tx, organizationId: string, rows: number): Promise<boolean> {
  const recount = await store.lockRecount(tx, organizationId)
  if (recount === null) return false
  // A transaction from before the change may still store rows under the former days. One that has written nothing for so long is a backup.
  const waitsFor = recount.waitsFor ?? (await openTransactions(tx))
  const { open, writing } = await countOpen(tx, waitsFor)
  if (recount.isOld ? writing > 0 : open > 0) {
    await store.saveRecount(tx, organizationId, { ...recount, waitsFor })
    return false
  }
  const position = await store.moveRows(tx, organizationId, recount, rows)
  const part = position === null ? recount.part + 1 : recount.part
  await store.saveRecount(tx, organizationId, { waitsFor: [], part, position })
  return true
}

export const recountMaintenance = (deps: Pick<Deps, 'sql' | 'log'>): readonly MaintenanceTask[] => [
  { name: 'recount_days', everySeconds: EVERY_SECONDS, run: (stopping) => recountAll(deps, stopping) },
]
