/** SQL that reads what one person said and took part in. */
import type { Query } from '../platform/db/pool.ts'
import type { Period } from './model.ts'
import { type Fragment, within } from './period.store.ts'

/** Conversations among which those of a person are looked for. */
export const SEARCHED_CONVERSATIONS = 1_000

export interface PersonRow {
  readonly id: number
  readonly uuid: string
  readonly email: string | null
  readonly firstName: string | null
  readonly lastName: string | null
}

const columns = (sql: Query) => sql`
  id, public_id as uuid, email, first_name as "firstName", last_name as "lastName"`

export async function findPerson(
  sql: Query,
  organizationId: string,
  uuid: string,
): Promise<PersonRow | undefined> {
  const [person] = await sql<PersonRow[]>`
    select ${columns(sql)}
    from person
    where organization_id = ${organizationId}
      and public_id = ${uuid}`
  return person
}

export async function findPersonByEmail(
  sql: Query,
  organizationId: string,
  email: string,
): Promise<PersonRow | undefined> {
  const [person] = await sql<PersonRow[]>`
    select ${columns(sql)}
    from person
    where organization_id = ${organizationId}
      and lower(email) = lower(${email})`
  return person
}

export interface OccasionRow {
  readonly id: string
  readonly sourceId: number | null
  readonly title: string | null
  readonly text: string | null
  readonly occurredAt: Date
}

/** Newest first. */
export function feedbackOf(
  sql: Query,
  organizationId: string,
  personId: number,
  period: Period,
  limit: number,
) {
  return sql<OccasionRow[]>`
    select r.id::text as id, source.id as "sourceId", source.name as title, r.display_ts as "occurredAt",
      (
        select string_agg(field ->> 'value', E'\n')
        from jsonb_array_elements(r.fields) as field
        where field ->> 'category' = 'content'
      ) as text
    from feedback_record r
    join feedback_source source on source.id = r.feedback_source_id
    where r.organization_id = ${organizationId}
      and r.person_id = ${personId}
      ${within(sql, 'r.display_ts', period)}
    order by r.display_ts desc, r.id desc
    limit ${limit}`
}

/** Newest first. `visible`: a condition on `r` that names the organization. */
export function recordingsOf(sql: Query, visible: Fragment, personId: number, period: Period, limit: number) {
  return sql<OccasionRow[]>`
    select r.id, null::bigint as "sourceId", r.display_name as title, r.summary as text, coalesce(r.started_at, r.created_at) as "occurredAt"
    from recording_participant rp
    join recording r on r.id = rp.recording_id
    where rp.person_id = ${personId}
      and ${visible}
      ${
        period.since === undefined
          ? sql``
          : sql`and coalesce(r.started_at, r.created_at) >= ${period.since}::text::timestamptz`
      }
      ${
        period.until === undefined
          ? sql``
          : sql`and coalesce(r.started_at, r.created_at) < ${period.until}::text::timestamptz`
      }
    order by coalesce(r.started_at, r.created_at) desc, r.id desc
    limit ${limit}`
}

/** Newest first, among the newest conversations that the caller may see. */
export function conversationsOf(
  sql: Query,
  organizationId: string,
  applications: Fragment,
  { uuid, email }: Pick<PersonRow, 'uuid' | 'email'>,
  { period, limit }: { readonly period: Period; readonly limit: number },
) {
  const byId = JSON.stringify([{ personId: uuid }])
  const byEmail = JSON.stringify([{ email }])
  return sql<OccasionRow[]>`
    select newest.id, null::bigint as "sourceId", a.agent_key as title, null::text as text, newest.created_at as "occurredAt"
    from (
      select session.*
      from (${applications}) as application
      cross join lateral (
        select s.id, s.application_id, s.created_at, s.participants
        from agent_session s
        where s.organization_id = ${organizationId}
          and s.application_id = application.id
          ${within(sql, 's.created_at', period)}
        order by s.created_at desc, s.id desc
        limit ${SEARCHED_CONVERSATIONS}
      ) as session
      order by session.created_at desc
      limit ${SEARCHED_CONVERSATIONS}
    ) as newest
    join agent_application a on a.id = newest.application_id
    where newest.participants @> ${byId}::text::jsonb
      ${email === null ? sql`` : sql`or newest.participants @> ${byEmail}::text::jsonb`}
    order by newest.created_at desc
    limit ${limit}`
}
