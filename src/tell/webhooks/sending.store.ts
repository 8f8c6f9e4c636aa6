/**
 * The SQL of turns that send events. A turn locks the row of its subscription first. So two turns of one subscription (its own, and
 * those of deliveries that were put aside) write one after the other.
 */
import type { Query, Tx } from '../../platform/db/pool.ts'
import type { DeliveryStatus, Ordering } from './delivery.rules.ts'

/** A subscription, as a turn needs it. */
export interface Receiver {
  readonly id: string
  readonly organizationId: string
  readonly url: string
  readonly types: string[]
  readonly ordering: Ordering
  readonly enabled: boolean
  readonly cursor: number
  readonly version: number
  /** Milliseconds until the end of a pause that the receiver asked for; 0: there is none. */
  readonly pausedMs: number
  /** Sealed. */
  readonly secret: Uint8Array
  /** Sealed; null: there is none, or its time is over. */
  readonly previousSecret: Uint8Array | null
}

/** Locks the subscription until the transaction ends. @returns null if it was deleted */
export async function lockReceiver(tx: Tx, organizationId: string, id: string): Promise<Receiver | null> {
  const [row] = await tx<Receiver[]>`
    select w.id, w.organization_id as "organizationId", w.url, w.types, w.ordering, w.enabled, w.cursor, w.version,
      coalesce(greatest(0, ceil(extract(epoch from w.paused_until - now()) * 1000)), 0)::int as "pausedMs", w.secret,
      case when w.previous_secret_until > now() then w.previous_secret end as "previousSecret"
    from webhook w
    where w.organization_id = ${organizationId} and w.id = ${id}
    for no key update`
  return row ?? null
}

/** An event to send to one subscription. */
export interface Sendable {
  readonly eventId: string
  readonly type: string
  /** RFC 3339. */
  readonly timestamp: string
  /** JSON text. */
  readonly data: string
  /** null: the event was not sent yet. */
  readonly deliveryId: string | null
  /** Automatic attempts so far. */
  readonly attempts: number
  /** The cursor after the event; null: the event does not move it. */
  readonly seq: number | null
}

const event = (query: Query) => query`
  e.id as "eventId", e.type, webhook_time(e.occurred_at) as timestamp, e.data::text as data`

/** The delivery that holds up later ones, with the milliseconds until it is due. */
export async function findPending(
  tx: Tx,
  { organizationId, id }: Receiver,
): Promise<(Sendable & { readonly dueMs: number }) | null> {
  const [row] = await tx<(Sendable & { dueMs: number })[]>`
    select ${event(tx)}, d.id as "deliveryId", d.attempts, null::bigint as seq,
      coalesce(greatest(0, ceil(extract(epoch from d.next_attempt_at - now()) * 1000)), 0)::int as "dueMs"
    from webhook_delivery d
    join webhook_event e on e.id = d.event_id
    where d.organization_id = ${organizationId} and d.webhook_id = ${id} and d.status = 'pending'
    order by d.created_at
    limit 1`
  return row ?? null
}

/** Events that one statement looks at, most of which may be of other types. */
const SCANNED = 500

export interface EventPage {
  readonly events: readonly Sendable[]
  /** The number of the last event that the page covers; null: there is none after the cursor. */
  readonly upTo: number | null
}

type PageRow = { readonly upTo: number | null } & (Sendable | { readonly eventId: null })

/** The next events for the subscription after `cursor`, in order. */
export async function readEvents(
  tx: Tx,
  { organizationId, types }: Pick<Receiver, 'organizationId' | 'types'>,
  cursor: number,
  limit: number,
): Promise<EventPage> {
  const rows = await tx<PageRow[]>`
    with page as materialized (
      select * from webhook_event
      where organization_id = ${organizationId} and seq > ${cursor}
      order by seq
      limit ${SCANNED}
    )
    select last.seq as "upTo", m.*, null::uuid as "deliveryId", 0 as attempts
    from (select max(seq) as seq from page) last
    left join lateral (
      select ${event(tx)}, e.seq
      from page e
      where e.webhook_id is null and ('*' = any(${types}::text[]) or e.type = any(${types}::text[]))
      order by e.seq
      limit ${limit}
    ) m on true
    order by m.seq`
  const events = rows.flatMap((row) => (row.eventId === null ? [] : [row]))
  const last = events.at(-1)?.seq ?? null
  return { events, upTo: events.length === limit ? last : (rows[0]?.upTo ?? null) }
}

/** Events of a period for the subscription that were not delivered and that nothing sends, in order. */
export async function readMissed(
  tx: Tx,
  { organizationId, id, types, cursor }: Receiver,
  period: { readonly since: string; readonly until: string; readonly after: number },
  limit: number,
): Promise<EventPage> {
  const rows = await tx<PageRow[]>`
    with page as materialized (
      select * from webhook_event
      where organization_id = ${organizationId} and seq > ${period.after} and seq <= ${cursor}
      order by seq
      limit ${SCANNED}
    )
    select last.seq as "upTo", m.*, 0 as attempts
    from (select max(seq) as seq from page) last
    left join lateral (
      select ${event(tx)}, e.seq, d.id as "deliveryId"
      from page e
      left join webhook_delivery d on d.webhook_id = ${id} and d.event_id = e.id
      where e.webhook_id is null and ('*' = any(${types}::text[]) or e.type = any(${types}::text[]))
        and e.occurred_at >= ${period.since}::text::timestamptz and e.occurred_at < ${period.until}::text::timestamptz
        and (d.id is null or d.status = 'failed')
      order by e.seq
      limit ${limit}
    ) m on true
    order by m.seq`
  const events = rows.flatMap((row) => (row.eventId === null ? [] : [row]))
  const last = events.at(-1)?.seq ?? null
  return { events, upTo: events.length === limit ? last : (rows[0]?.upTo ?? null) }
}

/** The webhook of a delivery; null if it was deleted. */
export async function webhookOf(tx: Tx, organizationId: string, deliveryId: string): Promise<string | null> {
  const [row] = await tx<{ id: string }[]>`
    select webhook_id as id from webhook_delivery
    where organization_id = ${organizationId} and id = ${deliveryId}`
  return row?.id ?? null
}

export async function findDelivery(
  tx: Tx,
  organizationId: string,
  deliveryId: string,
): Promise<(Sendable & { readonly status: DeliveryStatus }) | null> {
  const [row] = await tx<(Sendable & { status: DeliveryStatus })[]>`
    select ${event(tx)}, d.id as "deliveryId", d.attempts, d.status, null::bigint as seq
    from webhook_delivery d
    join webhook_event e on e.id = d.event_id
    where d.organization_id = ${organizationId} and d.id = ${deliveryId}`
  return row ?? null
}

/** An attempt with what becomes of its delivery. */
export interface AttemptRow {
  readonly deliveryId: string
  readonly eventId: string
  readonly type: string
  readonly deliveryStatus: DeliveryStatus
  /** Automatic attempts so far, with this one if it is automatic. */
  readonly attempts: number
  readonly delaySeconds: number | null
  readonly hasActor: boolean
  readonly isManual: boolean
  readonly startedAt: string
  readonly durationMs: number
  readonly status: number | null
  readonly error: string | null
  readonly headers: Readonly<Record<string, string>> | null
  readonly body: string | null
}

/**
 * Writes deliveries with their newest attempts: of each delivery at most one.
 * @returns the delivery of each event. It is another one than the row says if the event was sent by another turn, too.
 */
export async function saveAttempts(
  tx: Tx,
  { organizationId, id }: Pick<Receiver, 'organizationId' | 'id'>,
  rows: readonly AttemptRow[],
): Promise<ReadonlyMap<string, string>> {
  if (rows.length === 0) return new Map()
  const saved = await tx<{ eventId: string; id: string }[]>`
    with row as materialized (
      select * from json_to_recordset(${JSON.stringify(rows)}::text::json) as r (
        "deliveryId" uuid, "eventId" uuid, type text, "deliveryStatus" text, attempts int, "delaySeconds" float8,
        "hasActor" boolean, "isManual" boolean, "startedAt" timestamptz, "durationMs" int, status int, error text,
        headers jsonb, body text
      )
    ), saved as (
      insert into webhook_delivery as d (
        id, organization_id, webhook_id, event_id, type, status, attempts, next_attempt_at, has_actor
      )
      select r."deliveryId", ${organizationId}::uuid, ${id}::uuid, r."eventId", r.type, r."deliveryStatus", r.attempts,
        now() + r."delaySeconds" * interval '1 second', r."hasActor"
      from row r
      on conflict (webhook_id, event_id) do update set
        -- What another turn delivered meanwhile stays delivered.
        status = case when d.status = 'delivered' then d.status else excluded.status end, attempts = excluded.attempts, next_attempt_at = excluded.next_attempt_at,
        has_actor = d.has_actor or excluded.has_actor, updated_at = now()
      returning d.id, d.event_id
    ), attempted as (
      insert into webhook_attempt (
        organization_id, delivery_id, number, is_manual, started_at, duration_ms, status, error, headers, body
      )
      select ${organizationId}::uuid, s.id,
        (select coalesce(max(a.number), 0) + 1 from webhook_attempt a where a.delivery_id = s.id),
        r."isManual", r."startedAt", r."durationMs", r.status, r.error, r.headers, r.body
      from saved s
      join row r on r."eventId" = s.event_id
    )
    select event_id as "eventId", id from saved`
  return new Map(saved.map((one) => [one.eventId, one.id]))
}

export interface Progress {
  /** null: unchanged. */
  readonly cursor: number | null
  /** Whether the newest automatic attempt succeeded; null: there was none. */
  readonly succeeded: boolean | null
  readonly pauseSeconds: number | null
  readonly isGone: boolean
  /** Failures for longer than this disable the subscription. */
  readonly maxFailingSeconds: number
}

/** Moves the cursor, and disables a subscription whose receiver is gone. @returns why it was disabled by this; null if it was not */
export async function saveProgress(
  tx: Tx,
  { organizationId, id }: Pick<Receiver, 'organizationId' | 'id'>,
  { cursor, succeeded, pauseSeconds, isGone, maxFailingSeconds }: Progress,
): Promise<'gone' | 'failing' | null> {
  await tx`
    update webhook
    set cursor = greatest(cursor, ${cursor}::bigint),
      failing_since = case
        when ${succeeded}::boolean then null
        when not ${succeeded}::boolean then coalesce(failing_since, now())
        else failing_since
      end,
      paused_until = case
        when ${pauseSeconds}::float8 is not null then now() + ${pauseSeconds}::float8 * interval '1 second'
        else paused_until
      end
    where organization_id = ${organizationId} and id = ${id}`
  if (succeeded !== false) return null
  const [row] = await tx<{ reason: 'gone' | 'failing' | null }[]>`
    update webhook
    set enabled = false, disabled_reason = case when ${isGone}::boolean then 'gone' else 'failing' end, disabled_at = now(),
      version = version + 1, updated_at = now()
    where organization_id = ${organizationId} and id = ${id} and enabled
      and (${isGone}::boolean or failing_since <= now() - ${maxFailingSeconds}::float8 * interval '1 second')
    returning disabled_reason as reason`
  return row?.reason ?? null
}

/** A delivery whose subscription was disabled meanwhile is given up. */
export async function giveUpDelivery(tx: Tx, organizationId: string, deliveryId: string): Promise<void> {
  await tx`
    update webhook_delivery
    set status = 'failed', next_attempt_at = null, updated_at = now()
    where organization_id = ${organizationId} and id = ${deliveryId} and status = 'retrying'`
}

/** Waits for transactions that write events of the organization, and keeps others waiting until this one ends. */
export async function holdStream(tx: Tx, organizationId: string): Promise<void> {
  await tx`select 1 from webhook_stream where organization_id = ${organizationId} for share`
}

/** Whether there is an event after the cursor, of whatever type. Call it after `holdStream`. */
export async function hasEvents(
  tx: Tx,
  { organizationId, id }: { organizationId: string; id: string },
): Promise<boolean> {
  const [row] = await tx<{ found: boolean }[]>`
    select exists (
      select from webhook_event e
      where e.organization_id = w.organization_id and e.seq > w.cursor
    ) and w.enabled as found
    from webhook w
    where w.organization_id = ${organizationId} and w.id = ${id}`
  return row?.found ?? false
}
