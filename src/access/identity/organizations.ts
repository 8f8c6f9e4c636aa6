/** What other features do with an organization in their own transactions: lock it, take credits, know its members. */
import type { PendingQuery, Row } from 'postgres'
import type { Query, Tx } from '../../platform/db/pool.ts'
import * as store from './organizations.store.ts'

/** Until the transaction ends, no other transaction that locks the organization goes on. */
export function lockOrganization(tx: Tx, organizationId: string): Promise<void> {
  return store.lockOrganization(tx, organizationId)
}

/**
 * Locks the balances of the organizations until the transaction ends, in the order of their ids. The lock does not
 * conflict with inserts of rows that refer to the organization.
 */
export function lockBalances(tx: Query, organizationIds: readonly string[]): Promise<void> {
  return store.lockOrganizations(tx, organizationIds)
}

/**
 * Part of a statement: the update that takes the units of a query `spent`, with the columns `organization_id` and
 * `units`, from the balances that are limited. The caller has locked the balances and spends no more than they have.
 */
export function takingCredits(tx: Query, spent: PendingQuery<Row[]>): PendingQuery<Row[]> {
  return store.takingCredits(tx, spent)
}

/** Those of the users that are members of the organization. */
export function membersAmong(
  query: Query,
  organizationId: string,
  userIds: readonly string[],
): Promise<ReadonlySet<string>> {
  return store.selectMembersAmong(query, organizationId, userIds)
}
