/** Deletes the mailboxes of deliveries that are gone, which earlier versions left when a webhook was deleted while it sent. */
import { deleteActors } from '../actors/mailbox.ts'
import { webhookDeliveryMessages } from '../messages/webhook.ts'
import type { DataChange } from '../platform/db/data-change.ts'
import { isUuid } from '../platform/ids.ts'
import { knownDeliveries } from './log.store.ts'

const PREFIX = `${webhookDeliveryMessages.kind}:`

export const webhookMailboxesChange: DataChange = {
  name: 'webhook_delivery_mailboxes',
  table: 'actor_mailbox',
  key: 'key',
  rowsPerStep: 1_000,
  async change(tx, keys) {
    const ids = keys
      .flatMap((key) => (key.startsWith(PREFIX) ? [key.slice(PREFIX.length)] : []))
      .filter(isUuid)
    if (ids.length === 0) return
    // A delivery is committed before its mailbox or with it, so one that is missing is gone.
    const known = await knownDeliveries(tx, ids)
    await deleteActors(
      tx,
      ids.filter((id) => !known.has(id)).map((id) => webhookDeliveryMessages.key(id)),
    )
  },
}
