/** The SQL of erasing a person from the events of webhooks. */
import type { Tx } from '../platform/db/pool.ts'

export interface EventData {
  readonly id: string
  /** Null only within the transaction that writes the event. */
  readonly seq: number | null
  readonly data: Readonly<Record<string, unknown>>
  /** The event is about a feedback record that was deleted, or about a finding in one. */
  readonly isOrphaned: boolean
}

/** The number of the newest event; 0: there is none. */
export async function lastEvent(tx: Tx, organizationId: string): Promise<number> {
  const [row] = await tx<{ seq: number }[]>`
    select coalesce(max(seq), 0) as seq
    from webhook_event
    where organization_id = ${organizationId}`
  return row?.seq ?? 0
}

/** Events after number `after` and up to number `last`, in order. */
export function readEventData(tx: Tx, organizationId: string, last: number, after: number, limit: number) {
  return tx<EventData[]>`
    select e.id, e.seq, e.data,
      o.record_id is not null and not exists (
        select from feedback_record r
        where r.organization_id = e.organization_id and r.id = o.record_id
      ) as "isOrphaned"
    from webhook_event e
    cross join lateral (
      select case
        when e.type = 'feedback_record.created' then (e.data ->> 'id')::bigint
        when e.type like 'signal.%' then (e.data ->> 'recordId')::bigint
      end as record_id
    ) o
    where e.organization_id = ${organizationId} and e.seq > ${after} and e.seq <= ${last}
    order by e.seq
    limit ${limit}`
}

/** Also drops the answers that the log keeps, because they may repeat the event. */
export async function writeEventData(
  tx: Tx,
  organizationId: string,
  rows: readonly Pick<EventData, 'id' | 'data'>[],
): Promise<void> {
  if (rows.length === 0) return
  await tx`
    update webhook_event e
    set data = c.data
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as c (id uuid, data jsonb)
    where e.organization_id = ${organizationId} and e.id = c.id`
  await tx`
    update webhook_attempt a
    set body = null, headers = null
    from webhook_delivery d
    where d.organization_id = ${organizationId} and d.event_id = any(${rows.map(({ id }) => id)}::uuid[])
      and a.organization_id = d.organization_id and a.delivery_id = d.id`
}
