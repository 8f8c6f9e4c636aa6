/**
 * The SQL of assistant responses, which are metered and then analysed, and of the ledger.
 *
 * A response costs one `agent_response_processed` unit, once. The ledger's primary key guarantees it: a response in the ledger
 * costs nothing more when it is retried, revised, or withdrawn and shown again. All writes hold the session's row lock. Where
 * credits are counted, the organization's row is locked after it.
 */
import { lockBalances, takingCredits } from '../../../access/identity/organizations.ts'
import type { Query } from '../../../platform/db/pool.ts'
import {
  numbered,
  type PerSession,
  type SessionScope,
  scopesOf,
  sessionTable,
} from './session-table.store.ts'

const UNIT = 'agent_response_processed'

export interface ResponseRow {
  readonly externalEventId: string
  readonly sequence: number
  readonly revision: number
  /**
   * `metered` where the organization's credits are unlimited. Otherwise the response waits until `grantCredits` meters it. A higher
   * revision of a known response starts again.
   */
  readonly state: 'billing_blocked' | 'metered'
}

/** Stores responses, and enters those in the ledger that need no credits. */
export async function storeResponses(tx: Query, parts: readonly PerSession<ResponseRow>[]): Promise<void> {
  const { ns, rows } = numbered(parts)
  if (rows.length === 0) return
  await tx`
    with response as (
      select s.organization_id, s.application_id, s.session_id, r.id, r.sequence, r.revision, r.state
      from unnest(
        ${ns}::int[],
        ${rows.map((row) => row.externalEventId)}::text[],
        ${rows.map((row) => row.sequence)}::int8[],
        ${rows.map((row) => row.revision)}::int8[],
        ${rows.map((row) => row.state)}::text[]
      ) as r (n, id, sequence, revision, state)
      join ${sessionTable(tx, scopesOf(parts))} using (n)
    ), stored as (
      insert into agent_response (
        organization_id, application_id, session_id, external_event_id, sequence, revision, state
      )
      select organization_id, application_id, session_id, id, sequence, revision, state
      from response
      on conflict (session_id, external_event_id) do update set
        revision = excluded.revision,
        version = agent_response.version + 1,
        state = excluded.state,
        updated_at = now()
      where agent_response.revision < excluded.revision
    )
    insert into agent_usage (organization_id, application_id, session_id, external_event_id, unit)
    select organization_id, application_id, session_id, id, ${UNIT}
    from response
    where state = 'metered'
    on conflict (session_id, external_event_id, unit) do nothing`
}

/**
 * Moves waiting responses of the sessions to `metered`, as far as the credits of their organizations last: sessions in the order
 * given, and responses of a session in order of sequence. Locks the organizations' rows in the order of their ids.
 */
export async function grantCredits(tx: Query, scopes: readonly SessionScope[]): Promise<void> {
  if (scopes.length === 0) return
  const organizations = [...new Set(scopes.map(({ organizationId }) => organizationId))]
  await Promise.all([
    // A separate statement, so that the next snapshot shows the credits that the previous holder of the lock left.
    lockBalances(tx, organizations),
    tx`
      with waiting as (
        select
          r.organization_id, s.application_id, r.session_id, r.external_event_id, u.session_id is not null as paid,
          row_number() over (
            partition by r.organization_id, u.session_id is null order by s.n, r.sequence
          ) as place
        from ${sessionTable(tx, scopes)}
        join agent_response r
          on r.organization_id = s.organization_id and r.session_id = s.session_id and r.state = 'billing_blocked'
        left join agent_usage u
          on u.organization_id = r.organization_id and u.session_id = r.session_id
          and u.external_event_id = r.external_event_id and u.unit = ${UNIT}
      ), granted as (
        select w.organization_id, w.application_id, w.session_id, w.external_event_id, w.paid
        from waiting w
        join organization o on o.id = w.organization_id
        where w.paid or o.response_credits is null or w.place <= o.response_credits
      ), unit as (
        insert into agent_usage (organization_id, application_id, session_id, external_event_id, unit)
        select organization_id, application_id, session_id, external_event_id, ${UNIT}
        from granted
        where not paid
        returning organization_id
      ), metered as (
        update agent_response r set state = 'metered', updated_at = now()
        from granted g
        where r.organization_id = g.organization_id
          and r.session_id = g.session_id
          and r.external_event_id = g.external_event_id
      )
      ${takingCredits(tx, tx`select organization_id, count(*) as units from unit group by organization_id`)}`,
  ])
}

/** Deletes responses, by event id, that a revision made invisible, with the signals inferred from them. The ledger keeps their units. */
export async function withdrawResponses(tx: Query, parts: readonly PerSession<string>[]): Promise<void> {
  const { ns, rows } = numbered(parts)
  if (rows.length === 0) return
  await tx`
    with event as (
      select s.organization_id, s.session_id, e.id
      from unnest(${ns}::int[], ${rows as string[]}::text[]) as e (n, id)
      join ${sessionTable(tx, scopesOf(parts))} using (n)
    ), withdrawn as (
      delete from agent_response r
      using event e
      where r.organization_id = e.organization_id and r.session_id = e.session_id and r.external_event_id = e.id
    )
    delete from agent_signal i
    using event e
    where i.organization_id = e.organization_id
      and i.session_id = e.session_id
      and i.external_event_id = e.id
      and i.source = 'qualitative_inference'`
}

/** Has the nearest responses before and after the given sequences analysed again: two look-ups each. Costs no unit. */
export async function reopenAround(tx: Query, parts: readonly PerSession<number>[]): Promise<void> {
  const { ns, rows } = numbered(parts)
  if (rows.length === 0) return
  await tx`
    with neighbour as (
      select s.organization_id, s.session_id, n.external_event_id
      from unnest(${ns}::int[], ${rows as number[]}::int8[]) as changed (n, sequence)
      join ${sessionTable(tx, scopesOf(parts))} using (n)
      cross join lateral (
        (
          select r.external_event_id
          from agent_response r
          where r.organization_id = s.organization_id
            and r.session_id = s.session_id
            and r.sequence < changed.sequence
          order by r.sequence desc
          limit 1
        ) union all (
          select r.external_event_id
          from agent_response r
          where r.organization_id = s.organization_id
            and r.session_id = s.session_id
            and r.sequence > changed.sequence
          order by r.sequence
          limit 1
        )
      ) n
    )
    update agent_response r set
      version = r.version + 1,
      state = case when r.state = 'billing_blocked' then r.state else 'metered' end,
      updated_at = now()
    from (select distinct * from neighbour) n
    where r.organization_id = n.organization_id
      and r.session_id = n.session_id
      and r.external_event_id = n.external_event_id`
}

/** Joins to sessions `s` the counts `c` of responses that wait for credits, wait for analysis, or failed in analysis. */
export const responseCounts = (tx: Query) => tx`
  cross join lateral (
    select
      count(*) filter (where r.state = 'billing_blocked') as blocked,
      count(*) filter (where r.state = 'metered') as metered,
      count(*) filter (where r.state = 'failed') as failed
    from agent_response r
    where r.organization_id = s.organization_id
      and r.session_id = s.session_id
      and r.state <> 'analyzed'
  ) c`
