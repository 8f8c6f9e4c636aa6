/** SQL that gives stored addresses of people their normal form. The caller holds the lock on the people of the organization. */
import type { Tx } from '../platform/db/pool.ts'

/** Addresses of these people of any organization, and those of people who were merged into them. */
export function listAddresses(tx: Tx, ids: readonly string[]) {
  return tx<{ id: number; organizationId: string; email: string }[]>`
    select id, organization_id as "organizationId", email
    from person
    where id = any(${ids as string[]}::bigint[]) and email is not null
    union
    select person_id, organization_id, email
    from person_alias
    where person_id = any(${ids as string[]}::bigint[]) and email is not null
    order by 2, 1`
}

/** Another person who has the address, or stands for it. */
export async function findOther(
  tx: Tx,
  organizationId: string,
  email: string,
  id: number,
): Promise<number | null> {
  const [row] = await tx<{ id: number }[]>`
    select id
    from person
    where organization_id = ${organizationId} and lower(email) = lower(${email}) and id <> ${id}
    union all
    select person_id
    from person_alias
    where organization_id = ${organizationId} and lower(email) = lower(${email}) and person_id <> ${id}
    limit 1`
  return row?.id ?? null
}

export async function setAddress(tx: Tx, organizationId: string, id: number, email: string): Promise<void> {
  await tx`
    update person
    set email = ${email}, updated_at = now()
    where organization_id = ${organizationId} and id = ${id}`
}

export function listFormer(tx: Tx, organizationId: string, personId: number) {
  return tx<{ formerId: number; email: string }[]>`
    select former_id as "formerId", coalesce(email, '') as email
    from person_alias
    where organization_id = ${organizationId} and person_id = ${personId} and email is not null`
}

/** Keeps the stored address where somebody has the normal one already. */
export async function setFormerAddress(
  tx: Tx,
  organizationId: string,
  formerId: number,
  email: string,
): Promise<void> {
  await tx`
    update person_alias
    set email = ${email}
    where organization_id = ${organizationId}
      and former_id = ${formerId}
      and not exists (
        select
        from person_alias other
        where other.organization_id = ${organizationId}
          and lower(other.email) = lower(${email})
          and other.former_id <> ${formerId}
      )`
}
