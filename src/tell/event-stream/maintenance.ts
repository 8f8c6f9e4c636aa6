/** Deletes old entries of the log, and closes the logs of organizations without clients. */
import type { MaintenanceTask } from '../../actors/types.ts'
import type { Deps } from '../../kernel/deps.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { closeUnusedStreams, deleteOldEntries } from './log.store.ts'

/** Time for which a client may be away. */
const KEPT_MINUTES = 60
/** Entries that one transaction deletes. */
const DELETIONS = 2_000

export function eventStreamMaintenance({ sql }: Pick<Deps, 'sql'>): readonly MaintenanceTask[] {
  const deleteSome = () => transaction(sql, (tx) => deleteOldEntries(tx, KEPT_MINUTES, DELETIONS))
  return [
    {
      name: 'event_stream_log',
      everySeconds: 60,
      async run(stopping) {
        await closeUnusedStreams(sql, KEPT_MINUTES)
        while (!stopping.aborted && (await deleteSome()) === DELETIONS);
      },
    },
  ]
}
