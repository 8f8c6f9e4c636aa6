/** The SQL of subscriptions. */
import { asMicroseconds, behind, type TimeSlice } from '../../platform/db/keyset.ts'
import type { Query, Tx } from '../../platform/db/pool.ts'
import type { Ordering } from './delivery.rules.ts'

export interface WebhookRow {
  readonly id: string
  readonly url: string
  readonly types: string[]
  readonly description: string | null
  readonly ordering: Ordering
  readonly enabled: boolean
  readonly disabledReason: 'request' | 'gone' | 'failing' | null
  readonly disabledAt: Date | null
  readonly failingSince: Date | null
  readonly recoverableSince: Date | null
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly createdMicroseconds: number
}

const columns = (query: Query) => query`
  w.id, w.url, w.types, w.description, w.ordering, w.enabled, w.disabled_reason as "disabledReason",
  w.disabled_at as "disabledAt", w.failing_since as "failingSince", w.recoverable_since as "recoverableSince",
  w.created_at as "createdAt", w.updated_at as "updatedAt",
  ${asMicroseconds(query, 'w.created_at')} as "createdMicroseconds"`

/**
 * Locks the stream of the organization until the transaction ends, and creates it if there is none. Transactions that write events,
 * and those that change subscriptions, then follow each other.
 * @returns the number of the newest event
 */
export async function lockStream(tx: Tx, organizationId: string): Promise<number> {
  const [row] = await tx<{ lastSeq: number }[]>`
    insert into webhook_stream (organization_id) values (${organizationId})
    on conflict (organization_id) do update set last_seq = webhook_stream.last_seq
    returning last_seq as "lastSeq"`
  return row?.lastSeq ?? 0
}

export async function countWebhooks(tx: Tx, organizationId: string): Promise<number> {
  const [row] = await tx<{ count: number }[]>`
    select count(*)::int as count from webhook where organization_id = ${organizationId}`
  return row?.count ?? 0
}

export interface NewWebhook {
  readonly id: string
  readonly organizationId: string
  readonly url: string
  readonly types: readonly string[]
  readonly description: string | null
  readonly ordering: Ordering
  readonly enabled: boolean
  readonly secret: Uint8Array
  /** The first event that is sent follows this one. */
  readonly cursor: number
}

export async function insertWebhook(tx: Tx, row: NewWebhook): Promise<void> {
  await tx`
    insert into webhook (
      id, organization_id, url, types, description, ordering, enabled, disabled_reason, disabled_at, secret, cursor
    )
    values (
      ${row.id}, ${row.organizationId}, ${row.url}, ${[...row.types]}::text[], ${row.description}, ${row.ordering},
      ${row.enabled}, ${row.enabled ? null : 'request'}, case when ${row.enabled}::boolean then null else now() end,
      ${Buffer.from(row.secret)}, ${row.cursor}
    )`
}

export async function findWebhook(
  query: Query,
  organizationId: string,
  id: string,
): Promise<WebhookRow | null> {
  const [row] = await query<WebhookRow[]>`
    select ${columns(query)}
    from webhook w
    where w.organization_id = ${organizationId} and w.id = ${id}`
  return row ?? null
}

/** As `findWebhook`. The row stays locked until the transaction ends, and turns that send its events wait. */
export async function lockWebhook(tx: Tx, organizationId: string, id: string): Promise<WebhookRow | null> {
  const [row] = await tx<WebhookRow[]>`
    select ${columns(tx)}
    from webhook w
    where w.organization_id = ${organizationId} and w.id = ${id}
    for no key update`
  return row ?? null
}

/** Newest first, with one row more than the limit. */
export function listWebhooks(query: Query, organizationId: string, { after, limit }: TimeSlice) {
  return query<WebhookRow[]>`
    select ${columns(query)}
    from webhook w
    where w.organization_id = ${organizationId}
      ${behind(query, 'w.created_at', 'w.id', after)}
    order by w.created_at desc, w.id desc
    limit ${limit + 1}`
}

/** Ends the sending of every subscription of the organization, also that of a delivery that is being prepared. */
export async function disableWebhooks(tx: Tx, organizationId: string): Promise<void> {
  await tx`
    update webhook
    set enabled = false, disabled_reason = coalesce(disabled_reason, 'request'), disabled_at = coalesce(disabled_at, now()),
      version = version + 1
    where organization_id = ${organizationId} and enabled`
}

export type WebhookChange = Pick<WebhookRow, 'url' | 'types' | 'description' | 'ordering' | 'enabled'>

/**
 * Writes the change. Enabling goes on with new events only: events of the time between are offered for recovery.
 * @param lastSeq the number of the newest event
 * @param resumes a pause that the receiver asked for is over
 */
export async function updateWebhook(
  tx: Tx,
  organizationId: string,
  id: string,
  change: WebhookChange,
  lastSeq: number,
  resumes: boolean,
): Promise<void> {
  const { enabled } = change
  await tx`
    update webhook w
    set url = ${change.url}, types = ${change.types}::text[], description = ${change.description},
      ordering = ${change.ordering}, enabled = ${enabled},
      cursor = case when ${enabled}::boolean and not w.enabled then ${lastSeq}::bigint else w.cursor end,
      recoverable_since = case
        when ${enabled}::boolean and not w.enabled then least(w.failing_since, w.disabled_at, w.recoverable_since)
        else w.recoverable_since
      end,
      failing_since = case when ${enabled}::boolean and not w.enabled then null else w.failing_since end,
      paused_until = case when ${resumes}::boolean then null else w.paused_until end,
      disabled_reason = case when ${enabled}::boolean then null else coalesce(w.disabled_reason, 'request') end,
      disabled_at = case when ${enabled}::boolean then null else coalesce(w.disabled_at, now()) end,
      version = w.version + 1, updated_at = now()
    where w.organization_id = ${organizationId} and w.id = ${id}`
}

/** Makes waiting deliveries due at once, because their receiver has changed. */
export async function hastenDeliveries(tx: Tx, organizationId: string, id: string): Promise<void> {
  await tx`
    update webhook_delivery
    set next_attempt_at = now()
    where organization_id = ${organizationId} and webhook_id = ${id} and status = 'pending'`
}

/** The subscription is locked, so no turn adds a delivery. @returns the ids of deliveries that have an actor */
export async function deleteWebhook(tx: Tx, organizationId: string, id: string): Promise<readonly string[]> {
  const deliveries = await tx<{ id: string }[]>`
    select id from webhook_delivery
    where organization_id = ${organizationId} and webhook_id = ${id} and has_actor`
  await tx`delete from webhook where organization_id = ${organizationId} and id = ${id}`
  return deliveries.map((row) => row.id)
}

/** The present secret becomes the previous one and signs for `hours` more. @returns until when; null if there is no such subscription */
export async function rotateSecret(
  tx: Tx,
  organizationId: string,
  id: string,
  sealed: Uint8Array,
  hours: number,
): Promise<Date | null> {
  const [row] = await tx<{ until: Date | null }[]>`
    update webhook
    set previous_secret = secret, previous_secret_until = now() + make_interval(hours => ${hours}),
      secret = ${Buffer.from(sealed)}, version = version + 1, updated_at = now()
    where organization_id = ${organizationId} and id = ${id}
    returning previous_secret_until as until`
  return row?.until ?? null
}

/** Stores a ping with its delivery, which is sent outside of the order. */
export async function insertPing(
  tx: Tx,
  organizationId: string,
  webhookId: string,
  ids: { readonly event: string; readonly delivery: string },
): Promise<void> {
  await tx`
    insert into webhook_event (id, organization_id, webhook_id, type, data)
    values (${ids.event}, ${organizationId}, ${webhookId}, 'ping', ${tx.json({ webhookId })})`
  await tx`
    insert into webhook_delivery (id, organization_id, webhook_id, event_id, type, status, attempts, next_attempt_at, has_actor)
    values (${ids.delivery}, ${organizationId}, ${webhookId}, ${ids.event}, 'ping', 'retrying', 0, now(), true)`
}

/** Recovery was asked for: nothing is known to be missing any more. */
export async function forgetRecoverable(tx: Tx, organizationId: string, id: string): Promise<void> {
  await tx`
    update webhook set recoverable_since = null
    where organization_id = ${organizationId} and id = ${id}`
}
