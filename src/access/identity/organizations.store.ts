/** The SQL of the row of an organization, for transactions of other features. */
import type { PendingQuery, Row } from 'postgres'
import type { Query, Tx } from '../../platform/db/pool.ts'

/** Locks the organization until the transaction ends. */
export async function lockOrganization(tx: Tx, organizationId: string): Promise<void> {
  await tx`
    select 1
    from organization
    where id = ${organizationId}
    for no key update`
}

/** Locks the organizations until the transaction ends, in the order of their ids. */
export async function lockOrganizations(tx: Query, ids: readonly string[]): Promise<void> {
  await tx`select 1 from organization where id = any(${ids as string[]}::uuid[]) order by id for no key update`
}

/** The update that takes credits, from a query `spent` with the columns `organization_id` and `units`. */
export const takingCredits = (tx: Query, spent: PendingQuery<Row[]>): PendingQuery<Row[]> => tx`
  update organization o set response_credits = o.response_credits - spent.units
  from (${spent}) spent
  where o.id = spent.organization_id and o.response_credits is not null`

/** Those of the users that are members of the organization. */
export async function selectMembersAmong(
  query: Query,
  organizationId: string,
  userIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await query<{ userId: string }[]>`
    select user_id as "userId"
    from membership
    where organization_id = ${organizationId}
      and user_id = any(${userIds as string[]}::uuid[])`
  return new Set(rows.map((row) => row.userId))
}
