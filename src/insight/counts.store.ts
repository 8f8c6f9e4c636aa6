/** SQL that counts. Every statement reads a bounded number of the newest rows of a period, by an index that has their order. */
import type { Query } from '../platform/db/pool.ts'
import type { Key, Period } from './model.ts'
import { type Fragment, within } from './period.store.ts'

/** Rows that one count reads. */
export const COUNTED_ROWS = 50_000
export const MAX_GROUPS = 500
const COUNTED_SOURCES = 100

export interface CountRow {
  readonly first: string | null
  readonly second: string | null
  readonly count: number
  /** Rows of all groups, also of those that are not shown. */
  readonly total: number
}

export interface Grouping {
  readonly first: Key
  readonly second: Key | null
}

/** `applications`: ids of those whose conversations the caller may see. */
export function countSignals(
  sql: Query,
  organizationId: string,
  applications: Fragment,
  period: Period,
  {
    grouping,
    kind,
    rating,
  }: {
    readonly grouping: Grouping
    readonly kind: string | undefined
    readonly rating: string | undefined
  },
) {
  const rows = sql`
    select signal.occurred_at as at, signal.kind, signal.rating, null::text as status, null::text as source, a.agent_key
    from (${applications}) as application
    join agent_application a on a.id = application.id
    cross join lateral (
      select g.occurred_at, g.kind, g.rating
      from agent_signal g
      where g.organization_id = ${organizationId}
        and g.application_id = application.id
        and g.shown
        ${within(sql, 'g.occurred_at', period)}
      order by g.occurred_at desc, g.id desc
      limit ${COUNTED_ROWS + 1}
    ) as signal
    where true
      ${kind === undefined ? sql`` : sql`and signal.kind = ${kind}`}
      ${rating === undefined ? sql`` : sql`and signal.rating = ${rating}`}
    limit ${COUNTED_ROWS + 1}`
  return grouped(sql, rows, grouping)
}

/** By the time at which the first event arrived. */
export function countSessions(
  sql: Query,
  organizationId: string,
  applications: Fragment,
  period: Period,
  grouping: Grouping,
) {
  const rows = sql`
    select session.created_at as at, null::text as kind, null::text as rating, session.status, null::text as source, a.agent_key
    from (${applications}) as application
    join agent_application a on a.id = application.id
    cross join lateral (
      select s.created_at, s.status
      from agent_session s
      where s.organization_id = ${organizationId}
        and s.application_id = application.id
        ${within(sql, 's.created_at', period)}
      order by s.created_at desc, s.id desc
      limit ${COUNTED_ROWS + 1}
    ) as session
    limit ${COUNTED_ROWS + 1}`
  return grouped(sql, rows, grouping)
}

/** By the time at which the feedback was given, of the newest 100 sources. */
export function countFeedback(sql: Query, organizationId: string, period: Period, grouping: Grouping) {
  const rows = sql`
    select record.display_ts as at, null::text as kind, null::text as rating, null::text as status, fs.name as source,
      null::text as agent_key
    from (
      select id, name
      from feedback_source
      where organization_id = ${organizationId}
      order by created_at desc, id desc
      limit ${COUNTED_SOURCES}
    ) as fs
    cross join lateral (
      select r.display_ts
      from feedback_record r
      where r.organization_id = ${organizationId}
        and r.feedback_source_id = fs.id
        ${within(sql, 'r.display_ts', period)}
      order by r.display_ts desc, r.id desc
      limit ${COUNTED_ROWS + 1}
    ) as record
    limit ${COUNTED_ROWS + 1}`
  return grouped(sql, rows, grouping)
}

/** By the time at which the recording was created. `visible`: a condition on `r` that names the organization. */
export function countRecordings(sql: Query, visible: Fragment, period: Period, grouping: Grouping) {
  const rows = sql`
    select r.created_at as at, null::text as kind, null::text as rating, null::text as status, r.source, null::text as agent_key
    from recording r
    where ${visible}
      ${within(sql, 'r.created_at', period)}
    order by r.created_at desc, r.id desc
    limit ${COUNTED_ROWS + 1}`
  return grouped(sql, rows, grouping)
}

/** `rows` have the columns `at`, `kind`, `rating`, `status`, `source` and `agent_key`. */
const grouped = (sql: Query, rows: Fragment, { first, second }: Grouping) => sql<CountRow[]>`
  select
    ${keyOf(sql, first)} as first,
    ${second === null ? sql`null::text` : keyOf(sql, second)} as second,
    count(*)::int as count,
    (sum(count(*)) over ())::int as total
  from (${rows}) as counted
  group by 1, 2
  order by 1 desc nulls last, 3 desc
  limit ${MAX_GROUPS}`

function keyOf(sql: Query, key: Key): Fragment {
  if (key === 'day') return sql`to_char(counted.at at time zone 'UTC', 'YYYY-MM-DD')`
  if (key === 'week') return sql`to_char(date_trunc('week', counted.at at time zone 'UTC'), 'YYYY-MM-DD')`
  return sql`counted.${sql(key === 'agentKey' ? 'agent_key' : key)}`
}
