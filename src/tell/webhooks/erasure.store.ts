/** The SQL of erasing a person from the events of webhooks. */
import type { ErasedPerson } from '../../people/erasure.ts'
import type { Tx } from '../../platform/db/pool.ts'

export interface EventData {
  readonly id: string
  /** Null only within the transaction that writes the event. */
  readonly seq: number | null
  readonly data: Readonly<Record<string, unknown>>
  /** The event is about a feedback record that was deleted, or about a finding in one. */
  readonly isOrphaned: boolean
  /** The event repeats what was received before the erasure was requested. */
  readonly isOld: boolean
}

/** The number of the newest event; 0: there is none. */
export async function lastEvent(tx: Tx, organizationId: string): Promise<number> {
  const [row] = await tx<{ seq: number }[]>`
    select coalesce(max(seq), 0) as seq
    from webhook_event
    where organization_id = ${organizationId}`
  return row?.seq ?? 0
}

/**
 * Events after number `after` and up to number `last`, in order. An event that was written after the request is old if the message, the
 * name of the recording or the file that it repeats was received before. The events stay locked, so that two erasures at once both find
 * what the other one wrote.
 */
export function readEventData(
  tx: Tx,
  {
    organizationId,
    requestedAt,
    recordingIds,
  }: Pick<ErasedPerson, 'organizationId' | 'requestedAt' | 'recordingIds'>,
  last: number,
  after: number,
  limit: number,
) {
  return tx<EventData[]>`
    select e.id, e.seq, e.data,
      o.record_id is not null and not exists (
        select from feedback_record r
        where r.organization_id = e.organization_id and r.id = o.record_id
      ) as "isOrphaned",
      e.occurred_at <= ${requestedAt} or case
        when e.type like 'theme.%' then true
        when e.type like 'signal.%' then
          coalesce((e.data ->> 'recordingId')::uuid = any(${recordingIds as string[]}::uuid[]), false)
          or exists (
            select
            from agent_event m
            where m.organization_id = e.organization_id
              and m.session_id = (e.data ->> 'sessionId')::uuid
              and m.external_event_id = e.data ->> 'externalEventId'
              and m.updated_at <= ${requestedAt}
          )
        when e.type like 'recording.%' then exists (
          select
          from recording r
          where r.organization_id = e.organization_id
            and r.id = (e.data ->> 'id')::uuid
            and r.id = any(${recordingIds as string[]}::uuid[])
            and coalesce(r.named_at <= ${requestedAt}, true)
        )
        when e.type like 'upload.%' then
          (e.data ->> 'recordingId')::uuid = any(${recordingIds as string[]}::uuid[])
          and (e.data ->> 'createdAt')::timestamptz <= ${requestedAt}
        else false
      end as "isOld"
    from webhook_event e
    cross join lateral (
      select case
        when e.type = 'feedback_record.created' then (e.data ->> 'id')::bigint
        when e.type like 'signal.%' then (e.data ->> 'recordId')::bigint
      end as record_id
    ) o
    where e.organization_id = ${organizationId} and e.seq > ${after} and e.seq <= ${last}
    order by e.seq
    limit ${limit}
    for no key update of e`
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
