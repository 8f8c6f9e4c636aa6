/**
 * SQL of the timeline of a person: one page of each channel, newest first.
 *
 * Each channel has an index of the person's rows in this order, so the cost of a page does not depend on its depth. Rows that the caller
 * may not see are passed over, but not more than `SCAN_ROWS` for a page (bounded-scan.ts). `ids` are the internal ids of the
 * person: more than one only while a merge moves rows. Rows of each id are read in their order, and then merged. Without `offset 0` the
 * planner would look for a row by its id in the index of the organization's list.
 */
import type { PendingQuery, Row } from 'postgres'
import { marginOf, SCAN_ROWS } from '../../../platform/db/bounded-scan.ts'
import { asMoment } from '../../../platform/db/keyset.ts'
import type { Query } from '../../../platform/db/pool.ts'
import type { Period } from '../model.ts'
import type { Behind } from './page.rules.ts'

type Fragment = PendingQuery<Row[]>

export interface Scope extends Period {
  readonly organizationId: string
  readonly ids: readonly number[]
  readonly after: Behind | null
  readonly limit: number
}

export interface PageRow {
  readonly id: string
  readonly moment: string
  readonly occurredAt: Date
  readonly title: string | null
}

const bounds = (sql: Query, at: string, id: string, type: Fragment, { since, until, after }: Scope) => sql`
  ${since === undefined ? sql`` : sql`and ${sql(at)} >= ${since}::text::timestamptz`}
  ${until === undefined ? sql`` : sql`and ${sql(at)} < ${until}::text::timestamptz`}
  ${after === null ? sql`` : behind(sql, at, id, type, after)}`

function behind(sql: Query, at: string, id: string, type: Fragment, after: Behind): Fragment {
  const moment = sql`${after.moment}::text::timestamptz`
  if (after.id !== null) return sql`and (${sql(at)}, ${sql(id)}) < (${moment}, ${after.id}::text::${type})`
  return after.includes ? sql`and ${sql(at)} <= ${moment}` : sql`and ${sql(at)} < ${moment}`
}

const people = (sql: Query, { ids }: Scope) => sql`unnest(${ids as number[]}::bigint[]) as one (id)`

/** Everybody who reads timelines may read feedback. */
export function feedbackPage(sql: Query, scope: Scope) {
  return sql<(PageRow & { readonly sourceId: number })[]>`
    select r.id::text as id, ${asMoment(sql, 'r.display_ts')} as moment, r.display_ts as "occurredAt",
      source.name as title, source.id as "sourceId"
    from ${people(sql, scope)}
    cross join lateral (
      select r.id, r.display_ts, r.feedback_source_id
      from feedback_record r
      where r.organization_id = ${scope.organizationId}
        and r.person_id = one.id
        ${bounds(sql, 'r.display_ts', 'r.id', sql`bigint`, scope)}
      order by r.display_ts desc, r.id desc
      limit ${scope.limit + 1}
    ) r
    join feedback_source source on source.organization_id = ${scope.organizationId}
      and source.id = r.feedback_source_id
    order by r.display_ts desc, r.id desc
    limit ${scope.limit + 1}`
}

const sessionLinks = (sql: Query, scope: Scope) => sql`
  from agent_session_person l
  where l.organization_id = ${scope.organizationId}
    and l.person_id = one.id
    ${bounds(sql, 'l.occurred_at', 'l.session_id', sql`uuid`, scope)}
  order by l.occurred_at desc, l.session_id desc`

/** `applications`: ids of those whose conversations the caller may see. */
export function sessionPage(sql: Query, scope: Scope, applications: Fragment) {
  return sql<PageRow[]>`
    select page.session_id as id, ${asMoment(sql, 'page.occurred_at')} as moment, page.occurred_at as "occurredAt",
      page.agent_key as title
    from ${people(sql, scope)}
    cross join lateral (
      select l.session_id, l.occurred_at, a.agent_key
      from (
        select l.*
        ${sessionLinks(sql, scope)}
        limit ${marginOf(sql, sql`${SCAN_ROWS}::int`)}
      ) l
      cross join lateral (
        select s.application_id
        from (select * from agent_session where id = l.session_id offset 0) s
        where s.organization_id = l.organization_id
          and s.application_id = any(array(${applications}))
      ) s
      cross join lateral (
        select a.agent_key
        from agent_application a
        where a.organization_id = l.organization_id and a.id = s.application_id
        limit 1
      ) a
      where not exists (
        select
        from (select * from agent_session_person where session_id = l.session_id offset 0) other
        where other.organization_id = l.organization_id
          and other.person_id = any(${scope.ids as number[]}::bigint[])
          and (other.participant_external_id, other.person_id) < (l.participant_external_id, l.person_id)
      )
      order by l.occurred_at desc, l.session_id desc
      limit ${scope.limit + 1}
    ) page
    order by page.occurred_at desc, page.session_id desc
    limit ${scope.limit + 1}`
}

const participations = (sql: Query, scope: Scope) => sql`
  from recording_participant p
  where p.organization_id = ${scope.organizationId}
    and p.person_id = one.id
    and p.occurred_at is not null
    ${bounds(sql, 'p.occurred_at', 'p.recording_id', sql`uuid`, scope)}
  order by p.occurred_at desc, p.recording_id desc`

/** `visible`: a condition on `r` that names the organization. */
export function recordingPage(sql: Query, scope: Scope, visible: Fragment) {
  return sql<(PageRow & { readonly summary: string | null })[]>`
    select page.recording_id as id, ${asMoment(sql, 'page.occurred_at')} as moment, page.occurred_at as "occurredAt",
      page.display_name as title, page.summary
    from ${people(sql, scope)}
    cross join lateral (
      select p.recording_id, p.occurred_at, r.display_name, r.summary
      from (
        select p.*
        ${participations(sql, scope)}
        limit ${marginOf(sql, sql`${SCAN_ROWS}::int`)}
      ) p
      cross join lateral (
        select r.display_name, r.summary
        from (select * from recording where id = p.recording_id offset 0) r
        where ${visible}
      ) r
      where not exists (
        select
        from (select * from recording_participant where recording_id = p.recording_id offset 0) other
        where other.organization_id = p.organization_id
          and other.person_id = any(${scope.ids as number[]}::bigint[])
          and other.speaker < p.speaker
      )
      order by p.occurred_at desc, p.recording_id desc
      limit ${scope.limit + 1}
    ) page
    order by page.occurred_at desc, page.recording_id desc
    limit ${scope.limit + 1}`
}

export interface EndRow {
  readonly id: string
  readonly moment: string
}

/** Where the search of `sessionPage` ends; undefined where it reaches the oldest row. */
export async function endOfSessions(sql: Query, scope: Scope): Promise<EndRow | undefined> {
  const [row] = await sql<EndRow[]>`
    select page.session_id as id, ${asMoment(sql, 'page.occurred_at')} as moment
    from ${people(sql, scope)}
    cross join lateral (
      select l.session_id, l.occurred_at
      ${sessionLinks(sql, scope)}
      limit 1
      offset ${SCAN_ROWS}
    ) page
    order by page.occurred_at desc, page.session_id desc
    limit 1`
  return row
}

/** Where the search of `recordingPage` ends; undefined where it reaches the oldest row. */
export async function endOfRecordings(sql: Query, scope: Scope): Promise<EndRow | undefined> {
  const [row] = await sql<EndRow[]>`
    select page.recording_id as id, ${asMoment(sql, 'page.occurred_at')} as moment
    from ${people(sql, scope)}
    cross join lateral (
      select p.recording_id, p.occurred_at
      ${participations(sql, scope)}
      limit 1
      offset ${SCAN_ROWS}
    ) page
    order by page.occurred_at desc, page.recording_id desc
    limit 1`
  return row
}
