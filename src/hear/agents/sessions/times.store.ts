/** SQL of when sessions began and ended. */
import type { Query } from '../../../platform/db/pool.ts'

/** Reads from all events of locked sessions when they began and ended. */
export async function readTimes(tx: Query, sessionIds: readonly string[]): Promise<void> {
  if (sessionIds.length === 0) return
  await tx`
    update agent_session s
    set started_at = e.first_at, ended_at = e.last_at
    from unnest(${sessionIds as string[]}::text[]::uuid[]) as k (id)
    join agent_session own on own.id = k.id
    cross join lateral (
      select min(e.occurred_at) as first_at, max(e.occurred_at) as last_at
      from agent_event e
      where e.organization_id = own.organization_id and e.session_id = own.id
    ) e
    where s.organization_id = own.organization_id
      and s.id = own.id
      and (s.started_at, s.ended_at) is distinct from (e.first_at, e.last_at)`
}
