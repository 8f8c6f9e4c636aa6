/**
 * The SQL of coding-agent sessions.
 *
 * `visibleSession` defines who sees a session: its owner, or the whole organization if it was uploaded with a key.
 */
import type { OrganizationPrincipal, UserPrincipal } from '../../kernel/principal.ts'
import { asMicroseconds, behind, type TimeSlice } from '../../platform/db/keyset.ts'
import type { Query, Tx } from '../../platform/db/pool.ts'
import type { Labels } from './event.rules.ts'
import type { Growth, SessionRef } from './events.store.ts'

/** The caller who looks at sessions. The API key does not matter, only its organization. */
export type Viewer = Omit<OrganizationPrincipal, 'apiKeyId'> | UserPrincipal

export const ownerOf = (viewer: Viewer): string | null => (viewer.kind === 'user' ? viewer.userId : null)

/** SQL condition on the session `s`. A key sees what keys have uploaded. */
export const visibleSession = (query: Query, viewer: Viewer) => query`
  s.organization_id = ${viewer.organizationId}
  and (s.user_id is null ${viewer.kind === 'user' ? query`or s.user_id = ${viewer.userId}` : query``})`

export interface SessionRow {
  readonly id: string
  readonly agent: string
  readonly externalSessionId: string
  readonly title: string | null
  readonly repo: string | null
  readonly branch: string | null
  readonly commit: string | null
  readonly startedAt: Date | null
  readonly endedAt: Date | null
  readonly eventCount: number
  readonly messages: number
  readonly toolCalls: number
  readonly fileEdits: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  readonly reasoningTokens: number
  readonly skippedLines: number
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly createdMicroseconds: number
}

const columns = (query: Query) => query`
  s.id, s.agent, s.external_session_id as "externalSessionId", s.title, s.repo, s.branch, s.commit_sha as commit,
  s.started_at as "startedAt", s.ended_at as "endedAt", s.event_count as "eventCount", s.message_count as messages,
  s.tool_call_count as "toolCalls", s.file_edit_count as "fileEdits", s.input_tokens as "inputTokens",
  s.output_tokens as "outputTokens", s.cache_read_tokens as "cacheReadTokens",
  s.cache_write_tokens as "cacheWriteTokens", s.reasoning_tokens as "reasoningTokens",
  s.skipped_lines as "skippedLines", s.created_at as "createdAt", s.updated_at as "updatedAt",
  ${asMicroseconds(query, 's.created_at')} as "createdMicroseconds"`

export interface NewSession {
  readonly id: string
  readonly organizationId: string
  readonly userId: string | null
  readonly agent: string
  readonly externalSessionId: string
}

/**
 * Finds or inserts the owner's session with this external id, and locks it until the transaction ends. What the uploader
 * states replaces what is stored; what the file states only fills gaps.
 */
export async function lockSession(
  tx: Tx,
  row: NewSession,
  stated: Labels,
  found: Labels,
  receivedAt: Date | null = null,
): Promise<{ readonly id: string }> {
  const [locked] = await tx<{ id: string }[]>`
    insert into coding_session as s (
      id, organization_id, user_id, agent, external_session_id, title, repo, branch, commit_sha, labelled_at
    )
    values (
      ${row.id}, ${row.organizationId}, ${row.userId}, ${row.agent}, ${row.externalSessionId},
      coalesce(${stated.title}::text, ${found.title}), coalesce(${stated.repo}::text, ${found.repo}),
      coalesce(${stated.branch}::text, ${found.branch}), coalesce(${stated.commit}::text, ${found.commit}),
      coalesce(${receivedAt}::timestamptz, now())
    )
    on conflict (organization_id, user_id, agent, external_session_id) do update
    set
      title = coalesce(${stated.title}::text, s.title, ${found.title}),
      repo = coalesce(${stated.repo}::text, s.repo, ${found.repo}),
      branch = coalesce(${stated.branch}::text, s.branch, ${found.branch}),
      commit_sha = coalesce(${stated.commit}::text, s.commit_sha, ${found.commit}),
      labelled_at = case
        when (s.title, s.repo, s.branch) is distinct from (
          coalesce(${stated.title}::text, s.title, ${found.title}), coalesce(${stated.repo}::text, s.repo, ${found.repo}),
          coalesce(${stated.branch}::text, s.branch, ${found.branch})
        ) then excluded.labelled_at
        else s.labelled_at
      end,
      updated_at = now()
    returning s.id`
  return locked as { id: string }
}

/** A sum of tokens stays here: JavaScript cannot count beyond it. */
const MOST_TOKENS = Number.MAX_SAFE_INTEGER

/** The caller has locked the session. */
export async function growSession(
  tx: Tx,
  { organizationId, sessionId }: SessionRef,
  growth: Growth,
): Promise<void> {
  await tx`
    update coding_session
    set
      event_count = event_count + ${growth.added}, message_count = message_count + ${growth.messages},
      tool_call_count = tool_call_count + ${growth.toolCalls}, file_edit_count = file_edit_count + ${growth.fileEdits},
      input_tokens = least(input_tokens + ${growth.inputTokens}, ${MOST_TOKENS}),
      output_tokens = least(output_tokens + ${growth.outputTokens}, ${MOST_TOKENS}),
      cache_read_tokens = least(cache_read_tokens + ${growth.cacheReadTokens}, ${MOST_TOKENS}),
      cache_write_tokens = least(cache_write_tokens + ${growth.cacheWriteTokens}, ${MOST_TOKENS}),
      reasoning_tokens = least(reasoning_tokens + ${growth.reasoningTokens}, ${MOST_TOKENS}),
      started_at = least(started_at, ${growth.firstAt}), ended_at = greatest(ended_at, ${growth.lastAt})
    where organization_id = ${organizationId}
      and id = ${sessionId}`
}

export async function setSkippedLines(
  tx: Tx,
  { organizationId, sessionId }: SessionRef,
  skippedLines: number,
): Promise<void> {
  await tx`
    update coding_session
    set skipped_lines = ${skippedLines}, updated_at = now()
    where organization_id = ${organizationId}
      and id = ${sessionId}`
}

/** Sets what the uploader states afterwards. */
export async function labelSession(
  tx: Tx,
  { organizationId, sessionId }: SessionRef,
  stated: Labels,
): Promise<void> {
  await tx`
    update coding_session
    set
      title = coalesce(${stated.title}::text, title), repo = coalesce(${stated.repo}::text, repo),
      branch = coalesce(${stated.branch}::text, branch), commit_sha = coalesce(${stated.commit}::text, commit_sha),
      labelled_at = now(), updated_at = now()
    where organization_id = ${organizationId}
      and id = ${sessionId}`
}

export async function findSession(query: Query, viewer: Viewer, id: string): Promise<SessionRow | undefined> {
  const [row] = await query<SessionRow[]>`
    select ${columns(query)}
    from coding_session s
    where ${visibleSession(query, viewer)}
      and s.id = ${id}`
  return row
}

/** Newest first. */
export function listSessions(
  query: Query,
  viewer: Viewer,
  { after, limit }: TimeSlice,
  agent: string | null,
) {
  return query<SessionRow[]>`
    select ${columns(query)}
    from coding_session s
    where ${visibleSession(query, viewer)}
      ${agent === null ? query`` : query`and s.agent = ${agent}`}
      ${behind(query, 's.created_at', 's.id', after)}
    order by s.created_at desc, s.id desc
    limit ${limit + 1}`
}

/** Sessions of the organization, of any owner, without an order. */
export function sessionsAmong(query: Query, organizationId: string, ids: readonly string[]) {
  return query<SessionRow[]>`
    select ${columns(query)}
    from coding_session s
    where s.organization_id = ${organizationId}
      and s.id = any(${ids as string[]}::uuid[])`
}

/** @returns false if the viewer sees no such session */
export async function deleteSession(tx: Tx, viewer: Viewer, id: string): Promise<boolean> {
  const deleted = await tx`
    delete from coding_session s
    where ${visibleSession(tx, viewer)}
      and s.id = ${id}`
  return deleted.count > 0
}
