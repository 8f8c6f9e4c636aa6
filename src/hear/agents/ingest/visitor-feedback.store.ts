/** SQL of feedback that comes from a web page. */
import type { Query } from '../../../platform/db/pool.ts'
import type { SessionKey } from './model.ts'

export interface Target {
  /** True if the session has this response of the agent. */
  readonly isResponse: boolean
  /** The environment that the response names itself; null: that of its session. */
  readonly environment: string | null
  /** The stored revision of the feedback; null: none is stored. */
  readonly revision: number | null
}

/** @returns undefined if the application has no such session */
export async function findTarget(
  sql: Query,
  { organizationId, applicationId, externalSessionId }: SessionKey,
  targetId: string,
  feedbackId: string,
): Promise<Target | undefined> {
  const [row] = await sql<Target[]>`
    select
      exists (
        select 1 from agent_event e
        where e.organization_id = s.organization_id and e.session_id = s.id
          and e.external_event_id = ${targetId} and e.type = 'assistant_message'
      ) as "isResponse",
      (
        select r.body #>> '{context,environment}' from agent_event r
        where r.organization_id = s.organization_id and r.session_id = s.id and r.external_event_id = ${targetId}
      ) as environment,
      (
        select f.revision from agent_event f
        where f.organization_id = s.organization_id and f.session_id = s.id and f.external_event_id = ${feedbackId}
      ) as revision
    from agent_session s
    where s.organization_id = ${organizationId}
      and s.application_id = ${applicationId}
      and s.external_session_id = ${externalSessionId}`
  return row
}
