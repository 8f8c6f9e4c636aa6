/** Deletes rows of tokens that expired long ago. */
import type { MaintenanceTask } from '../actors/types.ts'
import type { Deps } from '../container.ts'
import { deleteExpiredUserTokens } from './user-tokens.store.ts'

/** Rows that one statement deletes. */
const DELETIONS = 1_000

export function identityMaintenance({ sql }: Pick<Deps, 'sql'>): readonly MaintenanceTask[] {
  return [
    {
      name: 'expired_user_tokens',
      everySeconds: 3_600,
      async run(stopping) {
        while (!stopping.aborted && (await deleteExpiredUserTokens(sql, DELETIONS)) === DELETIONS);
      },
    },
  ]
}
