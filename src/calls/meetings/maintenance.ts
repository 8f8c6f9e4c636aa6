/** Sends the checks of joins that are due, and removes joins whose recordings were deleted. */
import { deleteActors, transactionWithOutbox } from '../../actors/mailbox.ts'
import type { MaintenanceTask } from '../../actors/types.ts'
import type { Deps } from '../../kernel/deps.ts'
import { meetingMessages } from '../../kernel/messages/meeting.ts'
import { transaction } from '../../platform/db/transaction.ts'
import * as store from './store.ts'

/** Joins of one transaction. */
const AT_ONCE = 500

type MaintenanceDeps = Pick<Deps, 'sql' | 'notifier'>

export function meetingMaintenance(deps: MaintenanceDeps): readonly MaintenanceTask[] {
  return [
    { name: 'meeting_checks', everySeconds: 2, run: (stopping) => sendChecks(deps, stopping) },
    { name: 'meeting_discarded', everySeconds: 3_600, run: () => removeDiscarded(deps) },
  ]
}

/** One message waits for an actor at most, so a recorder that is away does not pile up checks. */
async function sendChecks(deps: MaintenanceDeps, stopping: AbortSignal): Promise<void> {
  for (let sent = AT_ONCE; sent === AT_ONCE && !stopping.aborted; )
    sent = await transactionWithOutbox(deps, async (tx, outbox) => {
      const due = await store.takeDue(tx, AT_ONCE)
      await outbox.sendUnlessPresent(
        due.map(({ id, organizationId }) => meetingMessages.message(id, 'check', { organizationId })),
      )
      return due.length
    })
}

async function removeDiscarded({ sql }: MaintenanceDeps): Promise<void> {
  await transaction(sql, async (tx) => {
    const ids = await store.deleteDiscarded(tx, AT_ONCE)
    await deleteActors(
      tx,
      ids.map((id) => meetingMessages.key(id)),
    )
  })
}
