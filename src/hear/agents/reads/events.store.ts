/**
 * The SQL that reads the events of a session and their revisions, by keyset. The caller has checked that the reader may see the session.
 * A page of large events ends early: one answer must not hold up the requests of others.
 */
import type { Slice } from '../../../platform/db/keyset.ts'
import type { Query } from '../../../platform/db/pool.ts'
import type { EventBody } from './model.ts'

export interface EventRow {
  readonly externalEventId: string
  readonly sequence: number
  readonly revision: number
  readonly occurredAt: Date
  readonly type: string
  readonly final: boolean
  readonly body: EventBody
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** Bytes of bodies on a page; the last one may exceed it. Larger pages would hold up the requests of others. */
const MAX_PAGE_BYTES = 2 * 1024 * 1024

/** Rows of a page, and whether it ended because they are large. */
interface SizedRows<R> {
  readonly rows: readonly R[]
  readonly endsEarly: boolean
}

/** What `sizes` adds to a row. */
interface Sized {
  /** Rows that were found, including those that were left out. */
  readonly found: number
  readonly bytesBefore: number
}

/** The columns of `Sized`, for the rows `page` in the order of the column. */
const sizes = (sql: Query, order: 'sequence' | 'revision') => sql`
  count(*) over ()::int as found,
  sum(octet_length(body::text)) over (order by ${sql(order)}) - octet_length(body::text) as "bytesBefore"`

function sizedRows<R>(sized: readonly (R & Sized)[]): SizedRows<Omit<R & Sized, keyof Sized>> {
  const rows = sized.map(({ found, bytesBefore, ...row }) => row)
  return { rows, endsEarly: rows.length < (sized[0]?.found ?? 0) }
}

/** The events of a session by sequence: one more than the limit, or fewer where they are large. */
export async function listEvents(
  sql: Query,
  organizationId: string,
  sessionId: string,
  { after, limit }: Slice<readonly [sequence: number]>,
) {
  const sized = await sql<(EventRow & Sized)[]>`
    select *
    from (
      select page.*, ${sizes(sql, 'sequence')}
      from (
        select
          external_event_id as "externalEventId",
          sequence,
          revision,
          occurred_at as "occurredAt",
          type,
          final,
          body,
          created_at as "createdAt",
          updated_at as "updatedAt"
        from agent_event
        where organization_id = ${organizationId}
          and session_id = ${sessionId}
          and sequence > ${after === null ? -1 : after[0]}
        order by sequence
        limit ${limit + 1}
      ) as page
    ) as sized
    where "bytesBefore" < ${MAX_PAGE_BYTES}
    order by sequence`
  return sizedRows(sized)
}

export interface RevisionRow {
  readonly revision: number
  readonly final: boolean
  readonly occurredAt: Date
  readonly body: EventBody
  readonly createdAt: Date
  readonly replacedAt: Date | null
}

/** The revisions of one event, oldest first: one more than the limit, or fewer where they are large. The newest is the event itself. */
export async function listRevisions(
  sql: Query,
  organizationId: string,
  sessionId: string,
  externalEventId: string,
  { after, limit }: Slice<readonly [revision: number]>,
) {
  const sized = await sql<(RevisionRow & Sized)[]>`
    select *
    from (
      select page.*, ${sizes(sql, 'revision')}
      from (
        select revision, final, occurred_at as "occurredAt", body, created_at as "createdAt", replaced_at as "replacedAt"
        from (
          select revision, final, occurred_at, body, created_at, replaced_at
          from agent_event_revision
          where organization_id = ${organizationId}
            and session_id = ${sessionId}
            and external_event_id = ${externalEventId}
          union all
          select revision, final, occurred_at, body, updated_at, null
          from agent_event
          where organization_id = ${organizationId}
            and session_id = ${sessionId}
            and external_event_id = ${externalEventId}
        ) as history
        where revision > ${after === null ? 0 : after[0]}
        order by revision
        limit ${limit + 1}
      ) as page
    ) as sized
    where "bytesBefore" < ${MAX_PAGE_BYTES}
    order by revision`
  return sizedRows(sized)
}
