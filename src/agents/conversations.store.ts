/**
 * Reading sessions and their events: one statement a page, by keyset.
 *
 * The rule: every statement names the organization and, for a user, the conversation access of the application that
 * is in force now. What a reader may not see is not found; nothing tells the two apart.
 */
import { asMicroseconds, fromMicroseconds, type Slice, type TimeSlice } from '../platform/db/keyset.ts'
import type { Query } from '../platform/db/pool.ts'
import type { EventBody, Period } from './conversations.model.ts'
import type { Context, Participant, ProcessingStatus, SessionStatus } from './model.ts'

/** Who reads: a user of the organization, or its key (`userId` null), which sees everything. */
export interface Reader {
  readonly organizationId: string
  readonly userId: string | null
}

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

/**
 * The condition under which the reader may see what belongs to `agent_application a`. The applications that a user may
 * read are looked up once, as an array: as a join, PostgreSQL takes them to be few and sorts instead of walking the index.
 */
export function readable(sql: Query, reader: Reader) {
  const own = sql`a.organization_id = ${reader.organizationId}`
  if (reader.userId === null) return own
  return sql`${own}
    and a.id = any(array(
      select granting.id
      from agent_application granting
      join agent_application_settings access
        on access.application_id = granting.id and access.version = granting.settings_version
      where granting.organization_id = ${reader.organizationId}
        and (access.settings #>> '{conversationAccess,type}' = 'workspace'
          or access.settings #> '{conversationAccess,userIds}' ? ${reader.userId})))`
}

/** The further conditions of a period on a timestamptz column. */
export function within(sql: Query, column: string, { since, until }: Period) {
  // As text: the driver writes a timestamptz parameter through `Date` and would cut its microseconds.
  return sql`
    ${since === undefined ? sql`` : sql`and ${sql(column)} >= ${since}::text::timestamptz`}
    ${until === undefined ? sql`` : sql`and ${sql(column)} < ${until}::text::timestamptz`}`
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
export function listSessions(sql: Query, reader: Reader, filter: SessionFilter, { after, limit }: TimeSlice) {
  const { agentKey, externalSessionId, status, processingStatus, environment } = filter
  return sql<SessionRow[]>`
    select ${sessionColumns(sql)}
    from agent_session s
    join agent_application a on a.id = s.application_id
    where s.organization_id = ${reader.organizationId}
      and ${readable(sql, reader)}
      ${agentKey === undefined ? sql`` : sql`and a.agent_key = ${agentKey}`}
      ${externalSessionId === undefined ? sql`` : sql`and s.external_session_id = ${externalSessionId}`}
      ${status === undefined ? sql`` : sql`and s.status = ${status}`}
      ${processingStatus === undefined ? sql`` : sql`and s.processing_status = ${processingStatus}`}
      ${environment === undefined ? sql`` : sql`and s.environment = ${environment}`}
      ${within(sql, 's.created_at', filter)}
      ${after === null ? sql`` : sql`and (s.created_at, s.id) < (${fromMicroseconds(sql, after[0])}, ${after[1]}::uuid)`}
    order by s.created_at desc, s.id desc
    limit ${limit + 1}`
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
      and ${readable(sql, reader)}`
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
