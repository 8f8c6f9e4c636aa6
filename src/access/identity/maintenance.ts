/** Deletes rows of tokens, sessions and links that expired. */
import type { MaintenanceTask } from '../../actors/types.ts'
import type { Deps } from '../../kernel/deps.ts'
import type { Query } from '../../platform/db/pool.ts'
import { deleteExpiredLinks } from './links.store.ts'
import { deleteExpiredRecords } from './oauth-records.store.ts'
import { deleteExpiredSessions } from './sessions.store.ts'
import { deleteExpiredUserTokens } from './user-tokens.store.ts'

/** Rows that one statement deletes. */
const DELETIONS = 1_000

export function identityMaintenance({ sql }: Pick<Deps, 'sql'>): readonly MaintenanceTask[] {
  return [
    hourly('expired_user_tokens', sql, deleteExpiredUserTokens),
    hourly('expired_user_sessions', sql, deleteExpiredSessions),
    hourly('expired_sign_in_links', sql, deleteExpiredLinks),
    hourly('expired_oauth_records', sql, deleteExpiredRecords),
  ]
}

function hourly(
  name: string,
  sql: Query,
  deleteSome: (sql: Query, limit: number) => Promise<number>,
): MaintenanceTask {
  return {
    name,
    everySeconds: 3_600,
    async run(stopping) {
      while (!stopping.aborted && (await deleteSome(sql, DELETIONS)) === DELETIONS);
    },
  }
}
