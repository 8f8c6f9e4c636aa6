/** SQL of present and former members of an organization. */

import type { Role } from '../http/roles.rules.ts'
import { asMicroseconds, fromMicroseconds, type TimeSlice } from '../platform/db/keyset.ts'
import type { Query, Tx } from '../platform/db/pool.ts'
import { REVOKED_CHANNEL } from './credential-cache.ts'

export interface Member {
  /** The user's id. */
  readonly id: string
  readonly email: string
  readonly name: string
  readonly joinedAt: Date
  /** Null for a former member. */
  readonly role: Role | null
  /** Null for a present member. */
  readonly removedAt: Date | null
}

export type MemberRow = Member & { readonly joinedMicroseconds: number }

/** Newest first, with one row more than the limit. */
export function selectMembers(
  sql: Query,
  organizationId: string,
  removed: boolean,
  { after, limit }: TimeSlice,
) {
  const people = removed
    ? sql`(select organization_id, user_id, null as role, joined_at, removed_at, invited_name from former_member)`
    : sql`(
        select organization_id, user_id, role, created_at as joined_at, null::timestamptz as removed_at, invited_name from membership
      )`
  return sql<MemberRow[]>`
    select u.id, u.email, coalesce(m.invited_name, u.name) as name, m.role, m.joined_at as "joinedAt", m.removed_at as "removedAt",
      ${asMicroseconds(sql, 'm.joined_at')} as "joinedMicroseconds"
    from ${people} m
    join app_user u on u.id = m.user_id
    where m.organization_id = ${organizationId}
      ${after === null ? sql`` : sql`and (m.joined_at, u.id) < (${fromMicroseconds(sql, after[0])}, ${after[1]}::uuid)`}
    order by m.joined_at desc, u.id desc
    limit ${limit + 1}`
}

/** Ends the membership and notifies every process. @returns false if the user is not a member */
export async function deleteMembership(tx: Tx, organizationId: string, userId: string): Promise<boolean> {
  const rows = await tx`
    with ended as (
      delete from membership
      where organization_id = ${organizationId} and user_id = ${userId}
      returning organization_id, user_id, created_at, invited_name
    ), noted as (
      insert into former_member (organization_id, user_id, joined_at, invited_name)
      select organization_id, user_id, created_at, invited_name from ended
    )
    select pg_notify(${REVOKED_CHANNEL}, user_id::text) from ended`
  return rows.length > 0
}

/** Locks a former member, so that only one transaction hands over their content. @returns the time of removal, or null */
export async function lockFormerMember(tx: Tx, organizationId: string, userId: string): Promise<Date | null> {
  const [row] = await tx<{ removedAt: Date }[]>`
    select removed_at as "removedAt"
    from former_member
    where organization_id = ${organizationId} and user_id = ${userId}
    for update`
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

/**
 * Locks the memberships of the administrators until the transaction ends. Of two transactions that each take one administrator
 * away, the second waits here and then no longer sees the first one's.
 */
export async function lockAdministrators(tx: Tx, organizationId: string): Promise<ReadonlySet<string>> {
  const rows = await tx<{ userId: string }[]>`
    select user_id as "userId"
    from membership
    where organization_id = ${organizationId} and role = 'administrator'
    order by user_id
    for update`
  return new Set(rows.map(({ userId }) => userId))
}

/** Changes the role and notifies every process. @returns false if the user is not a member */
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
    )
    select pg_notify(${REVOKED_CHANNEL}, user_id::text) from updated`
  return rows.length > 0
}

/** A present or former member with this id or e-mail address. */
export async function findMember(
  sql: Query,
  organizationId: string,
  idOrEmail: string,
): Promise<Member | null> {
  const [row] = await sql<Member[]>`
    select u.id, u.email, coalesce(m.invited_name, u.name) as name, m.role, m.joined_at as "joinedAt", m.removed_at as "removedAt"
    from (
      select user_id, role, created_at as joined_at, null::timestamptz as removed_at, invited_name
      from membership
      where organization_id = ${organizationId}
      union all
      select user_id, null as role, joined_at, removed_at, invited_name
      from former_member
      where organization_id = ${organizationId}
    ) m
    join app_user u on u.id = m.user_id
    where u.id::text = ${idOrEmail.toLowerCase()} or lower(u.email) = lower(${idOrEmail})`
  return row ?? null
}
