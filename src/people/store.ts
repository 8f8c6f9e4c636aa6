/**
 * SQL of people.
 *
 * Rows are locked in the order of their e-mail addresses (or ids). Two requests about the same people then cannot deadlock.
 */
import type { Query, Tx } from '../platform/db/pool.ts'

export interface PersonInput {
  readonly email: string
  readonly firstName?: string
  readonly lastName?: string
}

export interface NumberedPerson {
  /** Index in the given list. */
  readonly ordinal: number
  readonly id: number
  readonly publicId: string
}

/**
 * One row for each of the given people, found or inserted. PostgreSQL alone decides which addresses are equal. If several
 * entries share an address, the later names win.
 */
export function upsertPeople(
  tx: Tx,
  organizationId: string,
  people: readonly (PersonInput & { readonly ordinal: number; readonly publicId: string })[],
) {
  return tx<NumberedPerson[]>`
    with given as (
      select *, lower(p.email) as key
      from json_to_recordset(${JSON.stringify(people)}::text::json) as p (
        ordinal int, "publicId" uuid, email text, "firstName" text, "lastName" text
      )
    ), merged as (
      select
        key,
        (array_agg("publicId" order by ordinal))[1] as public_id,
        (array_agg(email order by ordinal))[1] as email,
        (array_agg("firstName" order by ordinal desc) filter (where "firstName" is not null))[1] as first_name,
        (array_agg("lastName" order by ordinal desc) filter (where "lastName" is not null))[1] as last_name
      from given
      group by key
    ), written as (
      insert into person (public_id, organization_id, email, first_name, last_name)
      select public_id, ${organizationId}, email, first_name, last_name
      from merged
      order by key
      on conflict (organization_id, lower(email)) where email is not null do update set
        first_name = coalesce(excluded.first_name, person.first_name),
        last_name = coalesce(excluded.last_name, person.last_name),
        updated_at = case
          when excluded.first_name <> coalesce(person.first_name, '')
            or excluded.last_name <> coalesce(person.last_name, '') then now()
          else person.updated_at
        end
      returning id, public_id, lower(email) as key
    )
    select given.ordinal, written.id, written.public_id as "publicId"
    from given
    join written using (key)`
}

/** People of the organization among these ids. Their rows stay until the transaction ends. */
export function lockPeople(tx: Query, organizationId: string, publicIds: readonly string[]) {
  return tx<{ id: number; publicId: string }[]>`
    select id, public_id as "publicId"
    from person
    where organization_id = ${organizationId}
      and public_id = any(${publicIds as string[]}::uuid[])
      and merged_into is null
    order by id
    for key share`
}

/** Known people among these addresses. Their rows stay until the transaction ends. */
export function lockPeopleByEmail(tx: Tx, organizationId: string, emails: readonly string[]) {
  return tx<Pick<NumberedPerson, 'ordinal' | 'id'>[]>`
    select given.ordinal::int - 1 as ordinal, person.id
    from json_array_elements_text(${JSON.stringify(emails)}::text::json) with ordinality as given (email, ordinal)
    join person on person.organization_id = ${organizationId}
      and lower(person.email) = lower(given.email)
    order by person.id
    for key share of person`
}
