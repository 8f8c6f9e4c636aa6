/** Tasks of the counts of use. */
import type { MaintenanceTask } from '../actors/types.ts'
import type { Deps } from '../container.ts'
import { foldUsage } from './fold.ts'

const FOLD_EVERY_SECONDS = 2

export function quotaMaintenance({ sql }: Pick<Deps, 'sql'>): readonly MaintenanceTask[] {
  return [
    {
      name: 'fold_usage',
      everySeconds: FOLD_EVERY_SECONDS,
      run: async (stopping) => void (await foldUsage(sql, stopping)),
    },
  ]
}
