/** SQL that gives the sessions of an organization the times of their events. */
import type { Tx } from '../../platform/db/pool.ts'

/** Until then they have the times at which their events arrived. */
export async function backdateSessions(tx: Tx, organizationId: string): Promise<void> {
  await tx`
    update agent_session s
    set created_at = e.first_at, last_activity_at = e.last_at
    from (
      select session_id, min(occurred_at) as first_at, max(occurred_at) as last_at
      from agent_event
      where organization_id = ${organizationId}
      group by session_id
    ) e
    where s.organization_id = ${organizationId}
      and s.id = e.session_id
      and (s.created_at, s.last_activity_at) is distinct from (e.first_at, e.last_at)`
  await tx`
    update agent_session_person p
    set occurred_at = s.last_activity_at
    from agent_session s
    where p.organization_id = ${organizationId}
      and s.organization_id = ${organizationId}
      and s.id = p.session_id
      and p.occurred_at is distinct from s.last_activity_at`
}
