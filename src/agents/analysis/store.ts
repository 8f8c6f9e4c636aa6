/**
 * The SQL of analysis: which responses wait for it, what their readers said around them, and what came of it.
 *
 * The rule: an answer counts only for the version of the response that was asked about; a response that changed
 * meanwhile is still `metered` and is asked about again.
 */
import type { Query } from '../../platform/db/pool.ts'
import { responseCounts, responseOfEvent } from '../sessions/responses.store.ts'
import type { Progress } from '../sessions/turn.rules.ts'

/** User messages behind a response that analysis looks at. */
const FOLLOW_UPS = 10

interface UserMessage {
  readonly content?: unknown
  readonly participantExternalId?: string
}

export interface PendingResponse {
  readonly externalEventId: string
  readonly version: number
  readonly content: unknown
  /** The last user message before the response. */
  readonly question: UserMessage | null
  /** The user messages up to the next response. */
  readonly followUps: readonly UserMessage[]
}

/**
 * Metered responses of the session in order of sequence. Empty where the session was deleted. Every look-up takes what the
 * index gives first; a join the other way round would read the whole session for each response.
 */
export function readPending(tx: Query, sessionId: string, limit: number) {
  return tx<PendingResponse[]>`
    with pending as materialized (
      select r.organization_id, r.session_id, r.external_event_id, r.version, r.sequence, s.watermark
      from agent_session s
      join agent_response r
        on r.organization_id = s.organization_id and r.session_id = s.id and r.state = 'metered'
      where s.id = ${sessionId}
      order by r.sequence
      limit ${limit}
    )
    select
      p.external_event_id as "externalEventId", p.version, response.content, question.body as question,
      coalesce(follow_up.bodies, '[]') as "followUps"
    from pending p
    cross join lateral (
      select e.body -> 'content' as content
      from agent_event e
      where e.organization_id = p.organization_id
        and e.session_id = p.session_id
        and e.external_event_id = p.external_event_id
      limit 1
    ) response
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
    order by p.sequence`
}

/**
 * Closes responses as analysed or failed, where they are still what was asked about.
 * @returns the ids of those that were.
 */
export async function closeResponses(
  tx: Query,
  sessionId: string,
  responses: readonly Pick<PendingResponse, 'externalEventId' | 'version'>[],
  state: 'analyzed' | 'failed',
): Promise<readonly string[]> {
  const rows = await tx<{ id: string }[]>`
    update agent_response r set state = ${state}, updated_at = now()
    from agent_session s, unnest(
      ${responses.map((response) => response.externalEventId)}::text[],
      ${responses.map((response) => response.version)}::int[]
    ) as asked (id, version)
    where s.id = ${sessionId}
      and r.organization_id = s.organization_id
      and r.session_id = s.id
      and r.external_event_id = asked.id
      and r.version = asked.version
      and r.state = 'metered'
    returning r.external_event_id as id`
  return rows.map((row) => row.id)
}

/** How far the session is. @returns all of it at its end where the session was deleted. */
export async function readProgress(tx: Query, sessionId: string): Promise<Omit<Progress, 'captureContent'>> {
  const [progress] = await tx<Omit<Progress, 'captureContent'>[]>`
    select
      c.blocked, c.metered, c.failed,
      exists (
        select 1 from agent_event e
        where e.organization_id = s.organization_id and e.session_id = s.id and e.sequence > s.watermark
      ) or exists (
        select 1 from agent_revisit r
        where r.organization_id = s.organization_id and r.session_id = s.id
      ) as unwalked
    from (
      select organization_id, id, id as session_id, watermark from agent_session where id = ${sessionId}
    ) s
    ${responseCounts(tx)}`
  return progress ?? { unwalked: false, blocked: 0, metered: 0, failed: 0 }
}
