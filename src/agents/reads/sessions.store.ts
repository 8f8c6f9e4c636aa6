/**
 * Reading sessions and their events: one statement a page, by keyset.
 *
 * The rule: every statement names the organization and, for a user, the conversation access of the application that
 * is in force now. What a reader may not see is not found; nothing tells the two apart.
 */
import { asMicroseconds, behind, type Slice, type TimeSlice } from '../../platform/db/keyset.ts'
import type { Query } from '../../platform/db/pool.ts'
import { type Walked, walk, wholly } from '../../platform/db/walk.ts'
import type { Context, Participant, Period, ProcessingStatus, SessionStatus } from '../model.ts'
import type { EventBody } from './model.ts'
import {
  endOfWalk,
  type Fragment,
  newest,
  type Reader,
  readable,
  readableApplications,
  within,
} from './visible.store.ts'

export interface SessionFilter extends Period {
  readonly agentKey?: string | undefined
  readonly externalSessionId?: string | undefined
  readonly status?: SessionStatus | undefined
  readonly processingStatus?: ProcessingStatus | undefined
  readonly environment?: string | undefined
}

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
  readonly watermark: number
  readonly gapsPermanentThrough: number | null
  readonly createdAt: Date
  readonly createdMicroseconds: number
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
  s.watermark,
  s.gaps_permanent_through as "gapsPermanentThrough",
  s.created_at as "createdAt",
  ${asMicroseconds(sql, 's.created_at')} as "createdMicroseconds",
  s.updated_at as "updatedAt",
  s.last_activity_at as "lastActivityAt"`

/** Newest first. */
export async function listSessions(
  sql: Query,
  reader: Reader,
  filter: SessionFilter,
  slice: TimeSlice,
): Promise<Walked<SessionRow, number>> {
  const { agentKey, externalSessionId } = filter
  const bounds = within(sql, 's.created_at', filter)
  const conditions = valueConditions(sql, filter)
  const page = (rows: Fragment) => sql<SessionRow[]>`
    select ${sessionColumns(sql)}
    from (${rows}) as s
    join agent_application a on a.id = s.application_id
    order by s.created_at desc, s.id desc
    limit ${slice.limit + 1}`
  if (externalSessionId !== undefined)
    return wholly(
      await page(
        sessionsNamed(sql, reader, externalSessionId, agentKey, {
          conditions: sql`${bounds} ${conditions ?? sql``}`,
          after: slice.after,
        }),
      ),
    )
  const way = {
    table: 'agent_session',
    alias: 's',
    order: 'created_at',
    agentKey,
    bounds,
    conditions,
  } as const
  const rows = () => page(newest(sql, reader, way, slice))
  if (conditions === null) return wholly(await rows())
  return walk({
    limit: slice.limit,
    page: rows,
    async end() {
      const end = await endOfWalk(sql, reader, way, slice)
      return end && [end.microseconds, end.id]
    },
    placeOf: (row) => [row.createdMicroseconds, row.id],
  })
}

/** None of these is in an index: two change while a session is ingested, and each index would have every change of theirs rewrite all. */
function valueConditions(
  sql: Query,
  { status, processingStatus, environment }: SessionFilter,
): Fragment | null {
  if (status === undefined && processingStatus === undefined && environment === undefined) return null
  return sql`
    ${status === undefined ? sql`` : sql`and s.status = ${status}`}
    ${processingStatus === undefined ? sql`` : sql`and s.processing_status = ${processingStatus}`}
    ${environment === undefined ? sql`` : sql`and s.environment = ${environment}`}`
}

function sessionsNamed(
  sql: Query,
  reader: Reader,
  externalSessionId: string,
  agentKey: string | undefined,
  { conditions, after }: { readonly conditions: Fragment; readonly after: TimeSlice['after'] },
): Fragment {
  // An application has at most one session of the name. Written as an order, it can only be read from the index of names: of two
  // indexes of a table that was empty when this was planned, the wrong one looks as good. OFFSET has the set found, then ordered.
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
      ${behind(sql, 's.created_at', 's.id', after)}
    offset 0`
}

/** The session, or undefined where there is none that the reader may see. */
export async function findSession(
  sql: Query,
  reader: Reader,
  sessionId: string,
): Promise<SessionRow | undefined> {
  const [row] = await sql<SessionRow[]>`
    select ${sessionColumns(sql)}
    from agent_session s
    join agent_application a on a.id = s.application_id
    where s.organization_id = ${reader.organizationId}
      and s.id = ${sessionId}
      and ${readable(sql, reader, 's.application_id')}`
  return row
}

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

/** The events of a session that was found for the reader, by sequence. */
export function listEvents(
  sql: Query,
  organizationId: string,
  sessionId: string,
  { after, limit }: Slice<readonly [sequence: number]>,
) {
  return sql<EventRow[]>`
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
    limit ${limit + 1}`
}

export interface RevisionRow {
  readonly revision: number
  readonly final: boolean
  readonly occurredAt: Date
  readonly body: EventBody
  readonly createdAt: Date
  readonly replacedAt: Date | null
}

/** Every revision of one event, the first one first; the newest is the event itself. */
export function listRevisions(
  sql: Query,
  organizationId: string,
  sessionId: string,
  externalEventId: string,
  { after, limit }: Slice<readonly [revision: number]>,
) {
  return sql<RevisionRow[]>`
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
    limit ${limit + 1}`
}
