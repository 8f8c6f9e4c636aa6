/** SQL of the people of sessions. Every statement takes any number of sessions, which the caller has locked. */
import type { Query } from '../../../platform/db/pool.ts'
import {
  numbered,
  type PerSession,
  type SessionScope,
  scopesOf,
  sessionTable,
} from './session-table.store.ts'

export interface PersonOfSession {
  /** Empty where the participant has none. */
  readonly externalId: string
  readonly personId: number
  readonly sole: boolean
}

/** Makes these the only people of each session. A session may have none. */
export async function replacePeople(tx: Query, parts: readonly PerSession<PersonOfSession>[]): Promise<void> {
  const { ns, rows } = numbered(parts)
  const given = tx`
    unnest(
      ${ns}::int[],
      ${rows.map(({ externalId }) => externalId)}::text[],
      ${rows.map(({ personId }) => personId)}::bigint[],
      ${rows.map(({ sole }) => Number(sole))}::int[]
    ) as l (n, external_id, person_id, sole)`
  const sessions = sessionTable(tx, scopesOf(parts))
  await tx`
    delete from agent_session_person p
    using ${sessions}
    where p.organization_id = s.organization_id
      and p.session_id = s.session_id
      and not exists (
        select
        from ${given}
        where l.n = s.n and l.external_id = p.participant_external_id and l.person_id = p.person_id
      )`
  if (rows.length === 0) return
  await tx`
    insert into agent_session_person as p (
      organization_id, session_id, participant_external_id, person_id, sole, occurred_at
    )
    select a.organization_id, a.id, l.external_id, l.person_id, l.sole = 1, coalesce(a.started_at, a.created_at)
    from ${given}
    join ${sessions} using (n)
    join agent_session a on a.organization_id = s.organization_id and a.id = s.session_id
    on conflict (session_id, participant_external_id, person_id) do update set sole = excluded.sole
    where p.sole <> excluded.sole`
}

/** Writes who spoke into the signals that the sessions have already. */
export async function attributeSignals(tx: Query, scopes: readonly SessionScope[]): Promise<void> {
  if (scopes.length === 0) return
  await tx`
    update agent_signal g
    set person_id = said.person_id
    from (
      select one.id, (
        select l.person_id
        from agent_session_person l
        where l.organization_id = one.organization_id
          and l.session_id = one.session_id
          and (
            l.participant_external_id = one.participant_external_id
            or (one.participant_external_id is null and l.sole)
          )
        order by l.person_id
        limit 1
      ) as person_id
      from ${sessionTable(tx, scopes)}
      join agent_signal one on one.organization_id = s.organization_id and one.session_id = s.session_id
    ) as said
    where g.id = said.id
      and g.organization_id = any(${scopes.map(({ organizationId }) => organizationId)}::text[]::uuid[])
      and g.person_id is distinct from said.person_id`
}

/** For changes outside of a turn. A turn writes the mark together with its progress. */
export async function markLinked(tx: Query, scopes: readonly SessionScope[]): Promise<void> {
  if (scopes.length === 0) return
  await tx`
    update agent_session a
    set linked_participants = jsonb_hash_extended(a.participants, 0)
    from ${sessionTable(tx, scopes)}
    where a.organization_id = s.organization_id and a.id = s.session_id`
}

/** Gives at most `limit` places in sessions of one person to another. A session may have both. @returns how many */
export async function moveLinks(
  tx: Query,
  organizationId: string,
  from: number,
  to: number,
  limit: number,
): Promise<number> {
  const { count } = await tx`
    with moved as (
      delete from agent_session_person
      where organization_id = ${organizationId}
        and person_id = ${from}
        and (session_id, participant_external_id) in (
          select session_id, participant_external_id
          from agent_session_person
          where organization_id = ${organizationId} and person_id = ${from}
          limit ${limit}
        )
      returning *
    ), inserted as (
      insert into agent_session_person (
        organization_id, session_id, participant_external_id, person_id, sole, occurred_at
      )
      select organization_id, session_id, participant_external_id, ${to}, sole, occurred_at
      from moved
      on conflict do nothing
    )
    select from moved`
  return count
}

/** Gives at most `limit` signals of one person to another. @returns how many */
export async function moveSignals(
  tx: Query,
  organizationId: string,
  from: number,
  to: number,
  limit: number,
): Promise<number> {
  const { count } = await tx`
    update agent_signal
    set person_id = ${to}
    where organization_id = ${organizationId}
      and id in (
        select id
        from agent_signal
        where organization_id = ${organizationId} and person_id = ${from}
        limit ${limit}
      )`
  return count
}
