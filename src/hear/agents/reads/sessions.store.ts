/**
 * The SQL that reads sessions. One statement reads a page, by keyset.
 *
 * Every statement names the organization and, for a user, checks the application's present conversation access. A session that the
 * reader may not see is not found, exactly as one that does not exist.
 */

import type { Outcome, Sentiment } from '../../../analysis/analyze/insight.ts'
import type { OutcomeBasis } from '../../../analysis/findings/basis.rules.ts'
import type { ReadSubject } from '../../../analysis/findings/coverage.rules.ts'
import { type Scanned, scan, wholly } from '../../../platform/db/bounded-scan.ts'
import { asMoment, behind, type MomentSlice } from '../../../platform/db/keyset.ts'
import type { Query } from '../../../platform/db/pool.ts'
import type { Context, Participant, ProcessingStatus, SessionStatus } from '../model.ts'
import { orderOfSessions, type SessionFilter } from './sessions.rules.ts'
import { isBounded } from './signals.rules.ts'
import {
  conversationsOf,
  endOfScan,
  type Fragment,
  momentOf,
  newest,
  type Reader,
  readable,
  readableApplications,
  within,
} from './visible.store.ts'

export interface SessionRow {
  readonly id: string
  readonly agentKey: string
  readonly externalSessionId: string
  readonly status: SessionStatus
  readonly processingStatus: ProcessingStatus
  readonly agentVersion: string | null
  readonly source: { readonly sdk?: string; readonly version?: string } | null
  readonly context: Context | null
  readonly environment: string | null
  readonly participants: readonly Participant[]
  readonly outcome: Outcome | null
  readonly outcomeBasis: OutcomeBasis | null
  readonly sentiment: Sentiment | null
  readonly subject: ReadSubject | null
  readonly watermark: number
  readonly gapsPermanentThrough: number | null
  readonly startedAt: Date
  readonly endedAt: Date
  readonly startedMoment: string
  readonly createdAt: Date
  readonly createdMoment: string
  readonly updatedAt: Date
  readonly lastActivityAt: Date
}

const sessionColumns = (sql: Query) => sql`
  s.id,
  a.agent_key as "agentKey",
  s.external_session_id as "externalSessionId",
  s.status,
  s.processing_status as "processingStatus",
  s.agent_version as "agentVersion",
  s.source,
  s.context,
  s.environment,
  s.participants,
  i.outcome,
  i.outcome_basis as "outcomeBasis",
  i.sentiment,
  case when i.id is not null then
    json_build_object('state', i.state, 'analyzer', i.analyzer_name, 'version', i.analyzer_version)
  end as subject,
  s.watermark,
  s.gaps_permanent_through as "gapsPermanentThrough",
  ${momentOf(sql, 's', 'began')} as "startedAt",
  coalesce(s.ended_at, s.created_at) as "endedAt",
  ${asMoment(sql, momentOf(sql, 's', 'began'))} as "startedMoment",
  s.created_at as "createdAt",
  ${asMoment(sql, 's.created_at')} as "createdMoment",
  s.updated_at as "updatedAt",
  s.last_activity_at as "lastActivityAt"`

/** In the order of `orderOfSessions`. */
export async function listSessions(
  sql: Query,
  reader: Reader,
  filter: SessionFilter,
  slice: MomentSlice,
): Promise<Scanned<SessionRow, string>> {
  const { agentKey, externalSessionId } = filter
  const moments = orderOfSessions(filter)
  const order = moments === 'startedMoment' ? 'began' : 'created_at'
  const began = within(sql, momentOf(sql, 's', 'began'), filter.began)
  const created = within(sql, 's.created_at', filter.created)
  // The other period is a condition without an index.
  const [bounds, other] = order === 'began' ? [began, created] : [created, began]
  const isOtherBounded = isBounded(order === 'began' ? filter.created : filter.began)
  const values = valueConditions(sql, filter)
  const conditions = isOtherBounded ? sql`${values ?? sql``} ${other}` : values
  const page = (rows: Fragment) => sql<SessionRow[]>`
    select ${sessionColumns(sql)}
    from (${rows}) as s
    join agent_application a on a.id = s.application_id
    left join insight_subject i on i.organization_id = s.organization_id and i.session_id = s.id
    order by ${momentOf(sql, 's', order)} desc, s.id desc
    limit ${slice.limit + 1}`
  if (externalSessionId !== undefined)
    return wholly(
      await page(
        sessionsNamed(
          sql,
          reader,
          externalSessionId,
          agentKey,
          sql`
            ${bounds}
            ${conditions ?? sql``}
            ${behind(sql, momentOf(sql, 's', order), 's.id', slice.after)}`,
        ),
      ),
    )
  const way = {
    table: 'agent_session',
    alias: 's',
    order,
    bounds,
    conditions,
  } as const
  const sources = [conversationsOf(sql, reader, 's', agentKey)]
  const rows = () => page(newest(sql, sources, way, slice))
  if (conditions === null) return wholly(await rows())
  return scan({
    limit: slice.limit,
    page: rows,
    async end() {
      const end = await endOfScan(sql, sources, way, slice)
      return end && [end.moment, end.id]
    },
    placeOf: (row) => [row[moments], row.id],
  })
}

/**
 * Conditions without an index. Two of these columns change during ingestion, and with an index on them every change would have to
 * update all indexes of the table.
 */
function valueConditions(
  sql: Query,
  { status, processingStatus, environment, outcome }: SessionFilter,
): Fragment | null {
  if ([status, processingStatus, environment, outcome].every((value) => value === undefined)) return null
  return sql`
    ${status === undefined ? sql`` : sql`and s.status = ${status}`}
    ${processingStatus === undefined ? sql`` : sql`and s.processing_status = ${processingStatus}`}
    ${environment === undefined ? sql`` : sql`and s.environment = ${environment}`}
    ${
      // A look-up by key for each row, because an `exists` may become a join that does not see the limit.
      outcome === undefined
        ? sql``
        : sql`
          and (
            select ended.outcome
            from insight_subject ended
            where ended.organization_id = s.organization_id and ended.session_id = s.id
          ) = ${outcome}`
    }`
}

function sessionsNamed(
  sql: Query,
  reader: Reader,
  externalSessionId: string,
  agentKey: string | undefined,
  conditions: Fragment,
): Fragment {
  // An application has at most one session with this id. The inner order makes the planner use the index on the id. Without it, a plan
  // that was made while the table was empty may use another index. OFFSET keeps the two orders apart.
  return sql`
    select s.*
    from (${readableApplications(sql, reader, agentKey)}) as application
    cross join lateral (
      select *
      from agent_session
      where application_id = application.id
        and external_session_id >= ${externalSessionId}
        and external_session_id <= ${externalSessionId}
      order by external_session_id
      limit 1
    ) as s
    where true
      ${conditions}
    offset 0`
}

/** The session; undefined where it does not exist or the reader may not see it. */
export async function findSession(
  sql: Query,
  reader: Reader,
  sessionId: string,
): Promise<SessionRow | undefined> {
  const [row] = await sql<SessionRow[]>`
    select ${sessionColumns(sql)}
    from agent_session s
    join agent_application a on a.id = s.application_id
    left join insight_subject i on i.organization_id = s.organization_id and i.session_id = s.id
    where s.organization_id = ${reader.organizationId}
      and s.id = ${sessionId}
      and ${readable(sql, reader, 's.application_id')}`
  return row
}
