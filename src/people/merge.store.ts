/** SQL of merges of people. The caller holds the lock on the people of the organization (`alias.store.ts`), except in `lockMerged`. */
import type { Query, Tx } from '../platform/db/pool.ts'
import type { LockedPerson } from './directory.store.ts'

export interface Alias {
  readonly publicId: string
  readonly email: string | null
  readonly firstName: string | null
  readonly lastName: string | null
}

/** The people who were merged into this one. */
export function listAliases(tx: Query, organizationId: string, personId: number) {
  return tx<Alias[]>`
    select former_public_id as "publicId", email, first_name as "firstName", last_name as "lastName"
    from person_alias
    where organization_id = ${organizationId}
      and person_id = ${personId}
    order by former_id`
}

/** Internal ids of merged people to whom something still refers, and who stand for this person until it is moved. */
export async function listMoving(tx: Query, organizationId: string, personId: number) {
  const rows = await tx<{ id: number }[]>`
    select id
    from person
    where organization_id = ${organizationId}
      and merged_into = ${personId}
    order by id`
  return rows.map(({ id }) => id)
}

/** Whoever was merged into the one person stands for the other from now on. */
export async function redirect(tx: Tx, organizationId: string, from: number, to: number): Promise<void> {
  await tx`
    update person_alias
    set person_id = ${to}
    where organization_id = ${organizationId}
      and person_id = ${from}`
  await tx`
    update person
    set merged_into = ${to}
    where organization_id = ${organizationId}
      and merged_into = ${from}`
}

/** `email` is null where the person who is kept takes the address. */
export async function insertAlias(
  tx: Tx,
  organizationId: string,
  personId: number,
  { id, publicId, firstName, lastName }: LockedPerson,
  email: string | null,
): Promise<void> {
  await tx`
    insert into person_alias (organization_id, person_id, former_id, former_public_id, email, first_name, last_name)
    values (${organizationId}, ${personId}, ${id}, ${publicId}, ${email}, ${firstName}, ${lastName})`
}

/** Takes the address from the merged person and marks the row. */
export async function markMerged(
  tx: Tx,
  organizationId: string,
  id: number,
  mergedInto: number,
): Promise<void> {
  await tx`
    update person
    set email = null, merged_into = ${mergedInto}, updated_at = now()
    where organization_id = ${organizationId}
      and id = ${id}`
}

export async function fillGaps(
  tx: Tx,
  organizationId: string,
  id: number,
  { email, firstName, lastName, companyId }: Omit<LockedPerson, 'id' | 'publicId'>,
): Promise<void> {
  await tx`
    update person
    set email = coalesce(email, ${email}), first_name = coalesce(first_name, ${firstName}),
      last_name = coalesce(last_name, ${lastName}), company_id = coalesce(company_id, ${companyId}), updated_at = now()
    where organization_id = ${organizationId}
      and id = ${id}`
}

/** Prevents new references to a merged person. @returns null where everything has been moved already */
export async function lockMerged(
  tx: Tx,
  organizationId: string,
  publicId: string,
): Promise<{ readonly id: number; readonly mergedInto: number } | null> {
  const [row] = await tx<{ id: number; mergedInto: number | null }[]>`
    select id, merged_into as "mergedInto"
    from person
    where organization_id = ${organizationId}
      and public_id = ${publicId}
      and merged_into is not null
    for update`
  return row === undefined || row.mergedInto === null ? null : { id: row.id, mergedInto: row.mergedInto }
}
