/** Wakes the actors of import sources that are due. */
import { transactionWithOutbox } from '../../../actors/mailbox.ts'
import type { MaintenanceTask } from '../../../actors/types.ts'
import type { Deps } from '../../../kernel/deps.ts'
import { importSourceMessages } from '../../../kernel/messages/import-source.ts'
import { lockDueSources } from './store.ts'

/** Sources that are looked at in one round. */
const AT_ONCE = 1_000

export function importSourceMaintenance(deps: Pick<Deps, 'sql' | 'notifier'>): readonly MaintenanceTask[] {
  return [{ name: 'import_sources', everySeconds: 5, run: () => wakeDueSources(deps) }]
}

/** A message that is left out, because the one before it is in hand, is sent in a later round if the source is still due. */
export async function wakeDueSources(deps: Pick<Deps, 'sql' | 'notifier'>): Promise<void> {
  await transactionWithOutbox(deps, async (tx, outbox) => {
    const due = await lockDueSources(tx, AT_ONCE)
    await outbox.sendUnlessPresent(
      due.map(({ organizationId, id }) => importSourceMessages.message(id, 'read', { organizationId })),
    )
  })
}
