/**
 * Deletes an organization with every row that names it, in whatever table. The catalogue of the database says which tables
 * these are, so a table of a new feature is never forgotten.
 */
import type { Query, Tx } from '../platform/db/pool.ts'

/** Deleting a row may have a trigger note a change for the organization, which the next pass deletes. */
const PASSES = 5

/** @throws Error if the organization is not that of `earshot demo` */
export async function eraseDemoOrganization(tx: Tx, organizationId: string): Promise<void> {
  const demo = await tx`select 1 from organization where id = ${organizationId} and is_demo for update`
  if (demo.length === 0) throw new Error('only the organization of earshot demo is erased')
  const users = await usersOfNoOther(tx, organizationId)
  const tables = childrenFirst(await tablesOfOrganizations(tx), await references(tx))
  for (let pass = 0, deleted = 1; deleted > 0 && pass < PASSES; pass++) {
    deleted = 0
    for (const table of tables) {
      const { count } = await tx`delete from ${tx(table)} where organization_id = ${organizationId}`
      deleted += count
    }
  }
  await tx`delete from organization where id = ${organizationId}`
  await tx`delete from app_user where id = any(${[...users]}::uuid[])`
}

async function usersOfNoOther(tx: Query, organizationId: string): Promise<readonly string[]> {
  const rows = await tx<{ id: string }[]>`
    select m.user_id as id
    from membership m
    where m.organization_id = ${organizationId}
      and not exists (
        select 1 from membership o where o.user_id = m.user_id and o.organization_id <> ${organizationId}
      )`
  return rows.map(({ id }) => id)
}

/**
 * Tables with a column `organization_id`, in the schema of the service. Lists of files that are still to be deleted stay: the
 * maintenance removes their rows together with the files.
 */
async function tablesOfOrganizations(tx: Query): Promise<readonly string[]> {
  const rows = await tx<{ name: string }[]>`
    select c.relname::text as name
    from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attname = 'organization_id' and not a.attisdropped
    where c.relkind = 'r'
      and c.relnamespace = current_schema()::regnamespace
      and not exists (select 1 from pg_attribute d where d.attrelid = c.oid and d.attname = 'delete_after')
    order by 1`
  return rows.map(({ name }) => name)
}

interface Reference {
  readonly child: string
  readonly parent: string
}

async function references(tx: Query): Promise<readonly Reference[]> {
  const rows = await tx<{ child: string; parent: string }[]>`
    select c.relname::text as child, p.relname::text as parent
    from pg_constraint f
    join pg_class c on c.oid = f.conrelid
    join pg_class p on p.oid = f.confrelid
    where f.contype = 'f'
      and f.conrelid <> f.confrelid
      and f.connamespace = current_schema()::regnamespace`
  return rows
}

/** Each table after all tables that refer to it. */
function childrenFirst(tables: readonly string[], all: readonly Reference[]): readonly string[] {
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
