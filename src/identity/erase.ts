/**
 * Deletes an organization with every row that names it. The catalogue of the database says which tables have such rows, so a
 * table of a new feature is never forgotten.
 */
import type { Tx } from '../platform/db/pool.ts'
import * as store from './erase.store.ts'

/** Deleting a row may have a trigger note a change for the organization, which the next pass deletes. */
const PASSES = 5

/** @throws Error if the organization is not that of `earshot demo` */
export async function eraseDemoOrganization(tx: Tx, organizationId: string): Promise<void> {
  if (!(await store.lockDemoOrganization(tx, organizationId)))
    throw new Error('only the organization of earshot demo is erased')
  const users = await store.usersOfNoOther(tx, organizationId)
  const tables = childrenFirst(await store.tablesOfOrganizations(tx), await store.references(tx))
  for (let pass = 0; pass < PASSES; pass++) {
    let deleted = 0
    for (const table of tables) deleted += await store.deleteRowsOf(tx, table, organizationId)
    if (deleted === 0) break
  }
  await store.deleteOrganization(tx, organizationId)
  await store.deleteUsers(tx, users)
}

/** Each table after all tables that refer to it. */
function childrenFirst(tables: readonly string[], all: readonly store.Reference[]): readonly string[] {
  const parents = Map.groupBy(all, ({ parent }) => parent)
  const sorted = new Set<string>()
  const visiting = new Set<string>()
  const visit = (table: string): void => {
    if (sorted.has(table) || visiting.has(table)) return
    visiting.add(table)
    for (const { child } of parents.get(table) ?? []) visit(child)
    sorted.add(table)
  }
  for (const table of tables) visit(table)
  return [...sorted].filter((table) => tables.includes(table))
}
