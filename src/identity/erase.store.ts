/** SQL that deletes an organization with every row that names it, in whatever table. */
import type { Query, Tx } from '../platform/db/pool.ts'

/** @returns false if there is no such organization, or it is not that of `earshot demo` */
export async function lockDemoOrganization(tx: Tx, organizationId: string): Promise<boolean> {
  const rows = await tx`select 1 from organization where id = ${organizationId} and is_demo for update`
  return rows.length > 0
}

/** Users whom this organization alone knows. */
export async function usersOfNoOther(tx: Query, organizationId: string): Promise<readonly string[]> {
  const rows = await tx<{ id: string }[]>`
    select m.user_id as id
    from membership m
    where m.organization_id = ${organizationId}
      and not exists (
        select 1 from membership o where o.user_id = m.user_id and o.organization_id <> ${organizationId}
      )
      and not exists (
        select 1 from invitation i where i.user_id = m.user_id and i.organization_id <> ${organizationId}
      )`
  return rows.map(({ id }) => id)
}

/**
 * Tables with a column `organization_id`, in the schema of the service. Lists of files that are still to be deleted stay: the
 * maintenance removes their rows together with the files.
 */
export async function tablesOfOrganizations(tx: Query): Promise<readonly string[]> {
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

export interface Reference {
  readonly child: string
  readonly parent: string
}

export async function references(tx: Query): Promise<readonly Reference[]> {
  return tx<Reference[]>`
    select c.relname::text as child, p.relname::text as parent
    from pg_constraint f
    join pg_class c on c.oid = f.conrelid
    join pg_class p on p.oid = f.confrelid
    where f.contype = 'f'
      and f.conrelid <> f.confrelid
      and f.connamespace = current_schema()::regnamespace`
}

/** @returns the number of deleted rows */
export async function deleteRowsOf(tx: Tx, table: string, organizationId: string): Promise<number> {
  const { count } = await tx`delete from ${tx(table)} where organization_id = ${organizationId}`
  return count
}

export async function deleteOrganization(tx: Tx, organizationId: string): Promise<void> {
  await tx`delete from organization where id = ${organizationId}`
}

export async function deleteUsers(tx: Tx, users: readonly string[]): Promise<void> {
  await tx`delete from app_user where id = any(${[...users]}::uuid[])`
}
