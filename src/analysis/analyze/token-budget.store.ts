/** The SQL of used tokens. Days are those of the database's clock in UTC. */
import type { Query } from '../../platform/db/pool.ts'

/** @returns false if today's tokens would exceed `limit`, and for an organization that does not exist */
export async function take(
  query: Query,
  organization: string,
  tokens: number,
  limit: number,
): Promise<boolean> {
  if (tokens > limit) return false
  const rows = await query`
    insert into analysis_tokens as t (organization_id, day, tokens)
    select id, (now() at time zone 'utc')::date, ${tokens}
    from organization
    where id = ${organization}
    on conflict (organization_id) do update
    set day = excluded.day, tokens = case when t.day = excluded.day then t.tokens else 0 end + excluded.tokens
    where t.day <> excluded.day or t.tokens + excluded.tokens <= ${limit}
    returning 1`
  return rows.length > 0
}

/** Changes today's tokens. Those of an earlier day stay as they are. */
export async function change(query: Query, organization: string, by: number): Promise<void> {
  await query`
    update analysis_tokens
    set tokens = greatest(0, tokens + ${by})
    where organization_id = ${organization} and day = (now() at time zone 'utc')::date`
}

/** Organizations that have used at least `limit` tokens today. */
export async function findSpent(query: Query, limit: number): Promise<readonly string[]> {
  const rows = await query<{ organizationId: string }[]>`
    select organization_id as "organizationId"
    from analysis_tokens
    where day = (now() at time zone 'utc')::date and tokens >= ${limit}`
  return rows.map(({ organizationId }) => organizationId)
}
