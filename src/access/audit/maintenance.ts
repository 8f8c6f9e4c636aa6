/** Deletes old entries of the audit log. */
import type { MaintenanceTask } from '../../actors/types.ts'
import type { Deps } from '../../kernel/deps.ts'
import { deleteOldEntries } from './store.ts'

/** Rows that one statement deletes. */
const DELETIONS = 1_000

export function auditMaintenance({ sql, config }: Pick<Deps, 'sql' | 'config'>): readonly MaintenanceTask[] {
  return [
    {
      name: 'old_audit_entries',
      everySeconds: 3_600,
      async run(stopping) {
        while (!stopping.aborted && (await deleteOldEntries(sql, config.auditDays, DELETIONS)) === DELETIONS);
      },
    },
  ]
}
