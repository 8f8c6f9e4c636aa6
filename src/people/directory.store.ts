/** SQL of people and companies: put, read, list, erase. */
import { asMicroseconds, behind, type Position } from '../platform/db/keyset.ts'
import type { Query, Tx } from '../platform/db/pool.ts'
import { isUuid } from '../platform/ids.ts'
import type { Boundary } from './model.ts'
import type { Company, CompanyInput } from './rules.ts'
import type { PersonSearch } from './search.rules.ts'
import { fits, says } from './search.store.ts'

export interface PersonRow {
  readonly id: number
  readonly uuid: string
  readonly firstName: string | null
  readonly lastName: string | null
  readonly email: string | null
  readonly boundary: Boundary
  readonly companyId: number | null
  readonly createdAt: Date
  readonly createdMicroseconds: number
}

const columns = (query: Query) => query`
  person.id, person.public_id as uuid, person.first_name as "firstName", person.last_name as "lastName", person.email, person.boundary,
  person.company_id as "companyId", person.created_at as "createdAt",
  ${asMicroseconds(query, 'person.created_at')} as "createdMicroseconds"`

export interface PersonWrite {
  readonly publicId: string
  readonly email: string
  readonly firstName: string | null | undefined
  readonly lastName: string | null | undefined
  readonly boundary: Boundary | undefined
  readonly companyId: number | null | undefined
}

/** Finds the person by address or inserts one. `undefined` keeps a value. The address keeps its first spelling. */
export async function putPerson(
  query: Query,
  organizationId: string,
  person: PersonWrite,
): Promise<PersonRow> {
  const { publicId, email, firstName, lastName, boundary, companyId } = person
  const [row] = await query<PersonRow[]>`
    insert into person (public_id, organization_id, email, first_name, last_name, boundary, company_id)
    values (
      ${publicId}, ${organizationId}, ${email}, ${firstName ?? null}, ${lastName ?? null},
      ${boundary ?? 'external'}, ${companyId ?? null}
    )
    on conflict (organization_id, lower(email)) where email is not null do update set
      updated_at = now()
      ${firstName === undefined ? query`` : query`, first_name = excluded.first_name`}
      ${lastName === undefined ? query`` : query`, last_name = excluded.last_name`}
      ${boundary === undefined ? query`` : query`, boundary = excluded.boundary`}
      ${companyId === undefined ? query`` : query`, company_id = excluded.company_id`}
    returning ${columns(query)}`
  if (row === undefined) throw new Error('the person was neither found nor inserted')
  return row
}

/** The id of a person: the integer of the feedback interface, or the UUID of the rest of the API. */
export type PersonRef = number | string

/** Condition on `person`: it has the id, or the person of this id was merged into it. */
function isMeant(query: Query, organizationId: string, ref: PersonRef) {
  const [own, former, value] =
    typeof ref === 'number'
      ? [query`id`, query`former_id`, query`${ref}::bigint`]
      : [query`public_id`, query`former_public_id`, query`${ref}::uuid`]
  return query`
    person.organization_id = ${organizationId}
    and person.merged_into is null
    and person.id = coalesce(
      (
        select person_id
        from person_alias
        where organization_id = ${organizationId} and ${former} = ${value}
      ),
      (select id from person where organization_id = ${organizationId} and ${own} = ${value})
    )`
}

export async function findPerson(
  query: Query,
  organizationId: string,
  ref: PersonRef,
): Promise<PersonRow | undefined> {
  if (typeof ref === 'string' && !isUuid(ref)) return undefined
  const [row] = await query<PersonRow[]>`
    select ${columns(query)}
    from person
    where ${isMeant(query, organizationId, ref)}`
  return row
}

/** Condition on `person`: it has the address, or a person with the address was merged into it. */
const hasEmail = (query: Query, organizationId: string, email: string) => query`
  person.id = coalesce(
    (
      select id
      from person
      where organization_id = ${organizationId} and lower(email) = lower(${email})
    ),
    (
      select person_id
      from person_alias
      where organization_id = ${organizationId} and lower(email) = lower(${email})
    )
  )`

export async function findPersonByEmail(
  query: Query,
  organizationId: string,
  email: string,
): Promise<PersonRow | undefined> {
  const [row] = await query<PersonRow[]>`
    select ${columns(query)}
    from person
    where organization_id = ${organizationId}
      and ${hasEmail(query, organizationId, email)}`
  return row
}

/** Writes what a request sets. `undefined` keeps a value. */
export async function updatePerson(
  query: Query,
  organizationId: string,
  id: number,
  { firstName, lastName, boundary, companyId }: Omit<PersonWrite, 'publicId' | 'email'>,
): Promise<PersonRow> {
  const [row] = await query<PersonRow[]>`
    update person
    set updated_at = now()
      ${firstName === undefined ? query`` : query`, first_name = ${firstName}`}
      ${lastName === undefined ? query`` : query`, last_name = ${lastName}`}
      ${boundary === undefined ? query`` : query`, boundary = ${boundary}`}
      ${companyId === undefined ? query`` : query`, company_id = ${companyId}`}
    where organization_id = ${organizationId}
      and id = ${id}
    returning ${columns(query)}`
  if (row === undefined) throw new Error('the person was not found')
  return row
}

export interface PersonFilter {
  /** Null: nobody fits. */
  readonly search?: PersonSearch | null | undefined
  readonly email?: string | undefined
  readonly uuids?: readonly string[] | undefined
  readonly since?: string | undefined
  readonly until?: string | undefined
}

/** Continues after a time of creation; the id orders people of the same time. */
export type PersonPosition = Position<readonly [microseconds: number, id: number]>

/** People looked up by key. `offset 0` keeps PostgreSQL from reading all people in the order of the list instead. */
const peopleWith = (query: Query, organizationId: string, uuids: readonly string[]) => query`
  (
    select *
    from person
    where organization_id = ${organizationId} and public_id = any(${uuids as string[]}::text[]::uuid[])
    offset 0
  ) as person`

/** People whom a search looks at before it reads the index. If one in fifty is found, they fill a page of twenty. */
const NEWEST = 1_000

/**
 * Those of the newest people who are found, with one row more than the limit. What most people have in their name or address, such as one letter,
 * fills a page from these. The index would give everybody.
 */
export function searchNewest(
  query: Query,
  organizationId: string,
  { search, since, until }: PersonFilter & { readonly search: PersonSearch },
  { after, offset, limit }: PersonPosition,
) {
  return query<PersonRow[]>`
    select ${columns(query)}
    from (
      select *
      from person
      where organization_id = ${organizationId}
        and merged_into is null
        ${since === undefined ? query`` : query`and created_at >= ${since}::text::timestamptz`}
        ${until === undefined ? query`` : query`and created_at < ${until}::text::timestamptz`}
        ${behind(query, 'created_at', 'id', after)}
      order by created_at desc, id desc
      limit ${NEWEST}
    ) person
    where organization_id = ${organizationId} and ${says(query, search)}
    order by created_at desc, id desc
    limit ${limit + 1}
    offset ${offset}`
}

/** Newest first, with one row more than the limit. */
export function listPeople(
  query: Query,
  organizationId: string,
  { search, email, uuids, since, until }: PersonFilter,
  { after, offset, limit }: PersonPosition,
) {
  return query<PersonRow[]>`
    select ${columns(query)}
    from ${uuids === undefined ? query`person` : peopleWith(query, organizationId, uuids)}
    where organization_id = ${organizationId}
      and merged_into is null
      ${email === undefined ? query`` : query`and ${hasEmail(query, organizationId, email)}`}
      ${search === undefined ? query`` : search === null ? query`and false` : fits(query, organizationId, search)}
      ${since === undefined ? query`` : query`and created_at >= ${since}::text::timestamptz`}
      ${until === undefined ? query`` : query`and created_at < ${until}::text::timestamptz`}
      ${behind(query, 'created_at', 'id', after)}
    ${
      // At most one person has the address, so there is nothing to order.
      email === undefined ? query`order by created_at desc, id desc` : query``
    }
    limit ${limit + 1}
    offset ${offset}`
}

export interface LockedPerson {
  readonly id: number
  readonly publicId: string
  readonly email: string | null
  readonly firstName: string | null
  readonly lastName: string | null
  readonly companyId: number | null
}

/** Prevents new references to the person until the transaction ends. @returns null if there is no such person */
export async function lockPerson(
  tx: Tx,
  organizationId: string,
  ref: PersonRef,
): Promise<LockedPerson | null> {
  const [row] = await tx<LockedPerson[]>`
    select id, public_id as "publicId", email, first_name as "firstName", last_name as "lastName",
      company_id as "companyId"
    from person
    where ${isMeant(tx, organizationId, ref)}
    for update`
  return row ?? null
}

export async function deletePerson(tx: Tx, organizationId: string, id: number): Promise<void> {
  await tx`
    delete from person
    where organization_id = ${organizationId}
      and id = ${id}`
}

/** Companies with the name or the domain, oldest first. */
export function findCompanies(tx: Tx, organizationId: string, { name, domain }: CompanyInput) {
  return tx<Company[]>`
    select id, name, domain
    from company
    where organization_id = ${organizationId}
      and (name = ${name} or domain = ${domain})
    order by id`
}

/** One transaction at a time inserts or changes companies of the organization. */
export async function lockCompanies(tx: Tx, organizationId: string): Promise<void> {
  await tx`select pg_advisory_xact_lock(hashtextextended(${`company of ${organizationId}`}, 0))`
}

export async function insertCompany(
  tx: Tx,
  organizationId: string,
  { name, domain }: CompanyInput,
): Promise<number> {
  const [row] = await tx<{ id: number }[]>`
    insert into company (organization_id, name, domain)
    values (${organizationId}, ${name}, ${domain})
    returning id`
  if (row === undefined) throw new Error('the company was not inserted')
  return row.id
}

export async function updateCompany(
  tx: Tx,
  organizationId: string,
  { id, name, domain }: Company,
): Promise<void> {
  await tx`
    update company
    set name = ${name}, domain = ${domain}
    where organization_id = ${organizationId}
      and id = ${id}`
}
