/** SQL of weekly mails. */
import type { Query, Tx } from '../../platform/db/pool.ts'

export async function isWanted(sql: Query, organizationId: string, userId: string): Promise<boolean> {
  const rows = await sql`
    select 1 from weekly_mail where organization_id = ${organizationId} and user_id = ${userId}`
  return rows.length > 0
}

/** Does nothing if the member already gets the mail, or is no member any more. */
export async function insertWish(
  tx: Tx,
  row: {
    readonly id: string
    readonly organizationId: string
    readonly userId: string
    readonly nextAt: Date
  },
): Promise<void> {
  await tx`
    insert into weekly_mail (id, organization_id, user_id, next_at)
    select ${row.id}, organization_id, user_id, ${row.nextAt}
    from membership
    where organization_id = ${row.organizationId} and user_id = ${row.userId}
    on conflict (organization_id, user_id) do nothing`
}

export async function deleteWish(tx: Query, organizationId: string, userId: string): Promise<void> {
  await tx`delete from weekly_mail where organization_id = ${organizationId} and user_id = ${userId}`
}

export async function deleteWishById(sql: Query, organizationId: string, id: string): Promise<void> {
  await sql`delete from weekly_mail where organization_id = ${organizationId} and id = ${id}`
}

/** Those of the mails that are wanted, of any organization. */
export async function knownMails(tx: Tx, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await tx<
    { id: string }[]
  >`select id from weekly_mail where id = any(${ids as string[]}::uuid[])`
  return new Set(rows.map(({ id }) => id))
}

/** The time zone of the member's organization. */
export async function readTimeZone(tx: Query, organizationId: string, userId: string): Promise<string> {
  const [row] = await tx<{ timeZone: string }[]>`
    select o.time_zone as "timeZone"
    from membership m
    join organization o on o.id = m.organization_id
    where m.organization_id = ${organizationId} and m.user_id = ${userId}`
  return row?.timeZone ?? 'UTC'
}

export interface DueMail {
  readonly id: string
  readonly organizationId: string
  readonly timeZone: string
}

/** Locks up to `limit` mails that are due. Of several processes each takes others. Write when the next ones are. */
export function takeDue(tx: Tx, now: Date, limit: number) {
  return tx<DueMail[]>`
    select w.id, w.organization_id as "organizationId", o.time_zone as "timeZone"
    from weekly_mail w
    join organization o on o.id = w.organization_id
    where w.next_at <= ${now}
    order by w.next_at, w.id
    limit ${limit}
    for update of w skip locked`
}

export async function saveNext(
  tx: Tx,
  mails: readonly { readonly id: string; readonly nextAt: Date }[],
): Promise<void> {
  await tx`
    update weekly_mail w
    set next_at = n.next_at
    from unnest(
      ${mails.map(({ id }) => id)}::text[]::uuid[], ${mails.map(({ nextAt }) => nextAt.toISOString())}::text[]::timestamptz[]
    ) as n (id, next_at)
    where w.id = n.id`
}

export interface Recipient {
  readonly organizationId: string
  readonly organizationName: string
  readonly userId: string
  readonly email: string
}

/** @returns null if the member no longer wants the mail */
export async function findRecipient(
  tx: Query,
  organizationId: string,
  id: string,
): Promise<Recipient | null> {
  const [row] = await tx<Recipient[]>`
    select w.organization_id as "organizationId", o.name as "organizationName", w.user_id as "userId", u.email
    from weekly_mail w
    join organization o on o.id = w.organization_id
    join app_user u on u.id = w.user_id
    where w.organization_id = ${organizationId} and w.id = ${id}`
  return row ?? null
}
