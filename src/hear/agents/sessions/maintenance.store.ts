/**
 * The SQL that finds sessions which are due by time or by credits, across organizations.
 *
 * Statements lock rows with `skip locked` in bounded batches. So several processes can run a task at once, no task waits for a turn,
 * and a session that is being deleted gets no message.
 */
import type { Query } from '../../../platform/db/pool.ts'

/** Locks open sessions whose wait at a gap may be over. The session's turn decides whether it is (`LockedSession.idle`). */
export async function lockGapsDue(tx: Query, limit: number): Promise<readonly string[]> {
  const rows = await tx<{ id: string }[]>`
    select id from agent_session
    where gap_deadline <= now()
    order by gap_deadline
    limit ${limit}
    for update skip locked`
  return rows.map((row) => row.id)
}

/** Locks sessions with responses that wait for credits although their organization has credits. */
export async function lockPayable(tx: Query, limit: number): Promise<readonly string[]> {
  const rows = await tx<{ id: string }[]>`
    select s.id
    from agent_session s
    where (s.organization_id, s.id) in (
        select r.organization_id, r.session_id
        from agent_response r
        join organization o on o.id = r.organization_id
        where r.state = 'billing_blocked'
          and (o.response_credits is null or o.response_credits > 0)
      )
    order by s.id
    limit ${limit}
    for key share of s skip locked`
  return rows.map((row) => row.id)
}

/**
 * Locks sessions with responses that wait for credits until the transaction ends, so that none is deleted before its
 * message is sent. A session that is locked elsewhere is skipped, because sessions are locked before organizations. Such
 * a session is either being deleted, or its own turn takes the credits, or a timer wakes it.
 */
export async function lockBlocked(tx: Query, organizationId: string): Promise<readonly string[]> {
  const rows = await tx<{ id: string }[]>`
    select s.id
    from agent_session s
    where s.organization_id = ${organizationId}
      and s.id in (
        select r.session_id
        from agent_response r
        where r.organization_id = ${organizationId} and r.state = 'billing_blocked'
      )
    order by s.id
    for key share of s skip locked`
  return rows.map((row) => row.id)
}

export interface ExpiredSession {
  readonly organizationId: string
  readonly id: string
}

/** Locks sessions without activity for longer than their application retains them. */
export function lockExpired(tx: Query, limit: number) {
  return tx<ExpiredSession[]>`
    select s.organization_id as "organizationId", s.id
    from agent_application a
    join agent_application_settings v
      on v.organization_id = a.organization_id and v.application_id = a.id and v.version = a.settings_version
    cross join lateral (
      select now() - make_interval(days => (v.settings ->> 'retentionDays')::int) as point
    ) retained_from
    join agent_session s
      on s.organization_id = a.organization_id and s.application_id = a.id
      -- Implied by the next condition. The index on the application's sessions can use it.
      and s.created_at < retained_from.point
      and s.last_activity_at < retained_from.point
    where v.settings ->> 'retentionDays' is not null
    limit ${limit}
    for update of s skip locked`
}
