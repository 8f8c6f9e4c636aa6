/**
 * Tasks that become due without a request: gaps whose waiting time is over, credits that arrived, sessions past their
 * retention. Times are the database's. Every task may run in several processes at once.
 */

import { type Outbox, transactionWithOutbox } from '../../../actors/mailbox.ts'
import type { MaintenanceTask } from '../../../actors/types.ts'
import type { Deps } from '../../../kernel/deps.ts'
import { sessionMessages } from '../../../kernel/messages/session.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import { deleteSessions } from './deletion.store.ts'
import { lockExpired, lockGapsDue, lockPayable } from './maintenance.store.ts'

/** Sessions of one transaction. */
const MESSAGES = 500
const DELETIONS = 200

type MaintenanceDeps = Pick<Deps, 'sql' | 'notifier' | 'log'>

export function agentMaintenance(deps: MaintenanceDeps): readonly MaintenanceTask[] {
  return [
    { name: 'agent_gap_timeouts', everySeconds: 30, run: () => sendGapTimeouts(deps) },
    { name: 'agent_credits', everySeconds: 30, run: () => sendCreditsAdded(deps) },
    { name: 'agent_retention', everySeconds: 3_600, run: (stopping) => purgeExpired(deps, stopping) },
  ]
}

async function sendGapTimeouts(deps: MaintenanceDeps): Promise<void> {
  await transactionWithOutbox(deps, async (tx, outbox) => {
    await sendToSessions(outbox, await lockGapsDue(tx, MESSAGES), 'gap_timeout')
  })
}

/** Adding credits wakes the sessions that are blocked at that moment. This task finds sessions that became blocked concurrently. */
async function sendCreditsAdded(deps: MaintenanceDeps): Promise<void> {
  await transactionWithOutbox(deps, async (tx, outbox) => {
    await sendToSessions(outbox, await lockPayable(tx, MESSAGES), 'credits_added')
  })
}

async function sendToSessions(
  outbox: Outbox,
  ids: readonly string[],
  type: 'gap_timeout' | 'credits_added',
): Promise<void> {
  await outbox.sendUnlessPresent(ids.map((id) => sessionMessages.message(id, type)))
}

async function purgeExpired(deps: MaintenanceDeps, stopping: AbortSignal): Promise<void> {
  let total = 0
  while (!stopping.aborted) {
    const deleted = await transaction(deps.sql, async (tx) => {
      const expired = await lockExpired(tx, DELETIONS)
      for (const [organizationId, sessions] of Map.groupBy(expired, (session) => session.organizationId)) {
        await deleteSessions(
          tx,
          organizationId,
          sessions.map((session) => session.id),
        )
      }
      return expired.length
    })
    total += deleted
    if (deleted < DELETIONS) break
  }
  if (total > 0) deps.log.info({ sessions: total }, 'deleted agent sessions at the end of their retention')
}
