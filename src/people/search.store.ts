/** The SQL by which people are found by parts of their name and address. */
import type { Query, Tx } from '../platform/db/pool.ts'
import type { Named, PersonSearch } from './search.rules.ts'

/** Fills what `personSearchOf` is compared with. The caller has locked the people, or has just written them. */
export async function setSearchWords(query: Query, rows: readonly PersonWords[]): Promise<void> {
  await query`
    update person
    set search_words = w.words
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as w ("organizationId" uuid, id bigint, words text)
    where person.organization_id = w."organizationId"
      and person.id = w.id
      and person.search_words is distinct from w.words`
}

export interface PersonWords {
  readonly organizationId: string
  readonly id: number
  readonly words: string
}

/** Locks people whose words are not computed yet, of any organization. */
export function lockUnsearched(tx: Tx, limit: number) {
  return tx<(Named & { readonly organizationId: string; readonly id: number })[]>`
    select organization_id as "organizationId", id, first_name as "firstName", last_name as "lastName", email
    from person
    where search_words is null
    order by organization_id, id
    limit ${limit}
    for no key update skip locked`
}

/** People whose words may be those of an earlier version: their domain is not ASCII. */
export function listUnicodeDomains(tx: Tx, ids: readonly string[]) {
  return tx<(Named & { readonly organizationId: string; readonly id: number })[]>`
    select organization_id as "organizationId", id, first_name as "firstName", last_name as "lastName", email
    from person
    where id = any(${ids as string[]}::text[]::bigint[]) and email like '%xn--%'`
}

const partsOf = ({ samples }: PersonSearch): string[] => samples.map((sample) => `%${sample}%`)

/** The same condition as `fits`, for people who are read anyway. It reads no index. */
export function says(query: Query, search: PersonSearch) {
  const parts = partsOf(search)
  return query`
    case
      when person.search_words is null
      then lower(concat_ws(' ', '', person.first_name, person.last_name, person.email)) like all (${parts}::text[])
      else ' ' || person.search_words like all (${parts}::text[])
    end`
}

/** A condition on `person` that begins with `and`. Where the words are not computed yet, the name and the address are compared as they are. */
export function fits(query: Query, organizationId: string, search: PersonSearch) {
  const { grams } = search
  const mark = organizationId.slice(-6)
  const parts = partsOf(search)
  return query`
    and person.id in (
      select found.id
      from person found
      where person_grams(found.organization_id, found.search_words) @> ${grams.map((gram) => mark + gram)}::text[]
        and found.search_words is not null
        and ' ' || found.search_words like all (${parts}::text[])
        and (found.organization_id = ${organizationId}) is true
      union all
      select found.id
      from person found
      where found.organization_id = ${organizationId}
        and found.search_words is null
        and lower(concat_ws(' ', '', found.first_name, found.last_name, found.email)) like all (${parts}::text[])
      -- Keeps PostgreSQL from reading everybody in the order of the list.
      offset 0
    )`
}
