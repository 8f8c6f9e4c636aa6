/** Wakes the actors of applications with complete traces, and forgets spans of traces that got no more. */
import { transactionWithOutbox } from '../../actors/mailbox.ts'
import type { MaintenanceTask } from '../../actors/types.ts'
import type { Deps } from '../../kernel/deps.ts'
import { traceMessages } from '../../kernel/messages/trace.ts'
import { deleteOldTraces, lockDueApplications } from './store.ts'

/** Traces that are looked at in one round. */
const DUE = 5_000
const DELETIONS = 1_000

export function traceMaintenance(deps: Pick<Deps, 'sql' | 'notifier'>): readonly MaintenanceTask[] {
  return [
    { name: 'otlp_due', everySeconds: 2, run: () => wakeDue(deps) },
    {
      name: 'otlp_forget',
      everySeconds: 300,
      async run(stopping) {
        while (!stopping.aborted) if ((await deleteOldTraces(deps.sql, DELETIONS)) < DELETIONS) break
      },
    },
  ]
}

/** A message that is left out, because the one before it is in hand, is sent in the next round if traces are still due. */
async function wakeDue(deps: Pick<Deps, 'sql' | 'notifier'>): Promise<void> {
  await transactionWithOutbox(deps, async (tx, outbox) => {
    const due = await lockDueApplications(tx, DUE)
    await outbox.sendUnlessPresent(
      due.map(({ organizationId, applicationId }) =>
        traceMessages.message(applicationId, 'settle', { organizationId }),
      ),
    )
  })
}
