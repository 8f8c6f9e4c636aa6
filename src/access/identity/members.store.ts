/**
 * SQL of members: present, invited and former ones.
 *
 * Every transaction that changes what a person may do in an organization calls `lockPerson` first, then `lockMemberships`. So two of them
 * about one person take turns, and two about different persons lock the administrators in the same order.
 */

import type { Role } from '../../kernel/roles.rules.ts'
import { asMicroseconds, fromMicroseconds, type TimeSlice } from '../../platform/db/keyset.ts'
import type { Query, Tx } from '../../platform/db/pool.ts'
import { REVOKED_CHANNEL } from './credential-cache.ts'
import { isWho } from './store.ts'

export const MEMBER_STATES = ['active', 'invited', 'former'] as const

export interface Member {
  /** The user's id. */
  readonly id: string
  readonly email: string
  /** Of an invited person, the name that the organization gave. */
  readonly name: string
  readonly status: (typeof MEMBER_STATES)[number]
  /** When the user became a member, or was invited. */
  readonly joinedAt: Date
  /** Null for a former member. */
  readonly role: Role | null
  /** Null unless the user is a former member. */
  readonly removedAt: Date | null
}

export type MemberRow = Member & { readonly joinedMicroseconds: number }

/**
 * Locks the organization against its deletion, and the person against other changes of what they may do.
 * @returns false if there is no such organization, or it is being erased
 */
export async function lockPerson(tx: Query, organizationId: string, userId: string | null): Promise<boolean> {
  const rows = await tx`
    select 1 from organization where id = ${organizationId} and erasure_began_at is null for key share`
  await tx`select 1 from app_user where id = ${userId} for no key update`
  return rows.length > 0
}

/** Locks the memberships of the administrators and of the given users, until the transaction ends. @returns roles by user */
export async function lockMemberships(
  tx: Tx,
  organizationId: string,
  userIds: readonly string[],
): Promise<ReadonlyMap<string, Role>> {
  const rows = await tx<{ userId: string; role: Role }[]>`
    select user_id as "userId", role
    from membership
    where organization_id = ${organizationId}
      and (role = 'administrator' or user_id = any(${userIds as string[]}::uuid[]))
    order by user_id
    for update`
  return new Map(rows.map(({ userId, role }) => [userId, role]))
}

/** Present, invited and former members. A former member who is invited again is invited. */
const everybody = (sql: Query, organizationId: string) => sql`(
  select user_id, role, created_at as joined_at, null::timestamptz as removed_at, null::text as given_name, 'active' as status
  from membership
  where organization_id = ${organizationId}
  union all
  select user_id, role, invited_at, null, name, 'invited'
  from invitation
  where organization_id = ${organizationId}
  union all
  select f.user_id, null, f.joined_at, f.removed_at, f.invited_name, 'former'
  from former_member f
  where f.organization_id = ${organizationId}
    and not exists (select 1 from membership m where m.organization_id = f.organization_id and m.user_id = f.user_id)
    and not exists (select 1 from invitation i where i.organization_id = f.organization_id and i.user_id = f.user_id)
)`

const columns = (sql: Query) => sql`
  u.id, u.email, coalesce(e.given_name, u.name) as name, e.status, e.role, e.joined_at as "joinedAt", e.removed_at as "removedAt"`

/** Newest first, with one row more than the limit. */
export function selectMembers(
  sql: Query,
  organizationId: string,
  removed: boolean,
  { after, limit }: TimeSlice,
) {
  return sql<MemberRow[]>`
    select ${columns(sql)}, ${asMicroseconds(sql, 'e.joined_at')} as "joinedMicroseconds"
    from ${everybody(sql, organizationId)} e
    join app_user u on u.id = e.user_id
    where (e.status = 'former') = ${removed}
      ${after === null ? sql`` : sql`and (e.joined_at, u.id) < (${fromMicroseconds(sql, after[0])}, ${after[1]}::uuid)`}
    order by e.joined_at desc, u.id desc
    limit ${limit + 1}`
}

/** A present, invited or former member with this id or e-mail address. */
export async function findMember(
  sql: Query,
  organizationId: string,
  idOrEmail: string,
): Promise<Member | null> {
  const [row] = await sql<Member[]>`
    select ${columns(sql)}
    from ${everybody(sql, organizationId)} e
    join app_user u on u.id = e.user_id
    where ${isWho(sql, idOrEmail)}`
  return row ?? null
}

/**
 * Makes the user a member and ends the invitation. A former member who is added again finds their private content; tokens from before the
 * removal stay invalid. Call it after `lockPerson`.
 * @returns false if the user is a member already
 */
export async function insertMembership(
  tx: Query,
  { organizationId, userId, role }: { organizationId: string; userId: string; role: Role },
): Promise<boolean> {
  const rows = await tx`
    with returned as (
      delete from former_member
      where organization_id = ${organizationId} and user_id = ${userId}
      returning removed_at
    ), accepted as (
      delete from invitation
      where organization_id = ${organizationId} and user_id = ${userId}
    ), joined as (
      insert into membership (organization_id, user_id, role, tokens_not_before)
      values (${organizationId}, ${userId}, ${role}, (select removed_at from returned))
      on conflict do nothing
      returning user_id
    )
    select pg_notify(${REVOKED_CHANNEL}, user_id::text) from joined`
  return rows.length > 0
}

/** Ends the membership and notifies every process. @returns false if the user is not a member */
export async function deleteMembership(tx: Tx, organizationId: string, userId: string): Promise<boolean> {
  const rows = await tx`
    with ended as (
      delete from membership
      where organization_id = ${organizationId} and user_id = ${userId}
      returning organization_id, user_id, created_at
    ), noted as (
      insert into former_member (organization_id, user_id, joined_at)
      select organization_id, user_id, created_at from ended
      -- A process of an older version may have left a row.
      on conflict (organization_id, user_id) do update set
        joined_at = excluded.joined_at, removed_at = excluded.removed_at, invited_name = null
    )
    select pg_notify(${REVOKED_CHANNEL}, user_id::text) from ended`
  return rows.length > 0
}

/** @returns the time of removal, or null for somebody who was never a member */
export async function selectRemoval(tx: Tx, organizationId: string, userId: string): Promise<Date | null> {
  const [row] = await tx<{ removedAt: Date }[]>`
    select removed_at as "removedAt"
    from former_member
    where organization_id = ${organizationId} and user_id = ${userId}`
  return row?.removedAt ?? null
}

/** Keeps the membership until the transaction ends. @returns false if the user is not a member */
export async function lockMember(tx: Tx, organizationId: string, userId: string): Promise<boolean> {
  const rows = await tx`
    select 1
    from membership
    where organization_id = ${organizationId} and user_id = ${userId}
    for key share`
  return rows.length > 0
}

/** Changes the role, also of an invitation, and notifies every process. @returns false for somebody who is neither a member nor invited */
export async function updateRole(
  tx: Tx,
  organizationId: string,
  userId: string,
  role: Role,
): Promise<boolean> {
  const rows = await tx`
    with updated as (
      update membership
      set role = ${role}
      where organization_id = ${organizationId} and user_id = ${userId}
      returning user_id
    ), offered as (
      update invitation
      set role = ${role}
      where organization_id = ${organizationId} and user_id = ${userId}
      returning user_id
    )
    select pg_notify(${REVOKED_CHANNEL}, user_id::text) from (select * from updated union all select * from offered) changed`
  return rows.length > 0
}
