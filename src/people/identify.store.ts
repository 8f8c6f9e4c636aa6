/** SQL that finds and inserts the people of participants, in any number of organizations. */
import type { Query } from '../platform/db/pool.ts'

/** What is known of a participant. */
export interface Claim {
  readonly organizationId: string
  /** In lower case; null: not given. */
  readonly publicId: string | null
  /** Null: not given, or redacted. */
  readonly email: string | null
  /** A name to show, for a person who has none. */
  readonly name: string | null
  readonly boundary: 'external' | 'internal'
  /** When the conversation began, as text with microseconds. */
  readonly since: string
}

export interface Identified {
  /** Index of the claim. */
  readonly ordinal: number
  readonly personId: number | null
  /** The person is being erased, and with them everything of this time. */
  readonly isErased: boolean
  readonly isNameless: boolean
}

const claimTable = (tx: Query, claims: readonly Claim[]) => tx`
  json_to_recordset(${JSON.stringify(claims.map((claim, ordinal) => ({ ...claim, ordinal })))}::text::json) as w (
    ordinal int, "organizationId" uuid, "publicId" uuid, email text, name text, boundary text, since timestamptz
  )`

/** A known id goes before the address. The ids and addresses of merged people are those of the person who was kept. */
export function identify(tx: Query, claims: readonly Claim[]) {
  return tx<Identified[]>`
    select w.ordinal, person.id as "personId", erasure.id is not null as "isErased",
      coalesce(person.first_name is null and person.last_name is null, false) as "isNameless"
    from ${claimTable(tx, claims)}
    left join lateral (
      select e.id
      from person_erasure e
      where e.organization_id = w."organizationId"
        and e.finished_at is null
        and e.requested_at >= w.since
        and (
          e.public_id = w."publicId"
          or e.terms -> 'formerPublicIds' @> to_jsonb(w."publicId"::text)
          or lower(e.terms ->> 'email') = lower(w.email)
          or e.terms -> 'formerEmails' @> to_jsonb(lower(w.email))
        )
      limit 1
    ) erasure on true
    left join lateral (
      select coalesce(
        (select p.id from person p
         where p.organization_id = w."organizationId" and p.public_id = w."publicId" and p.merged_into is null),
        (select a.person_id from person_alias a
         where a.organization_id = w."organizationId" and a.former_public_id = w."publicId"),
        (select p.id from person p
         where p.organization_id = w."organizationId" and lower(p.email) = lower(w.email)),
        (select a.person_id from person_alias a
         where a.organization_id = w."organizationId" and lower(a.email) = lower(w.email))
      ) as id
    ) found on true
    left join person on person.organization_id = w."organizationId" and person.id = found.id`
}

/** Inserts people with these addresses, where nobody has them. In the order of all other inserts, so that none can deadlock. */
export async function insertUnknown(
  tx: Query,
  people: readonly (Claim & { readonly newId: string })[],
): Promise<void> {
  await tx`
    insert into person (public_id, organization_id, email, first_name, boundary)
    select distinct on (n."organizationId", lower(n.email)) n."newId", n."organizationId", n.email, n.name, n.boundary
    from json_to_recordset(${JSON.stringify(people)}::text::json) as n (
      "newId" uuid, "organizationId" uuid, email text, name text, boundary text
    )
    order by n."organizationId", lower(n.email), n.name nulls last
    on conflict (organization_id, lower(email)) where email is not null do nothing`
}

/** Gives a name to people who have none. */
export async function nameThem(
  tx: Query,
  people: readonly { readonly organizationId: string; readonly id: number; readonly name: string }[],
): Promise<void> {
  await tx`
    update person
    set first_name = n.name, updated_at = now()
    from json_to_recordset(${JSON.stringify(people)}::text::json) as n ("organizationId" uuid, id bigint, name text)
    where person.organization_id = n."organizationId"
      and person.id = n.id
      and person.first_name is null
      and person.last_name is null`
}
