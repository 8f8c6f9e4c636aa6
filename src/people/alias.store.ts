/**
 * SQL of aliases: the ids and addresses of people who were merged into others.
 *
 * A merge and an erasure hold a lock on the people of their organization alone. Whoever refers to people by address or by id shares it
 * from before the look-up to the end of the transaction. So nobody finds a person who is merged meanwhile, and no address gets a second
 * person. A statement that waits for a row would not see the alias that was written with it; the statement after the lock does.
 */
import type { Query, Tx } from '../platform/db/pool.ts'

const lockOf = (query: Query, organizationId: string) =>
  query`hashtextextended('people of ' || ${organizationId}::text, 0)`

/** Until the transaction ends, no person of the organization is merged or erased. */
export async function shareLock(tx: Tx, organizationId: string): Promise<void> {
  await tx`select pg_advisory_xact_lock_shared(${lockOf(tx, organizationId)})`
}

/** Until the transaction ends, no other transaction looks for people of the organization by address or by id. */
export async function lockAlone(tx: Tx, organizationId: string): Promise<void> {
  await tx`select pg_advisory_xact_lock(${lockOf(tx, organizationId)})`
}

/** `shareLock` for some organizations without waiting. @returns those of which the lock was free */
export async function tryShareLocks(
  tx: Query,
  organizationIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await tx<{ id: string }[]>`
    select o.id
    from unnest(${organizationIds as string[]}::text[]) as o (id)
    where pg_try_advisory_xact_lock_shared(hashtextextended('people of ' || o.id, 0))`
  return new Set(rows.map(({ id }) => id))
}

/** People who have been kept, by addresses of those who were merged into them. */
export function findByFormerEmails(tx: Query, organizationId: string, emails: readonly string[]) {
  return tx<{ ordinal: number; id: number; publicId: string }[]>`
    select given.ordinal::int - 1 as ordinal, person.id, person.public_id as "publicId"
    from json_array_elements_text(${JSON.stringify(emails)}::text::json) with ordinality as given (email, ordinal)
    join person_alias alias on alias.organization_id = ${organizationId}
      and lower(alias.email) = lower(given.email)
    join person on person.organization_id = alias.organization_id
      and person.id = alias.person_id
    order by person.id`
}

/** People who have been kept, by public ids of those who were merged into them. */
export function findByFormerIds(tx: Query, organizationId: string, publicIds: readonly string[]) {
  return tx<{ formerPublicId: string; id: number; publicId: string }[]>`
    select alias.former_public_id as "formerPublicId", person.id, person.public_id as "publicId"
    from person_alias alias
    join person on person.organization_id = alias.organization_id
      and person.id = alias.person_id
    where alias.organization_id = ${organizationId}
      and alias.former_public_id = any(${publicIds as string[]}::uuid[])`
}

/** Names for people who have none. */
export async function fillNames(
  tx: Query,
  organizationId: string,
  people: readonly {
    readonly id: number
    readonly firstName?: string | undefined
    readonly lastName?: string | undefined
  }[],
): Promise<void> {
  const named = people.filter(({ firstName, lastName }) => firstName !== undefined || lastName !== undefined)
  if (named.length === 0) return
  await tx`
    update person
    set first_name = coalesce(person.first_name, n."firstName"), last_name = coalesce(person.last_name, n."lastName"),
      updated_at = now()
    from json_to_recordset(${JSON.stringify(named)}::text::json) as n (id bigint, "firstName" text, "lastName" text)
    where person.organization_id = ${organizationId}
      and person.id = n.id
      and (
        (person.first_name is null and n."firstName" is not null)
        or (person.last_name is null and n."lastName" is not null)
      )`
}
