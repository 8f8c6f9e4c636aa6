/**
 * The SQL of responses that wait for analysis. Every statement takes any number of sessions, of any organizations.
 *
 * An outcome applies only to the version of the response that was read. A response that changed in the meantime stays `metered`
 * and is analysed again.
 */
import type { Query } from '../../../platform/db/pool.ts'
import { responseCounts } from '../sessions/responses.store.ts'
import type { ProcessingState } from '../sessions/turn.rules.ts'

export interface PendingResponse {
  readonly sessionId: string
  readonly externalEventId: string
  readonly version: number
}

/**
 * Reads metered responses of the sessions in order of sequence, at most `limit` of each session. Deleted sessions have none. Each
 * look-up starts at the session and uses an index with a limit.
 */
export async function readPending(
  tx: Query,
  sessionIds: readonly string[],
  limit: number,
): Promise<ReadonlyMap<string, readonly PendingResponse[]>> {
  const rows = await tx<PendingResponse[]>`
    select r.session_id as "sessionId", r.external_event_id as "externalEventId", r.version
    from agent_session s
    cross join lateral (
      select r.session_id, r.external_event_id, r.version, r.sequence
      from agent_response r
      where r.organization_id = s.organization_id and r.session_id = s.id and r.state = 'metered'
      order by r.sequence
      limit ${limit}
    ) r
    where s.id = any(${sessionIds as string[]}::uuid[])
    order by r.session_id, r.sequence`
  return Map.groupBy(rows, (row) => row.sessionId)
}

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
    cross join lateral (
      -- The limit leaves one way to look it up: by its key.
      select s.organization_id from agent_session s where s.id = asked.session_id limit 1
    ) s
    where r.organization_id = s.organization_id
      and r.session_id = asked.session_id
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
