/** Wakes the sessions of an organization that wait for credits. */
import type { Outbox } from '../../../actors/mailbox.ts'
import { sessionMessages } from '../../../kernel/messages/session.ts'
import type { Query } from '../../../platform/db/pool.ts'
import { lockBlocked } from './maintenance.store.ts'

/** Runs in the transaction that adds the credits, after the statement that locks the organization. */
export async function wakeBlockedSessions(tx: Query, outbox: Outbox, organizationId: string): Promise<void> {
  const blocked = await lockBlocked(tx, organizationId)
  await outbox.sendUnlessWaiting(
    blocked.map((id) => sessionMessages.message(id, 'credits_added', { organizationId })),
  )
}
