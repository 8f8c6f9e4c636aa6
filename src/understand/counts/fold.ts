/** Adds changes of counts to the folded counts, in the background. Counts are right at any time; a fold makes them fast. */
import type { MaintenanceTask } from '../../actors/types.ts'
import type { Deps } from '../../kernel/deps.ts'
import type { Sql } from '../../platform/db/pool.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { deleteZeros, foldChanges, lockFold } from './fold.store.ts'

/** Changes of one transaction: less than half a second. */
const CHANGES = 10_000
/** Counts of different detail that a change may turn to zero. */
const LEVELS = 4
const EVERY_SECONDS = 2

/** Folds until no change is left, another process folds, or `stopping` is aborted. @returns the number of changes taken */
export async function foldAll(sql: Sql, stopping: AbortSignal, changes = CHANGES): Promise<number> {
  let folded = 0
  while (!stopping.aborted) {
    const taken = await transaction(sql, async (tx) => {
      if (!(await lockFold(tx))) return 0
      const count = await foldChanges(tx, changes)
      if (count > 0) await deleteZeros(tx, LEVELS * changes)
      return count
    })
    folded += taken
    if (taken < changes) break
  }
  return folded
}

export function countMaintenance({ sql }: Pick<Deps, 'sql'>): readonly MaintenanceTask[] {
  return [
    {
      name: 'fold_counts',
      everySeconds: EVERY_SECONDS,
      run: async (stopping) => void (await foldAll(sql, stopping)),
    },
  ]
}
