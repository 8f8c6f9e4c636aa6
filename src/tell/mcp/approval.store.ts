/** SQL of used approvals. */
import type { Query } from '../../platform/db/pool.ts'

/** Uses an approval. Of concurrent calls one succeeds. @returns false if it was used before */
export async function useApproval(sql: Query, organizationId: string, id: string): Promise<boolean> {
  const { count } = await sql`
    insert into mcp_approval (id, organization_id)
    values (${id}, ${organizationId})
    on conflict do nothing`
  return count > 0
}

/** Deletes up to `limit` approvals that were used more than a day ago: their questions have expired. */
export async function deleteOldApprovals(sql: Query, limit: number): Promise<number> {
  const { count } = await sql`
    delete from mcp_approval
    where id in (
      select id from mcp_approval
      where used_at < now() - interval '1 day'
      limit ${limit}
      for update skip locked
    )`
  return count
}
