/** Adds changes of use to the folded counts, in the background. Counts are right at any time; a fold makes them fast. */
import type { Sql } from '../../platform/db/pool.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { foldChanges, lockFold } from './fold.store.ts'

/** Changes of one transaction. */
const CHANGES = 10_000

/** Folds until no change is left, another process folds, or `stopping` is aborted. @returns the number of changes taken */
export async function foldUsage(sql: Sql, stopping: AbortSignal, changes = CHANGES): Promise<number> {
  let folded = 0
  while (!stopping.aborted) {
    const taken = await transaction(sql, async (tx) => ((await lockFold(tx)) ? foldChanges(tx, changes) : 0))
    folded += taken
    if (taken < changes) break
  }
  return folded
}
