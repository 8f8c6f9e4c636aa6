/** SQL that refuses and deletes an organization with every row that names it, in whatever table. */
import type { Query, Tx } from '../../platform/db/pool.ts'
import { REVOKED_CHANNEL } from './credential-cache.ts'

/** How far the deletion of rows is. */
export interface ErasureProgress {
  /** From 1. */
  readonly pass: number
  /** Null before the first step of a pass. */
  readonly table: string | null
  /** The next page of a table that has no index of organizations. */
  readonly page: number
  /** Whether this pass has deleted something. */
  readonly changed: boolean
  /** Deleted rows of all passes. */
  readonly rows: number
}

/**
 * Begins the erasure, and ends every credential of the organization: in the other processes with the notifications, as a revocation
 * does. Its members become former ones, whom no sign-in admits again. Repeating it ends what a request made meanwhile.
 * @returns the ids for the caches of this process
 */
export async function refuseOrganization(tx: Tx, organizationId: string): Promise<readonly string[]> {
  await tx`
    update organization set
      erasure_began_at = coalesce(erasure_began_at, now()), agent_chats_enabled = false, recording_allowed = false
    where id = ${organizationId}`
  // In the order of other changes of members.
  await tx`select 1 from membership where organization_id = ${organizationId} order by user_id for update`
  const rows = await tx<{ id: string }[]>`
    with keys as (
      update api_key set revoked_at = now()
      where organization_id = ${organizationId} and revoked_at is null
      returning id
    ), secrets as (
      update agent_secret set revoked_at = now()
      where application_id in (select id from agent_application where organization_id = ${organizationId}) and revoked_at is null
      returning id
    ), pages as (
      update publishable_key set revoked_at = now()
      where application_id in (select id from agent_application where organization_id = ${organizationId}) and revoked_at is null
      returning id
    ), tokens as (
      update user_token set revoked_at = now()
      where organization_id = ${organizationId} and revoked_at is null
      returning user_id as id
    ), members as (
      delete from membership
      where organization_id = ${organizationId}
      returning user_id as id, created_at as joined_at, null::text as invited_name
    ), invited as (
      delete from invitation
      where organization_id = ${organizationId}
      returning user_id as id, invited_at as joined_at, name as invited_name
    ), former as (
      insert into former_member (organization_id, user_id, joined_at, invited_name)
      select distinct on (id) ${organizationId}::uuid, id, joined_at, invited_name
      from (select * from members union all select * from invited) known
      order by id
      on conflict (organization_id, user_id) do nothing
    ), ended as (
      select id from keys union select id from secrets union select id from pages
      union select id from tokens union select id from members union select id from invited
    )
    select id, pg_notify(${REVOKED_CHANNEL}, id::text) from ended`
  return rows.map(({ id }) => id)
}

/** @returns the name, or null if there is no such organization, or it is being erased */
export async function lockLiving(tx: Tx, organizationId: string): Promise<string | null> {
  const [row] = await tx<{ name: string }[]>`
    select name from organization
    where id = ${organizationId} and erasure_began_at is null
    for no key update`
  return row?.name ?? null
}

/** The organizations that are being erased, oldest request first. */
export async function erasedOrganizations(query: Query): Promise<readonly string[]> {
  const rows = await query<{ id: string }[]>`
    select id from organization where erasure_began_at is not null order by erasure_began_at, id`
  return rows.map(({ id }) => id)
}

/** @returns null if there is no such organization that is being erased */
export async function progressOf(
  query: Query,
  organizationId: string,
): Promise<{ readonly progress: ErasureProgress | null } | null> {
  const [row] = await query<{ progress: ErasureProgress | null }[]>`
    select e.progress
    from organization o
    left join organization_erasure e on e.organization_id = o.id
    where o.id = ${organizationId} and o.erasure_began_at is not null`
  return row ?? null
}

/**
 * Locks the progress of an organization that is being erased. Nothing else locks this row, so a transaction may hold it before it locks
 * objects. @returns null if the organization is gone, or another process has it in hand
 */
export async function claimErased(
  tx: Tx,
  organizationId: string,
): Promise<{ readonly progress: ErasureProgress | null } | null> {
  const claim = () => tx<{ progress: ErasureProgress | null }[]>`
    select progress
    from organization_erasure
    where organization_id = ${organizationId}
    for update skip locked`
  const [row] = await claim()
  if (row !== undefined) return row
  // The first step. Where the row exists, or another process is deleting the organization, nothing is inserted and nothing waits.
  await tx`
    insert into organization_erasure (organization_id)
    select o.id
    from organization o
    where o.id = ${organizationId}
      and o.erasure_began_at is not null
      and not exists (select 1 from organization_erasure e where e.organization_id = o.id)
    for key share of o skip locked
    on conflict (organization_id) do nothing`
  const [first] = await claim()
  return first ?? null
}

export async function saveProgress(tx: Tx, organizationId: string, progress: ErasureProgress): Promise<void> {
  await tx`
    update organization_erasure set progress = ${tx.json({ ...progress })}
    where organization_id = ${organizationId}`
}

export interface OrganizationTable {
  readonly name: string
  /** Whether an index begins with `organization_id`. */
  readonly indexed: boolean
}

/**
 * Whose rows go with files or with copies elsewhere: the features delete them, and the organization waits for them. Also for a recording
 * that a request stores while the others are deleted.
 */
export const OF_OTHERS: readonly string[] = [
  ...['recording', 'upload'],
  ...['media_garbage', 'upload_garbage', 'meeting_join'],
]
/** Former members refuse users whom the organization has ended, until they are deleted themselves. The progress goes with the organization. */
const LAST = ['former_member', 'organization_erasure']

/** Tables with a column `organization_id`, in the schema of the service. */
export function tablesOfOrganizations(query: Query): Promise<readonly OrganizationTable[]> {
  return query<OrganizationTable[]>`
    select c.relname::text as name,
      exists (
        select 1 from pg_index i
        where i.indrelid = c.oid and i.indkey[0] = a.attnum and i.indpred is null and i.indisvalid
      ) as indexed
    from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attname = 'organization_id' and not a.attisdropped
    where c.relkind = 'r'
      and c.relnamespace = current_schema()::regnamespace
      and c.relname <> all(${[...OF_OTHERS, ...LAST]}::text[])
    order by 1`
}

export interface Reference {
  readonly child: string
  readonly parent: string
}

export async function references(query: Query): Promise<readonly Reference[]> {
  return query<Reference[]>`
    select c.relname::text as child, p.relname::text as parent
    from pg_constraint f
    join pg_class c on c.oid = f.conrelid
    join pg_class p on p.oid = f.confrelid
    where f.contype = 'f'
      and f.conrelid <> f.confrelid
      and f.connamespace = current_schema()::regnamespace`
}

/**
 * Deletes rows that no other transaction has locked. Rows of a table are locked in any order here, so this never waits for one.
 * @returns the number of deleted rows, at most `limit`
 */
export async function deleteSomeRows(
  tx: Tx,
  table: string,
  organizationId: string,
  limit: number,
): Promise<number> {
  const { count } = await tx`
    delete from ${tx(table)}
    where ctid = any(array(
        select ctid from ${tx(table)} where organization_id = ${organizationId} limit ${limit} for update skip locked
      ))
      and organization_id = ${organizationId}`
  return count
}

export interface Pages {
  readonly from: number
  readonly to: number
}

/** What lies on these pages, half-open. PostgreSQL reads them only, so a large table costs many small steps, and no index. */
const onPages = (query: Query, organizationId: string, { from, to }: Pages) => query`
  ctid >= ${`(${from},0)`}::tid and ctid < ${`(${to},0)`}::tid and organization_id = ${organizationId}`

/** As `deleteSomeRows`, on these pages. */
export async function deleteRowsOfPages(
  tx: Tx,
  table: string,
  organizationId: string,
  pages: Pages,
): Promise<number> {
  const { count } = await tx`
    delete from ${tx(table)}
    where ctid = any(array(
        select ctid from ${tx(table)} where ${onPages(tx, organizationId, pages)} for update skip locked
      ))
      and organization_id = ${organizationId}`
  return count
}

export async function hasRowsOnPages(
  query: Query,
  table: string,
  organizationId: string,
  pages: Pages,
): Promise<boolean> {
  const rows =
    await query`select 1 from ${query(table)} where ${onPages(query, organizationId, pages)} limit 1`
  return rows.length > 0
}

export async function pagesOf(query: Query, table: string): Promise<number> {
  const [row] = await query<{ pages: number }[]>`
    select (pg_relation_size(${table}::regclass) / current_setting('block_size')::bigint)::float8 as pages`
  return row?.pages ?? 0
}

export async function hasRows(query: Query, table: string, organizationId: string): Promise<boolean> {
  const rows = await query`select 1 from ${query(table)} where organization_id = ${organizationId} limit 1`
  return rows.length > 0
}

/** Users whom this organization, which is being erased, alone knows. */
export async function usersOfNoOther(query: Query, organizationId: string): Promise<readonly string[]> {
  const rows = await query<{ id: string }[]>`
    select f.user_id as id
    from former_member f
    where f.organization_id = ${organizationId}
      and not exists (select 1 from membership m where m.user_id = f.user_id)
      and not exists (select 1 from invitation i where i.user_id = f.user_id)
      and not exists (
        select 1 from former_member o where o.user_id = f.user_id and o.organization_id <> ${organizationId}
      )`
  return rows.map(({ id }) => id)
}

/**
 * Deletes former members of the organization, and those of them whom no other organization knows. The lock of the person awaits an
 * invitation of another organization.
 * @returns the number of former members
 */
export async function forgetFormerMembers(tx: Tx, organizationId: string, limit: number): Promise<number> {
  const rows = await tx<{ id: string }[]>`
    select user_id as id from former_member where organization_id = ${organizationId} order by user_id limit ${limit}`
  const ids = rows.map(({ id }) => id)
  await tx`select 1 from app_user where id = any(${ids}::uuid[]) order by id for update`
  await tx`delete from former_member where organization_id = ${organizationId} and user_id = any(${ids}::uuid[])`
  await tx`
    delete from app_user u
    where u.id = any(${ids}::uuid[])
      and not exists (select 1 from membership m where m.user_id = u.id)
      and not exists (select 1 from invitation i where i.user_id = u.id)
      and not exists (select 1 from former_member f where f.user_id = u.id)`
  return ids.length
}

/** Awaits every transaction that stores something under the organization, and keeps later ones out. */
export async function lockForDeletion(tx: Tx, organizationId: string): Promise<void> {
  await tx`select 1 from organization where id = ${organizationId} for update`
}

export async function deleteOrganization(tx: Tx, organizationId: string): Promise<void> {
  await tx`delete from organization where id = ${organizationId}`
}
