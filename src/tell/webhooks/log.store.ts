/** The SQL that reads the log of deliveries, and that deletes its old part. */

import { marginOf, SCAN_ROWS, type Scanned, scan, wholly } from '../../platform/db/bounded-scan.ts'
import { asMicroseconds, behind, type TimeSlice } from '../../platform/db/keyset.ts'
import type { Query, Tx } from '../../platform/db/pool.ts'
import type { DeliveryStatus } from './delivery.rules.ts'

export interface DeliveryRow {
  readonly id: string
  readonly eventId: string
  readonly type: string
  readonly status: DeliveryStatus
  readonly attempts: number
  readonly nextAttemptAt: Date | null
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly createdMicroseconds: number
}

export interface DeliveryFilter {
  readonly type?: string | undefined
  readonly status?: DeliveryStatus | undefined
  readonly since?: string | undefined
  readonly until?: string | undefined
}

const columns = (query: Query) => query`
  d.id, d.event_id as "eventId", d.type, d.status,
  (select count(*)::int from webhook_attempt a where a.delivery_id = d.id) as attempts,
  case when d.status in ('pending', 'retrying') then d.next_attempt_at end as "nextAttemptAt",
  d.created_at as "createdAt", d.updated_at as "updatedAt", ${asMicroseconds(query, 'd.created_at')} as "createdMicroseconds"`

/** Newest first, with one row more than the limit. */
export async function listDeliveries(
  query: Query,
  organizationId: string,
  webhookId: string,
  filter: DeliveryFilter,
  { after, limit }: TimeSlice,
): Promise<Scanned<DeliveryRow, number>> {
  const { type, status, since, until } = filter
  const isFiltered = type !== undefined || status !== undefined
  const within = query`
    where d.organization_id = ${organizationId} and d.webhook_id = ${webhookId}
      ${since === undefined ? query`` : query`and d.created_at >= ${since}::text::timestamptz`}
      ${until === undefined ? query`` : query`and d.created_at < ${until}::text::timestamptz`}
      ${behind(query, 'd.created_at', 'd.id', after)}
    order by d.created_at desc, d.id desc`
  const scanned = query`
    (select d.* from webhook_delivery d ${within} limit ${marginOf(query, query`${SCAN_ROWS}::int`)}) d
    where true
      ${type === undefined ? query`` : query`and d.type = ${type}`}
      ${status === undefined ? query`` : query`and d.status = ${status}`}
    order by d.created_at desc, d.id desc`
  const page = () => query<DeliveryRow[]>`
    select ${columns(query)}
    from ${isFiltered ? scanned : query`webhook_delivery d ${within}`}
    limit ${limit + 1}`
  if (!isFiltered) return wholly(await page())
  return scan({
    limit,
    page,
    async end() {
      const [row] = await query<{ id: string; at: number }[]>`
        select d.id, ${asMicroseconds(query, 'd.created_at')} as at
        from webhook_delivery d ${within}
        limit 1 offset ${SCAN_ROWS}`
      return row === undefined ? null : [row.at, row.id]
    },
    placeOf: (row) => [row.createdMicroseconds, row.id],
  })
}

export async function findDelivery(
  query: Query,
  organizationId: string,
  webhookId: string,
  id: string,
): Promise<DeliveryRow | null> {
  const [row] = await query<DeliveryRow[]>`
    select ${columns(query)}
    from webhook_delivery d
    where d.organization_id = ${organizationId} and d.webhook_id = ${webhookId} and d.id = ${id}`
  return row ?? null
}

/** The status of the delivery, whose row stays locked until the transaction ends. It has an actor from now on. */
export async function lockDelivery(
  tx: Tx,
  organizationId: string,
  webhookId: string,
  id: string,
): Promise<DeliveryStatus | null> {
  const [row] = await tx<{ status: DeliveryStatus }[]>`
    update webhook_delivery set has_actor = true
    where organization_id = ${organizationId} and webhook_id = ${webhookId} and id = ${id}
    returning status`
  return row?.status ?? null
}

export interface LoggedEvent {
  readonly type: string
  readonly timestamp: string
  readonly data: Readonly<Record<string, unknown>>
}

export async function findEvent(
  query: Query,
  organizationId: string,
  id: string,
): Promise<LoggedEvent | null> {
  const [row] = await query<LoggedEvent[]>`
    select e.type, webhook_time(e.occurred_at) as timestamp, e.data
    from webhook_event e
    where e.organization_id = ${organizationId} and e.id = ${id}`
  return row ?? null
}

export interface LoggedAttempt {
  readonly number: number
  readonly manual: boolean
  readonly startedAt: Date
  readonly durationMs: number
  readonly status: number | null
  readonly error: string | null
  readonly headers: Readonly<Record<string, string>> | null
  readonly body: string | null
}

/** Attempts that one answer shows. A delivery has eight, and those that somebody asked for. */
const MAX_ATTEMPTS = 100

/** Oldest first. */
export function listAttempts(query: Query, organizationId: string, deliveryId: string) {
  return query<LoggedAttempt[]>`
    select a.number, a.is_manual as manual, a.started_at as "startedAt", a.duration_ms as "durationMs", a.status, a.error,
      a.headers, a.body
    from webhook_attempt a
    where a.organization_id = ${organizationId} and a.delivery_id = ${deliveryId}
    order by a.number
    limit ${MAX_ATTEMPTS}`
}

/**
 * Deletes the oldest events that are older than `days`, with their deliveries, but those that a turn is about to change. Works on the
 * whole service.
 * @returns how many events were deleted, and the deliveries that had an actor
 */
export async function deleteOldEvents(
  tx: Tx,
  days: number,
  limit: number,
): Promise<{ readonly events: number; readonly deliveryIds: readonly string[] }> {
  // While an event is locked, it gets no new delivery.
  const old = await tx<{ id: string }[]>`
    select id from webhook_event
    where occurred_at < now() - make_interval(days => ${days})
    order by occurred_at
    limit ${limit}
    for update skip locked`
  const ids = old.map(({ id }) => id)
  // A turn may hold a delivery and wait for an event that is locked here, so this waits for no delivery.
  const locked = await tx<{ id: string; eventId: string; hasActor: boolean }[]>`
    select id, event_id as "eventId", has_actor as "hasActor" from webhook_delivery
    where event_id = any(${ids}::uuid[])
    for update skip locked`
  const free = new Set(locked.map(({ id }) => id))
  const all = await tx<{ id: string; eventId: string }[]>`
    select id, event_id as "eventId" from webhook_delivery where event_id = any(${ids}::uuid[])`
  const busy = new Set(all.flatMap(({ id, eventId }) => (free.has(id) ? [] : [eventId])))
  const gone = ids.filter((id) => !busy.has(id))
  await tx`delete from webhook_event where id = any(${gone}::uuid[])`
  return {
    events: gone.length,
    deliveryIds: locked.flatMap(({ id, eventId, hasActor }) => (hasActor && !busy.has(eventId) ? [id] : [])),
  }
}

/** Those of the deliveries that exist, of any organization. */
export async function knownDeliveries(tx: Tx, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await tx<
    { id: string }[]
  >`select id from webhook_delivery where id = any(${ids as string[]}::uuid[])`
  return new Set(rows.map(({ id }) => id))
}
