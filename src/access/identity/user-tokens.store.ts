/**
 * SQL of user tokens.
 *
 * Only `selectAdmission` decides whether a token is valid. Every statement that revokes tokens notifies the other
 * processes in the same transaction.
 */

import type { Role } from '../../kernel/roles.rules.ts'
import { asMicroseconds, fromMicroseconds, type TimeSlice } from '../../platform/db/keyset.ts'
import type { Query, Tx } from '../../platform/db/pool.ts'
import { REVOKED_CHANNEL } from './credential-cache.ts'
import { hasAddress } from './store.ts'
import type { GoodToken } from './tokens.ts'

/** The user of a token and the organizations in which the token is valid, in the order of joining. */
export interface Memberships {
  readonly userId: string
  readonly memberships: readonly Membership[]
}

export interface Membership {
  readonly organizationId: string
  readonly role: Role
}

/** The column `memberships` of membership rows `m` in a statement that selects them alone. */
export const membershipsColumn = (sql: Query) => sql`
  coalesce(
    jsonb_agg(
      jsonb_build_object('organizationId', m.organization_id, 'role', m.role)
      order by m.created_at, m.organization_id
    ),
    '[]'
  )`

export interface Admission extends Memberships {
  readonly tokenId: string | null
  /** False if the token was revoked or is not in this database. */
  readonly isGood: boolean
  /** True if `last_used_at` is older than a minute. */
  readonly stale: boolean
  /** The organization that issued the token for itself alone; null for a token that is valid in every organization of its user. */
  readonly boundTo: string | null
}

/**
 * Looks up a verified token. The issue time of a listed token is the creation time of its row. Any other token counts from
 * its `iat`; without one it is refused if tokens of the user were revoked.
 * @returns null if the user is unknown
 */
export async function selectAdmission(
  sql: Query,
  { subject, tokenId, issuedAt }: GoodToken,
): Promise<Admission | null> {
  const match = 'userId' in subject ? sql`u.id = ${subject.userId}` : hasAddress(sql, subject.email)
  const issued = sql`coalesce(t.created_at, ${issuedAt}::timestamptz)`
  const [row] = await sql<Admission[]>`
    select u.id as "userId", t.id as "tokenId",
      (${tokenId}::uuid is null or (t.id is not null and t.revoked_at is null))
        and (u.tokens_not_before is null or coalesce(${issued} >= u.tokens_not_before, false)) as "isGood",
      t.id is not null and (t.last_used_at is null or t.last_used_at < now() - interval '1 minute') as stale,
      t.organization_id as "boundTo",
      (
        select ${membershipsColumn(sql)}
        from membership m
        where m.user_id = u.id
          and (m.tokens_not_before is null or ${issued} >= m.tokens_not_before)
          and (t.organization_id is null or t.organization_id = m.organization_id)
          and not exists (
            select 1 from user_token_refusal r where r.token_id = t.id and r.organization_id = m.organization_id
          )
      ) as memberships
    from app_user u
    left join user_token t on t.id = ${tokenId} and t.user_id = u.id
    where ${match}`
  return row ?? null
}

export interface UserToken {
  readonly id: string
  readonly userId: string
  readonly name: string | null
  /** False if the token is valid in every organization of its user. */
  readonly restricted: boolean
  readonly createdAt: Date
  readonly expiresAt: Date
  /** Accurate to the minute. */
  readonly lastUsedAt: Date | null
  readonly revokedAt: Date | null
}

export type UserTokenRow = UserToken & { readonly createdMicroseconds: number }

/** Columns of the token `t` and of its refusal `r` by the organization. */
const columns = (sql: Query) => sql`
  t.id, t.user_id as "userId", t.name, t.organization_id is not null as restricted, t.created_at as "createdAt",
  t.expires_at as "expiresAt", t.last_used_at as "lastUsedAt", coalesce(t.revoked_at, r.refused_at) as "revokedAt",
  ${asMicroseconds(sql, 't.created_at')} as "createdMicroseconds"`

/** Tokens `t` that are, or were, usable in the organization. An invitation does not show the tokens of the user. */
const usableIn = (sql: Query, organizationId: string) => sql`
  (
    t.organization_id = ${organizationId}
    or (
      t.organization_id is null
      and (
        exists (
          select 1 from membership m
          where m.organization_id = ${organizationId} and m.user_id = t.user_id
        )
        or exists (
          select 1 from former_member f
          where f.organization_id = ${organizationId} and f.user_id = t.user_id and f.invited_name is null
        )
      )
    )
  )`

export async function insertUserToken(
  sql: Query,
  row: {
    readonly id: string
    readonly userId: string
    readonly organizationId: string | null
    readonly name: string | null
    readonly expiresAt: Date
  },
): Promise<void> {
  const { id, userId, organizationId, name, expiresAt } = row
  await sql`
    insert into user_token (id, user_id, organization_id, name, expires_at)
    values (${id}, ${userId}, ${organizationId}, ${name}, ${expiresAt})`
}

export interface UserTokenFilter {
  readonly userId?: string | undefined
}

/** Newest first, with one row more than the limit. */
export function selectUserTokens(
  sql: Query,
  organizationId: string,
  { userId }: UserTokenFilter,
  { after, limit }: TimeSlice,
) {
  return sql<UserTokenRow[]>`
    select ${columns(sql)}
    from user_token t
    left join user_token_refusal r on r.token_id = t.id and r.organization_id = ${organizationId}
    where ${usableIn(sql, organizationId)}
      ${userId === undefined ? sql`` : sql`and t.user_id = ${userId}`}
      ${after === null ? sql`` : sql`and (t.created_at, t.id) < (${fromMicroseconds(sql, after[0])}, ${after[1]}::uuid)`}
    order by t.created_at desc, t.id desc
    limit ${limit + 1}`
}

export async function findUserToken(
  sql: Query,
  organizationId: string,
  id: string,
): Promise<UserTokenRow | null> {
  const [row] = await sql<UserTokenRow[]>`
    select ${columns(sql)}
    from user_token t
    left join user_token_refusal r on r.token_id = t.id and r.organization_id = ${organizationId}
    where ${usableIn(sql, organizationId)}
      and t.id = ${id}`
  return row ?? null
}

/** @returns false if the organization has no such token, or the token is valid in other organizations, too */
export async function renameUserToken(
  sql: Query,
  organizationId: string,
  id: string,
  name: string | null,
): Promise<boolean> {
  const rows = await sql`
    update user_token
    set name = ${name}
    where organization_id = ${organizationId} and id = ${id}
    returning 1`
  return rows.length > 0
}

export async function touchUserToken(sql: Query, id: string): Promise<void> {
  await sql`
    update user_token
    set last_used_at = now()
    where id = ${id}`
}

/**
 * Revokes one token in one organization. A token of this organization alone becomes invalid; a token for all organizations
 * of its user stays valid in the others. Repeating it changes nothing.
 * @returns the user, or null if the organization has no such token
 */
export async function refuseUserToken(
  sql: Query,
  organizationId: string,
  id: string,
): Promise<string | null> {
  const [row] = await sql<{ userId: string }[]>`
    with wanted as (
      select t.id, t.user_id, t.organization_id
      from user_token t
      where ${usableIn(sql, organizationId)} and t.id = ${id}
    ), revoked as (
      update user_token t
      set revoked_at = coalesce(t.revoked_at, now())
      from wanted
      where t.id = wanted.id and wanted.organization_id is not null
    ), refused as (
      insert into user_token_refusal (token_id, organization_id)
      select id, ${organizationId} from wanted where organization_id is null
      on conflict do nothing
    )
    select user_id as "userId", pg_notify(${REVOKED_CHANNEL}, user_id::text) from wanted`
  return row?.userId ?? null
}

/** Revokes one token in every organization. @returns the user, or null if there is no such token */
export async function revokeUserToken(sql: Query, id: string): Promise<string | null> {
  const [row] = await sql<{ userId: string }[]>`
    with revoked as (
      update user_token
      set revoked_at = coalesce(revoked_at, now())
      where id = ${id}
      returning user_id
    )
    select user_id as "userId", pg_notify(${REVOKED_CHANNEL}, user_id::text) from revoked`
  return row?.userId ?? null
}

/**
 * Revokes every token of a member in one organization, including tokens without a row. Call it after `lockPerson`.
 * @returns the number of rows
 */
export async function refuseUserTokensOf(
  sql: Query,
  organizationId: string,
  userId: string,
): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    with stopped as (
      update membership
      set tokens_not_before = now()
      where organization_id = ${organizationId} and user_id = ${userId}
    ), revoked as (
      update user_token
      set revoked_at = now()
      where organization_id = ${organizationId} and user_id = ${userId} and revoked_at is null and expires_at > now()
      returning id
    ), refused as (
      insert into user_token_refusal (token_id, organization_id)
      select id, ${organizationId} from user_token
      where organization_id is null and user_id = ${userId} and revoked_at is null and expires_at > now()
      on conflict do nothing
      returning token_id
    )
    select (select count(*) from revoked)::int + (select count(*) from refused)::int as count,
      pg_notify(${REVOKED_CHANNEL}, ${userId})`
  return row?.count ?? 0
}

/** Revokes every token of a user in every organization, including tokens without a row. @returns the number of rows */
export async function revokeUserTokensOf(tx: Tx, userId: string): Promise<number> {
  // First the person: see `lockPerson`.
  await tx`
    update app_user
    set tokens_not_before = now()
    where id = ${userId}`
  const [row] = await tx<{ count: number }[]>`
    with revoked as (
      update user_token
      set revoked_at = now()
      where user_id = ${userId} and revoked_at is null and expires_at > now()
      returning id
    )
    select (select count(*) from revoked)::int as count, pg_notify(${REVOKED_CHANNEL}, ${userId})`
  return row?.count ?? 0
}

/** Deletes up to `limit` rows of tokens that expired more than 30 days ago. */
export async function deleteExpiredUserTokens(sql: Query, limit: number): Promise<number> {
  const { count } = await sql`
    delete from user_token
    where id in (
      select id from user_token
      where expires_at < now() - interval '30 days'
      limit ${limit}
      for update skip locked
    )`
  return count
}
