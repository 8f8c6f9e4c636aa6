/**
 * Use cases of subscriptions and their log. The routes and the command line use them.
 *
 * Every change of a subscription locks the stream of its organization first, then its row. So each transaction that writes an event sees
 * a subscription wholly or not at all, and no turn changes it meanwhile. A transaction that looked for subscriptions before one was
 * committed writes no event for it. So a subscription is only answered when all of these have ended: it receives every event that
 * commits after the answer.
 */

import { deleteActors, hasten, isPresent, type Outbox, transactionWithOutbox } from '../../actors/mailbox.ts'
import type { Deps } from '../../kernel/deps.ts'
import {
  webhookDeliveryMessages,
  webhookMessages,
  webhookRecoveryMessages,
} from '../../kernel/messages/webhook.ts'
import type { Alongside } from '../../platform/db/alongside.ts'
import { untilEarlierEnded } from '../../platform/db/earlier-transactions.ts'
import type { TimeSlice } from '../../platform/db/keyset.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { AppError } from '../../platform/errors.ts'
import { DATE_TIME } from '../../platform/validation/formats.ts'
import { invalid } from '../../platform/validation/json.ts'
import { toUtc } from '../../platform/validation/rfc3339.ts'
import * as log from './log.store.ts'
import { type CreateWebhook, MAX_WEBHOOKS, type RecoverWebhook, type UpdateWebhook } from './model.ts'
import { createSecretSeal, newSecret } from './signing.ts'
import * as store from './subscriptions.store.ts'

export type { DeliveryRow } from './log.store.ts'
export type { WebhookRow } from './subscriptions.store.ts'
export type Webhooks = ReturnType<typeof createWebhooks>

/** For how long the previous secret signs, too. */
const ROTATION_HOURS = 24
/** Shorter than the time after which an idle connection of a client is closed. */
const LONGEST_WAIT_MS = 50_000

export type WebhooksDeps = Pick<
  Deps,
  'sql' | 'reads' | 'notifier' | 'newId' | 'clock' | 'log' | 'outbound' | 'config'
>

/** Ends the sending of every subscription of an organization that is being erased. */
export function disableWebhooks(tx: Tx, organizationId: string): Promise<void> {
  return store.disableWebhooks(tx, organizationId)
}

export function createWebhooks(deps: WebhooksDeps) {
  const { reads, newId, outbound, clock } = deps
  const seal = createSecretSeal(deps.config)
  const note = (organizationId: string, webhookId: string, what: string) =>
    deps.log.info({ organizationId, webhookId }, what)
  /** Runs `work` after the lock of the stream. */
  const changing = <T>(
    organizationId: string,
    work: (tx: Tx, outbox: Outbox, lastSeq: number) => Promise<T>,
  ) =>
    transactionWithOutbox(deps, async (tx, outbox) =>
      work(tx, outbox, await store.lockStream(tx, organizationId)),
    )
  /** Waits until every transaction writes the events that are wanted from now on. */
  const untilHeard = async (organizationId: string, webhookId: string) => {
    if (!(await untilEarlierEnded(deps.sql, { deadlineMs: LONGEST_WAIT_MS })))
      deps.log.warn(
        { organizationId, webhookId },
        'a webhook may miss events of a transaction that has not ended',
      )
  }
  const present = async (organizationId: string, id: string) =>
    (await store.findWebhook(reads, organizationId, id)) ?? noWebhook()

  return {
    /** @throws AppError 400; 409 `too_many_webhooks` */
    async create(
      organizationId: string,
      { url, types, description, ordering = 'relaxed', enabled = true }: CreateWebhook,
      also?: Alongside<store.WebhookRow>,
    ): Promise<store.WebhookRow & { readonly secret: string }> {
      const [id, secret] = [newId(), newSecret()]
      const row = {
        id,
        organizationId,
        url: outbound.assertUrl(url, 'url').href,
        types: [...new Set(types)],
        description: description ?? null,
        ordering,
        enabled,
        secret: await seal.seal(secret, id),
      }
      const created = await changing(organizationId, async (tx, _, cursor) => {
        if ((await store.countWebhooks(tx, organizationId)) >= MAX_WEBHOOKS)
          throw new AppError('too_many_webhooks', `An organization has at most ${MAX_WEBHOOKS} webhooks.`)
        await store.insertWebhook(tx, { ...row, cursor })
        const inserted = (await store.findWebhook(tx, organizationId, id)) ?? noWebhook()
        await also?.(tx, inserted)
        return inserted
      })
      await untilHeard(organizationId, id)
      note(organizationId, id, 'webhook created')
      return { ...created, secret }
    },

    /** @throws AppError 404 */
    get: present,

    /** Newest first, with one row more than the limit. */
    list: (organizationId: string, slice: TimeSlice) => store.listWebhooks(reads, organizationId, slice),

    /** `readBody` is called after the webhook was found. @throws AppError 404; errors of `readBody`; 400 */
    async update(
      organizationId: string,
      id: string,
      readBody: () => Promise<UpdateWebhook>,
      also?: Alongside,
    ): Promise<store.WebhookRow> {
      await present(organizationId, id)
      const { url, ...rest } = await readBody()
      const href = url === undefined ? undefined : outbound.assertUrl(url, 'url').href
      const updated = await changing(organizationId, async (tx, outbox, lastSeq) => {
        const before = (await store.lockWebhook(tx, organizationId, id)) ?? noWebhook()
        const change = {
          url: href ?? before.url,
          types: rest.types === undefined ? before.types : [...new Set(rest.types)],
          description: rest.description === undefined ? before.description : rest.description,
          ordering: rest.ordering ?? before.ordering,
          enabled: rest.enabled ?? before.enabled,
        }
        // Its receiver is another one, or was repaired. A new description is no reason to end its pause.
        const resumes =
          change.enabled && (href !== undefined || rest.enabled === true || rest.ordering !== undefined)
        await store.updateWebhook(tx, organizationId, id, change, lastSeq, resumes)
        await also?.(tx, id)
        if (resumes) {
          await store.hastenDeliveries(tx, organizationId, id)
          await outbox.send([webhookMessages.message(id, 'deliver', { organizationId })])
          await hasten(tx, webhookMessages.key(id), 'deliver')
        }
        return (await store.findWebhook(tx, organizationId, id)) ?? noWebhook()
      })
      if (rest.types !== undefined) await untilHeard(organizationId, id)
      note(organizationId, id, 'webhook changed')
      return updated
    },

    /** Deletes the webhook with its log. @throws AppError 404 */
    async remove(organizationId: string, id: string, also?: Alongside): Promise<void> {
      await changing(organizationId, async (tx) => {
        if ((await store.lockWebhook(tx, organizationId, id)) === null) noWebhook()
        const deliveries = await store.deleteWebhook(tx, organizationId, id)
        await also?.(tx, id)
        await deleteActors(tx, [
          webhookMessages.key(id),
          webhookRecoveryMessages.key(id),
          ...deliveries.map((delivery) => webhookDeliveryMessages.key(delivery)),
        ])
      })
      note(organizationId, id, 'webhook deleted')
    },

    /** The old secret signs beside the new one for 24 hours. @throws AppError 404 */
    async rotate(organizationId: string, id: string, also?: Alongside) {
      const secret = newSecret()
      const sealed = await seal.seal(secret, id)
      const previousValidUntil = await changing(organizationId, async (tx) => {
        const until = await store.rotateSecret(tx, organizationId, id, sealed, ROTATION_HOURS)
        if (until === null || until === undefined) noWebhook()
        await also?.(tx, id)
        return until
      })
      note(organizationId, id, 'webhook secret rotated')
      return { secret, previousValidUntil }
    },

    /** Sends an event of the type `ping`, once, also while the webhook is disabled. @throws AppError 404 */
    async ping(organizationId: string, id: string): Promise<log.DeliveryRow> {
      const ids = { event: newId(), delivery: newId() }
      return changing(organizationId, async (tx, outbox) => {
        if ((await store.findWebhook(tx, organizationId, id)) === null) noWebhook()
        await store.insertPing(tx, organizationId, id, ids)
        await outbox.send([webhookDeliveryMessages.message(ids.delivery, 'redeliver', { organizationId })])
        return (await log.findDelivery(tx, organizationId, id, ids.delivery)) ?? noDelivery()
      })
    },

    /** Newest first. @throws AppError 404 */
    async deliveries<T extends { readonly filter: log.DeliveryFilter; readonly slice: TimeSlice }>(
      organizationId: string,
      id: string,
      readQuery: () => T,
    ) {
      await present(organizationId, id)
      const query = readQuery()
      return { query, ...(await log.listDeliveries(reads, organizationId, id, query.filter, query.slice)) }
    },

    /** The delivery with its event and its attempts. @throws AppError 404 */
    async delivery(organizationId: string, id: string, deliveryId: string) {
      await present(organizationId, id)
      const delivery = (await log.findDelivery(reads, organizationId, id, deliveryId)) ?? noDelivery()
      const [event, attempts] = await Promise.all([
        log.findEvent(reads, organizationId, delivery.eventId),
        log.listAttempts(reads, organizationId, deliveryId),
      ])
      return { ...delivery, event: event ?? noDelivery(), log: attempts }
    },

    /**
     * Sends the event once more, under the same id, whatever became of it. The log of earlier attempts stays.
     * @throws AppError 404; 409 `webhook_delivery_under_way` if it is sent again anyway
     */
    redeliver(organizationId: string, id: string, deliveryId: string): Promise<log.DeliveryRow> {
      return transactionWithOutbox(deps, async (tx, outbox) => {
        // Turns lock it before its deliveries, too.
        if ((await store.lockWebhook(tx, organizationId, id)) === null) noWebhook()
        const status = await log.lockDelivery(tx, organizationId, id, deliveryId)
        if (status === null) noDelivery()
        const key = webhookDeliveryMessages.key(deliveryId)
        if (status === 'pending' || status === 'retrying' || (await isPresent(tx, key, 'redeliver')))
          throw new AppError(
            'webhook_delivery_under_way',
            'The delivery is being sent: wait for its next attempt.',
          )
        await outbox.send([webhookDeliveryMessages.message(deliveryId, 'redeliver', { organizationId })])
        return (await log.findDelivery(tx, organizationId, id, deliveryId)) ?? noDelivery()
      })
    },

    /**
     * Sends the events of the period again that were not delivered, in order, in the background.
     * @throws AppError 404; 400; 409 `webhook_disabled`, `webhook_recovery_active`
     */
    async recover(organizationId: string, id: string, readBody: () => Promise<RecoverWebhook>) {
      await present(organizationId, id)
      const body = await readBody()
      const period = { since: instant('since', body.since), until: clock.now().toISOString() }
      if (body.until !== undefined) period.until = instant('until', body.until)
      if (Date.parse(period.until) <= Date.parse(period.since))
        throw invalid([{ path: 'until', code: 'range', message: 'must be after since' }])
      await changing(organizationId, async (tx, outbox) => {
        const { enabled } = (await store.lockWebhook(tx, organizationId, id)) ?? noWebhook()
        if (!enabled) throw new AppError('webhook_disabled', 'The webhook is disabled: enable it first.')
        if (await isPresent(tx, webhookRecoveryMessages.key(id), 'recover'))
          throw new AppError('webhook_recovery_active', 'A recovery of this webhook is under way.')
        await store.forgetRecoverable(tx, organizationId, id)
        const payload = { ...period, after: 0 }
        await outbox.send([webhookRecoveryMessages.message(id, 'recover', { organizationId, payload })])
      })
      note(organizationId, id, 'webhook recovery begun')
      return period
    },
  }
}

function instant(path: string, text: string): string {
  const utc = toUtc(text)
  if (utc !== null) return utc
  throw invalid([{ path, code: 'date_time', message: `must be ${DATE_TIME}` }])
}

function noWebhook(): never {
  throw new AppError('webhook_not_found', 'There is no such webhook.')
}

function noDelivery(): never {
  throw new AppError('webhook_delivery_not_found', 'There is no such delivery.')
}
