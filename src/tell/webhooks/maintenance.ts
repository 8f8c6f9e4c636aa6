/** Deletes events and deliveries that are older than `WEBHOOK_LOG_DAYS`. */
import { deleteActors } from '../../actors/mailbox.ts'
import type { ObjectActors } from '../../actors/orphan-mailboxes.ts'
import type { MaintenanceTask } from '../../actors/types.ts'
import type { Deps } from '../../kernel/deps.ts'
import { webhookDeliveryMessages } from '../../kernel/messages/webhook.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { deleteOldEvents, knownDeliveries } from './log.store.ts'

/** Events that one transaction deletes. */
const DELETIONS = 500

export const deliveryActors: ObjectActors = { kind: webhookDeliveryMessages.kind, known: knownDeliveries }

export function webhookMaintenance({
  sql,
  config,
}: Pick<Deps, 'sql' | 'config'>): readonly MaintenanceTask[] {
  const deleteSome = () =>
    transaction(sql, async (tx) => {
      const { events, deliveryIds } = await deleteOldEvents(tx, config.webhookLogDays, DELETIONS)
      await deleteActors(
        tx,
        deliveryIds.map((id) => webhookDeliveryMessages.key(id)),
      )
      return events
    })
  return [
    {
      name: 'webhook_log',
      everySeconds: 3_600,
      async run(stopping) {
        while (!stopping.aborted && (await deleteSome()) === DELETIONS);
      },
    },
  ]
}
