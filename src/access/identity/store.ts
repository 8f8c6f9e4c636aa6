/** SQL of organizations and users. */

import type { Role } from '../../kernel/roles.rules.ts'
import type { Query, Tx } from '../../platform/db/pool.ts'
import { isUuid } from '../../platform/ids.ts'
import { addressForms } from '../../platform/validation/user-address.ts'

export interface Organization {
  readonly id: string
  readonly name: string
  readonly agentChatsEnabled: boolean
  readonly recordingAllowed: boolean
  /** Remaining `agent_response_processed` units; null: unlimited. */
  readonly responseCredits: number | null
  /** By whose days everything is counted: a name of the IANA time zone database. */
  readonly timeZone: string
  readonly createdAt: Date
  /** True for the organization of `earshot demo`. */
  readonly isDemo: boolean
}

export interface User {
  readonly id: string
  readonly email: string
  readonly name: string
  readonly createdAt: Date
}

const organizationColumns = (sql: Query) => sql`
  id, name, agent_chats_enabled as "agentChatsEnabled", recording_allowed as "recordingAllowed",
  response_credits as "responseCredits", time_zone as "timeZone", created_at as "createdAt",
  is_demo as "isDemo"`

const userColumns = (sql: Query) => sql`u.id, u.email, u.name, u.created_at as "createdAt"`

export async function insertOrganization(
  sql: Query,
  row: { id: string; name: string; isDemo?: boolean },
): Promise<Organization> {
  const [created] = await sql<Organization[]>`
    insert into organization (id, name, is_demo)
    values (${row.id}, ${row.name}, ${row.isDemo ?? false})
    returning ${organizationColumns(sql)}`
  return created as Organization
}

/** What can be set of an organization. An absent member keeps its value. */
export interface OrganizationChange {
  readonly agentChatsEnabled?: boolean | undefined
  readonly recordingAllowed?: boolean | undefined
  readonly timeZone?: string | undefined
}

/** @returns the changed organization, or undefined if there is none @throws if PostgreSQL does not know the time zone (22023) */
export async function updateOrganization(
  sql: Query,
  id: string,
  change: OrganizationChange,
): Promise<Organization | undefined> {
  const timeZone = change.timeZone ?? null
  const [row] = await sql<Organization[]>`
    update organization set
      agent_chats_enabled = coalesce(${change.agentChatsEnabled ?? null}::boolean, agent_chats_enabled),
      recording_allowed = coalesce(${change.recordingAllowed ?? null}::boolean, recording_allowed),
      time_zone = coalesce(${timeZone}::text, time_zone)
    where id = ${id} and (${timeZone}::text is null or now() at time zone ${timeZone}::text is not null)
    returning ${organizationColumns(sql)}`
  return row
}

export async function selectOrganizations(sql: Query): Promise<readonly Organization[]> {
  return sql<Organization[]>`
    select ${organizationColumns(sql)}
    from organization
    where erasure_began_at is null
    order by created_at, id`
}

/** An organization that is being erased. */
export interface ErasedOrganization {
  readonly id: string
  readonly name: string
  readonly isDemo: boolean
  readonly beganAt: Date
  /** Rows that were deleted so far. */
  readonly deletedRows: number
}

export function selectErasedOrganizations(sql: Query) {
  return sql<ErasedOrganization[]>`
    select o.id, o.name, o.is_demo as "isDemo", coalesce(o.erasure_began_at, now()) as "beganAt",
      coalesce((e.progress->>'rows')::float8, 0) as "deletedRows"
    from organization o
    left join organization_erasure e on e.organization_id = o.id
    where o.erasure_began_at is not null
    order by o.erasure_began_at, o.id`
}

/** Organizations with this id or exactly this name. Names are not unique. */
export async function selectOrganizationsNamed(
  sql: Query,
  idOrName: string,
): Promise<readonly Organization[]> {
  return sql<Organization[]>`
    select ${organizationColumns(sql)}
    from organization
    where erasure_began_at is null and (id::text = ${idOrName.toLowerCase()} or name = ${idOrName})
    order by created_at, id
    limit 2`
}

/** Without an id: whether there is any organization besides that of `earshot demo`. */
export async function hasOrganization(sql: Query, id: string | null = null): Promise<boolean> {
  const rows = await sql`
    select 1
    from organization
    where (${id}::uuid is null and not is_demo) or id = ${id}
    limit 1`
  return rows.length > 0
}

/** An arbitrary key that other users of the database are unlikely to lock. */
const FIRST_ORGANIZATION_LOCK = 0x64_65_6d_6f

/** Only one transaction at a time creates the first organization. */
export async function lockForFirstOrganization(tx: Tx): Promise<void> {
  await tx`select pg_advisory_xact_lock(${FIRST_ORGANIZATION_LOCK})`
}

/** Condition on the user `u`: who has this address. */
export const hasAddress = (sql: Query, email: string) =>
  sql`lower(u.email collate "C") = any(${addressForms(email) as string[]}::text[])`

/** Condition on the user `u`: who has this id or e-mail address. No address is an id. */
export const isWho = (sql: Query, idOrEmail: string) =>
  isUuid(idOrEmail) ? sql`u.id = ${idOrEmail}` : hasAddress(sql, idOrEmail)

export async function selectUserByAddress(sql: Query, email: string): Promise<User | null> {
  const [user] = await sql<User[]>`
    select ${userColumns(sql)}
    from app_user u
    where ${hasAddress(sql, email)}
    order by u.created_at, u.id
    limit 1`
  return user ?? null
}

/** @returns null if a user with this address was inserted meanwhile */
export async function insertUser(
  sql: Query,
  row: { id: string; email: string; name: string },
): Promise<User | null> {
  const [user] = await sql<User[]>`
    insert into app_user as u (id, email, name)
    values (${row.id}, ${row.email}, ${row.name})
    on conflict (lower(email)) do nothing
    returning ${userColumns(sql)}`
  return user ?? null
}

/** The member with this id or e-mail address. */
export async function selectMember(
  sql: Query,
  organizationId: string,
  idOrEmail: string,
): Promise<User | null> {
  const [user] = await sql<User[]>`
    select ${userColumns(sql)}
    from membership m
    join app_user u on u.id = m.user_id
    where m.organization_id = ${organizationId} and ${isWho(sql, idOrEmail)}`
  return user ?? null
}

/** A user with this id or e-mail address who is a member of an organization, or invited. */
export async function selectUserAnywhere(sql: Query, idOrEmail: string): Promise<User | null> {
  const [user] = await sql<User[]>`
    select ${userColumns(sql)}
    from app_user u
    where ${isWho(sql, idOrEmail)}
      and (
        exists (select 1 from membership m where m.user_id = u.id)
        or exists (select 1 from invitation i where i.user_id = u.id)
      )`
  return user ?? null
}

/** The user of a service that has only one; null if there are none or several. */
export async function selectOnlyUser(sql: Query): Promise<User | null> {
  const users = await sql<User[]>`select ${userColumns(sql)} from app_user u limit 2`
  return users.length === 1 ? (users[0] ?? null) : null
}

export interface OrganizationOfUser {
  readonly id: string
  readonly name: string
  readonly timeZone: string
  readonly role: Role
}

/** Organizations of the user in the order of joining; with a session, only those in which the session is valid. */
export function selectOrganizationsOf(sql: Query, userId: string, sessionId: string | null) {
  return sql<OrganizationOfUser[]>`
    select o.id, o.name, o.time_zone as "timeZone", m.role
    from membership m
    join organization o on o.id = m.organization_id
    left join user_session s on s.id = ${sessionId}::uuid
    where m.user_id = ${userId} and (s.id is null or m.tokens_not_before is null or s.created_at >= m.tokens_not_before)
    order by m.created_at, o.id`
}
