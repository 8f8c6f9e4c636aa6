/** SQL that gives analysed sessions the times of their sessions. */
import type { Tx } from '../platform/db/pool.ts'

export async function backdateSubjects(tx: Tx, organizationId: string): Promise<void> {
  await tx`
    update insight_subject k
    set occurred_at = s.created_at
    from agent_session s
    where k.organization_id = ${organizationId}
      and s.organization_id = ${organizationId}
      and s.id = k.session_id
      and k.occurred_at is distinct from s.created_at`
}
