/** Forgets what imports keep of customers' words, and ends imports that nobody started. */
import type { MaintenanceTask } from '../../../actors/types.ts'
import type { Deps } from '../../../kernel/deps.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import { forgetImport } from './service.ts'
import { dueImports } from './store.ts'

const AT_ONCE = 100

export function feedbackImportMaintenance({ sql }: Pick<Deps, 'sql'>): readonly MaintenanceTask[] {
  return [
    {
      name: 'feedback_imports',
      everySeconds: 600,
      async run(stopping) {
        for (const due of await dueImports(sql, AT_ONCE)) {
          if (stopping.aborted) return
          await transaction(sql, (tx) => forgetImport(tx, due))
        }
      },
    },
  ]
}
