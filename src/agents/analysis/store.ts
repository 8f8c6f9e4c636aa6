/**
 * The SQL of analysis: reads the responses that wait and the user messages around them, and writes the outcomes. Every statement
 * takes any number of sessions, of any organizations.
 *
 * An outcome applies only to the version of the response that was read. A response that changed in the meantime stays `metered`
 * and is analysed again.
 */
import type { Query } from '../../platform/db/pool.ts'
import type { NewId } from '../../platform/ids.ts'
import { responseCounts, responseOfEvent } from '../sessions/responses.store.ts'
import {
  numbered,
  type PerSession,
  type SessionScope,
  scopesOf,
  sessionTable,
} from '../sessions/session-table.store.ts'
import { type NewSignal, writeSignals } from '../sessions/signals.store.ts'
import type { ProcessingState } from '../sessions/turn.rules.ts'

/** User messages after a response that the analysis reads. */
const FOLLOW_UPS = 10

interface UserMessage {
  readonly content?: unknown
  readonly participantExternalId?: string
}

export interface PendingResponse {
  readonly sessionId: string
  readonly externalEventId: string
  readonly version: number
  /** Null where it was not read. */
  readonly content: unknown
  /** The last user message before the response. */
  readonly question: UserMessage | null
  /** The user messages up to the next response. */
  readonly followUps: readonly UserMessage[]
}

/**
 * Reads metered responses of the sessions in order of sequence, at most `limit` of each session. Deleted sessions have none. Each
 * look-up starts at the response and uses an index with a limit. A plain join could read the whole session for each response.
 * @param withContent false: leaves out the content of the responses
 */
export async function readPending(
  tx: Query,
  sessionIds: readonly string[],
  limit: number,
  withContent: boolean,
): Promise<ReadonlyMap<string, readonly PendingResponse[]>> {
  const rows = await tx<PendingResponse[]>`
    with pending as materialized (
      select r.*, s.watermark
      from agent_session s
      cross join lateral (
        select r.organization_id, r.session_id, r.external_event_id, r.version, r.sequence
        from agent_response r
        where r.organization_id = s.organization_id and r.session_id = s.id and r.state = 'metered'
        order by r.sequence
        limit ${limit}
      ) r
      where s.id = any(${sessionIds as string[]}::uuid[])
    )
    select
      p.session_id as "sessionId", p.external_event_id as "externalEventId", p.version,
      ${withContent ? contentOfResponse(tx) : tx`null`} as content,
      question.body as question, coalesce(follow_up.bodies, '[]') as "followUps"
    from pending p
    left join lateral (
      select m.body
      from agent_event m
      where m.organization_id = p.organization_id
        and m.session_id = p.session_id
        and m.sequence < p.sequence
        and m.type = 'user_message'
        and m.final
      order by m.sequence desc
      limit 1
    ) question on true
    left join lateral (
      select e.sequence
      from agent_event e
      ${responseOfEvent(tx)}
      where e.organization_id = p.organization_id
        and e.session_id = p.session_id
        and e.sequence > p.sequence
        and e.type = 'assistant_message'
      order by e.sequence
      limit 1
    ) next_response on true
    left join lateral (
      select jsonb_agg(m.body order by m.sequence) as bodies
      from (
        select u.sequence, u.body
        from agent_event u
        where u.organization_id = p.organization_id
          and u.session_id = p.session_id
          and u.sequence > p.sequence
          and u.sequence <= least(p.watermark, next_response.sequence - 1)
          and u.type = 'user_message'
          and u.final
        order by u.sequence
        limit ${FOLLOW_UPS}
      ) m
    ) follow_up on true
    order by p.session_id, p.sequence`
  return Map.groupBy(rows, (row) => row.sessionId)
}

const contentOfResponse = (tx: Query) => tx`
  (
    select e.body -> 'content'
    from agent_event e
    where e.organization_id = p.organization_id
      and e.session_id = p.session_id
      and e.external_event_id = p.external_event_id
    limit 1
  )`

/** An analysed response and its outcome. */
export interface Closed extends Pick<PendingResponse, 'sessionId' | 'externalEventId' | 'version'> {
  readonly state: 'analyzed' | 'failed'
}

/**
 * Sets the state of responses that have not changed since they were read.
 * @returns the ids of these responses, by session
 */
export async function closeResponses(
  tx: Query,
  responses: readonly Closed[],
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  if (responses.length === 0) return new Map()
  const rows = await tx<{ sessionId: string; id: string }[]>`
    update agent_response r set state = asked.state, updated_at = now()
    from unnest(
      ${responses.map((response) => response.sessionId)}::text[]::uuid[],
      ${responses.map((response) => response.externalEventId)}::text[],
      ${responses.map((response) => response.version)}::int[],
      ${responses.map((response) => response.state)}::text[]
    ) as asked (session_id, id, version, state)
    join agent_session s on s.id = asked.session_id
    where r.organization_id = s.organization_id
      and r.session_id = s.id
      and r.external_event_id = asked.id
      and r.version = asked.version
      and r.state = 'metered'
    returning r.session_id as "sessionId", r.external_event_id as id`
  const bySession = Map.groupBy(rows, (row) => row.sessionId)
  return new Map(
    [...bySession].map(([sessionId, closed]) => [sessionId, new Set(closed.map(({ id }) => id))]),
  )
}

/** The processing states of sessions by id. Deleted sessions are missing. */
export async function readProcessingStates(
  tx: Query,
  sessionIds: readonly string[],
): Promise<ReadonlyMap<string, Omit<ProcessingState, 'captureContent'>>> {
  const rows = await tx<(Omit<ProcessingState, 'captureContent'> & { sessionId: string })[]>`
    select
      s.id as "sessionId", c.blocked, c.metered, c.failed,
      exists (
        select 1 from agent_event e
        where e.organization_id = s.organization_id and e.session_id = s.id and e.sequence > s.watermark
      ) or exists (
        select 1 from agent_late_event r
        where r.organization_id = s.organization_id and r.session_id = s.id
      ) as unprocessed
    from (
      select organization_id, id, id as session_id, watermark
      from agent_session
      where id = any(${sessionIds as string[]}::uuid[])
    ) s
    ${responseCounts(tx)}`
  return new Map(rows.map((row) => [row.sessionId, row]))
}

/** All signals that are inferred from events of a session. */
export interface Inferences {
  readonly scope: SessionScope
  /** Ids of the events that may have inferred signals from an earlier analysis. */
  readonly known: readonly string[]
  readonly signals: readonly NewSignal[]
}

/** Replaces the inferred signals of the events. */
export async function replaceInferences(
  tx: Query,
  newId: NewId,
  parts: readonly Inferences[],
): Promise<void> {
  await Promise.all([
    deleteInferences(tx, parts),
    writeSignals(
      tx,
      newId,
      parts.map(({ scope, signals }) => ({ scope, rows: signals })),
    ),
  ])
}

/** Deletes the inferred signals of known events that are not among the new signals. */
async function deleteInferences(tx: Query, all: readonly Inferences[]): Promise<void> {
  const parts: readonly (PerSession<string> & Inferences)[] = all
    .map((part) => ({ ...part, rows: part.known }))
    .filter(({ rows }) => rows.length > 0)
  const { ns, rows } = numbered(parts)
  if (rows.length === 0) return
  const kept = numbered(parts.map(({ scope, signals }) => ({ scope, rows: signals })))
  await tx`
    delete from agent_signal g
    using unnest(${ns}::int[], ${rows as string[]}::text[]) as e (n, id)
    join ${sessionTable(tx, scopesOf(parts))} using (n)
    where g.organization_id = s.organization_id
      and g.session_id = s.session_id
      and g.external_event_id = e.id
      and g.source = 'qualitative_inference'
      and not exists (
        select 1
        from unnest(
          ${kept.ns}::int[],
          ${kept.rows.map((signal) => signal.externalEventId)}::text[],
          ${kept.rows.map((signal) => signal.kind)}::text[]
        ) as k (n, id, kind)
        where k.n = e.n and k.id = g.external_event_id and k.kind = g.kind
      )`
}
