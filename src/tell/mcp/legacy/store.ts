/** SQL of sessions of older clients, and of the questions to their users. */
import type { Query } from '../../../platform/db/pool.ts'

/** The user whose session it is. */
export interface Owner {
  readonly organizationId: string
  readonly userId: string
}

export interface SessionRow {
  readonly id: string
  readonly protocolVersion: string
  readonly capabilities: Readonly<Record<string, unknown>>
  /** Not used for an hour. */
  readonly stale: boolean
}

/** Stores a session and deletes the longest unused ones of the user beyond `kept`. */
export async function insertSession(
  tx: Query,
  owner: Owner,
  session: { readonly id: string; readonly protocolVersion: string; readonly capabilities: object },
  kept: number,
): Promise<void> {
  const { organizationId, userId } = owner
  await tx`
    delete from mcp_session
    where id in (
      select id
      from mcp_session
      where organization_id = ${organizationId}
        and user_id = ${userId}
      order by used_at desc
      offset ${kept - 1}
    )
    and organization_id = ${organizationId}`
  await tx`
    insert into mcp_session (id, organization_id, user_id, protocol_version, capabilities)
    values (
      ${session.id}, ${organizationId}, ${userId}, ${session.protocolVersion},
      ${JSON.stringify(session.capabilities)}::text::jsonb
    )`
}

/** A session that was used within the last `days`. */
export async function findSession(
  sql: Query,
  { organizationId, userId }: Owner,
  id: string,
  days: number,
): Promise<SessionRow | undefined> {
  const [row] = await sql<SessionRow[]>`
    select id, protocol_version as "protocolVersion", capabilities, used_at < now() - interval '1 hour' as stale
    from mcp_session
    where organization_id = ${organizationId}
      and user_id = ${userId}
      and id = ${id}
      and used_at > now() - ${days} * interval '1 day'`
  return row
}

export async function touchSession(sql: Query, { organizationId }: Owner, id: string): Promise<void> {
  await sql`
    update mcp_session
    set used_at = now()
    where organization_id = ${organizationId}
      and id = ${id}`
}

export async function deleteSession(
  sql: Query,
  { organizationId, userId }: Owner,
  id: string,
): Promise<boolean> {
  const rows = await sql`
    delete from mcp_session
    where organization_id = ${organizationId}
      and user_id = ${userId}
      and id = ${id}
    returning 1`
  return rows.length === 1
}

/** Of every organization, at most `limit` at a time. @returns how many */
export async function deleteUnusedSessions(sql: Query, days: number, limit: number): Promise<number> {
  const rows = await sql`
    delete from mcp_session
    where (organization_id, id) in (
      select organization_id, id
      from mcp_session
      where used_at <= now() - ${days} * interval '1 day'
      order by used_at
      limit ${limit}
    )
    returning 1`
  return rows.length
}

export async function insertQuestion(
  sql: Query,
  { organizationId, userId }: Owner,
  question: { readonly id: string; readonly sessionId: string },
): Promise<void> {
  await sql`
    insert into mcp_question (id, organization_id, user_id, session_id)
    values (${question.id}, ${organizationId}, ${userId}, ${question.sessionId})`
}

/** @returns false if the session has no such open question */
export async function answerQuestion(
  sql: Query,
  { organizationId, userId }: Owner,
  { id, sessionId, answer }: { readonly id: string; readonly sessionId: string; readonly answer: string },
): Promise<boolean> {
  const rows = await sql`
    update mcp_question
    set answer = ${answer}::text::jsonb
    where organization_id = ${organizationId}
      and user_id = ${userId}
      and session_id = ${sessionId}
      and id = ${id}
      and answer is null
    returning 1`
  return rows.length === 1
}

export interface AnswerRow {
  readonly id: string
  readonly answer: unknown
}

/** The answers to some of these questions. */
export function selectAnswers(sql: Query, organizationIds: readonly string[], ids: readonly string[]) {
  return sql<AnswerRow[]>`
    select id, answer
    from mcp_question
    where organization_id = any(${organizationIds as string[]}::uuid[])
      and id = any(${ids as string[]}::uuid[])
      and answer is not null`
}

export async function deleteQuestion(sql: Query, { organizationId }: Owner, id: string): Promise<void> {
  await sql`
    delete from mcp_question
    where organization_id = ${organizationId}
      and id = ${id}`
}

/** Questions of processes that ended. Of every organization, at most `limit` at a time. @returns how many */
export async function deleteOldQuestions(sql: Query, limit: number): Promise<number> {
  const rows = await sql`
    delete from mcp_question
    where (organization_id, id) in (
      select organization_id, id
      from mcp_question
      where created_at < now() - interval '1 hour'
      order by created_at
      limit ${limit}
    )
    returning 1`
  return rows.length
}
