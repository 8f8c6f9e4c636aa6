/** SQL of weekly mails. */
import type { Query, Tx } from '../platform/db/pool.ts'

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

/** Takes up to `limit` mails that are due, and sets when the next ones are. Of several processes each takes others. */
export function takeDue(tx: Tx, now: Date, nextAt: Date, limit: number) {
  return tx<{ id: string; organizationId: string }[]>`
    update weekly_mail
    set next_at = ${nextAt}
    where id = any(array(
      select id from weekly_mail where next_at <= ${now} order by next_at, id limit ${limit} for update skip locked
    ))
    returning id, organization_id as "organizationId"`
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
