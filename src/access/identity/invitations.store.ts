/** SQL of invitations: what an organization offers to a person who has an account elsewhere. */
import type { Role } from '../../kernel/roles.rules.ts'
import type { Query, Tx } from '../../platform/db/pool.ts'

/** An invitation as the invited person sees it. */
export interface Invitation {
  readonly organizationId: string
  readonly organizationName: string
  readonly role: Role
  readonly invitedAt: Date
}

const columns = (sql: Query) => sql`
  i.organization_id as "organizationId", o.name as "organizationName", i.role, i.invited_at as "invitedAt"`

/** True if another organization knows the user. Such a person is asked before this one adds them. */
export async function isKnownElsewhere(tx: Query, organizationId: string, userId: string): Promise<boolean> {
  const rows = await tx`
    select 1 where exists (
      select 1 from membership where user_id = ${userId} and organization_id <> ${organizationId}
    ) or exists (
      select 1 from former_member where user_id = ${userId} and organization_id <> ${organizationId}
    )`
  return rows.length > 0
}

/** Call it after `lockPerson`. @returns false if the user is invited already */
export async function insertInvitation(
  tx: Query,
  row: {
    readonly organizationId: string
    readonly userId: string
    readonly role: Role
    readonly name: string
  },
): Promise<boolean> {
  const rows = await tx`
    insert into invitation (organization_id, user_id, role, name)
    values (${row.organizationId}, ${row.userId}, ${row.role}, ${row.name})
    on conflict do nothing
    returning 1`
  return rows.length > 0
}

/** @returns the time; null if there is no such invitation */
export async function deleteInvitation(
  tx: Query,
  organizationId: string,
  userId: string,
): Promise<Date | null> {
  const [row] = await tx<{ now: Date }[]>`
    delete from invitation
    where organization_id = ${organizationId} and user_id = ${userId}
    returning now()`
  return row?.now ?? null
}

export async function findInvitation(
  sql: Query,
  organizationId: string,
  userId: string,
): Promise<Invitation | null> {
  const [row] = await sql<Invitation[]>`
    select ${columns(sql)}
    from invitation i
    join organization o on o.id = i.organization_id
    where i.organization_id = ${organizationId} and i.user_id = ${userId}`
  return row ?? null
}

/** The newest invitations of the user. */
export function selectInvitations(sql: Query, userId: string, limit: number) {
  return sql<Invitation[]>`
    select ${columns(sql)}
    from invitation i
    join organization o on o.id = i.organization_id
    where i.user_id = ${userId}
    order by i.invited_at desc, i.organization_id
    limit ${limit}`
}

/**
 * Admits the mail of an invitation: one a day from an organization to a person, and `max` a day to the person. An admitted mail stays
 * admitted, because its delivery may be repeated.
 */
export async function admitInvitationMail(
  tx: Tx,
  { organizationId, userId, invitedAt }: { organizationId: string; userId: string; invitedAt: Date },
  max: number,
): Promise<boolean> {
  // One decision about a person at a time.
  await tx`select 1 from app_user where id = ${userId} for no key update`
  const { count } = await tx`
    insert into invitation_mail as m (organization_id, user_id, invited_at)
    select ${organizationId}, ${userId}, ${invitedAt}
    where (
      select count(*) from invitation_mail o
      where o.user_id = ${userId} and o.organization_id <> ${organizationId} and o.mailed_at > now() - interval '1 day'
    ) < ${max}
    on conflict (organization_id, user_id) do update set
      invited_at = excluded.invited_at,
      mailed_at = case when m.invited_at = excluded.invited_at then m.mailed_at else now() end
    where m.invited_at = excluded.invited_at or m.mailed_at < now() - interval '1 day'`
  return count > 0
}

/** Tokens that organizations issued for people who have not accepted their invitation. */
export async function countTokensOfInvited(sql: Query): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count
    from user_token t
    join invitation i on i.organization_id = t.organization_id and i.user_id = t.user_id
    where t.revoked_at is null and t.expires_at > now()`
  return row?.count ?? 0
}
