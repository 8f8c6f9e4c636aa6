/**
 * Assistant responses on their way through metering and analysis, and the ledger.
 *
 * The rule: a response costs one `agent_response_processed` unit, ever. The ledger's primary key says so, not a
 * counter: what is in the ledger is free, whether it was retried, revised, or withdrawn and shown again. Always under the
 * session's row lock; the organization's row, where there are credits to count, is locked after it.
 */
import type { Query } from '../platform/db/pool.ts'
import type { SessionScope } from './walk.store.ts'

const UNIT = 'agent_response_processed'

export interface ResponseRow {
  readonly externalEventId: string
  readonly sequence: number
  readonly revision: number
}

/**
 * Stores responses that wait for credits; a higher revision of a known one starts over. `grantCredits` lets them
 * through.
 */
export async function enterResponses(
  tx: Query,
  scope: SessionScope,
  rows: readonly ResponseRow[],
): Promise<void> {
  if (rows.length === 0) return
  await insertResponses(tx, scope, rows, 'billing_blocked')
}

/** Stores and meters responses of an organization whose credits are unlimited. */
export async function meterResponses(
  tx: Query,
  scope: SessionScope,
  rows: readonly ResponseRow[],
): Promise<void> {
  if (rows.length === 0) return
  const { organizationId, applicationId, sessionId } = scope
  await Promise.all([
    insertResponses(tx, scope, rows, 'metered'),
    tx`
      insert into agent_usage (organization_id, application_id, session_id, external_event_id, unit)
      select ${organizationId}, ${applicationId}, ${sessionId}, id, ${UNIT}
      from unnest(${rows.map((row) => row.externalEventId)}::text[]) as t (id)
      on conflict (session_id, external_event_id, unit) do nothing`,
  ])
}

function insertResponses(
  tx: Query,
  { organizationId, applicationId, sessionId }: SessionScope,
  rows: readonly ResponseRow[],
  state: 'billing_blocked' | 'metered',
) {
  return tx`
    insert into agent_response (
      organization_id, application_id, session_id, external_event_id, sequence, revision, state
    )
    select ${organizationId}, ${applicationId}, ${sessionId}, id, sequence, revision, ${state}
    from unnest(
      ${rows.map((row) => row.externalEventId)}::text[],
      ${rows.map((row) => row.sequence)}::int8[],
      ${rows.map((row) => row.revision)}::int8[]
    ) as t (id, sequence, revision)
    on conflict (session_id, external_event_id) do update set
      revision = excluded.revision,
      version = agent_response.version + 1,
      state = excluded.state,
      updated_at = now()
    where agent_response.revision < excluded.revision`
}

/**
 * Moves waiting responses of the session to `metered`, in order of sequence, as far as the organization's credits
 * reach. Locks the organization's row.
 */
export async function grantCredits(tx: Query, scope: SessionScope): Promise<void> {
  const { organizationId, applicationId, sessionId } = scope
  await Promise.all([
    // A statement of its own: the next one's snapshot then has what the previous holder of the lock left over. No
    // stronger than the update: whoever inserts a row of the organization meanwhile is not waited for.
    tx`select 1 from organization where id = ${organizationId} for no key update`,
    tx`
      with waiting as (
        select
          r.external_event_id, u.session_id is not null as paid,
          row_number() over (partition by u.session_id is null order by r.sequence) as place
        from agent_response r
        left join agent_usage u
          on u.organization_id = r.organization_id and u.session_id = r.session_id
          and u.external_event_id = r.external_event_id and u.unit = ${UNIT}
        where r.organization_id = ${organizationId}
          and r.session_id = ${sessionId}
          and r.state = 'billing_blocked'
      ), granted as (
        select w.external_event_id, w.paid
        from waiting w
        join organization o on o.id = ${organizationId}
        where w.paid or o.response_credits is null or w.place <= o.response_credits
      ), unit as (
        insert into agent_usage (organization_id, application_id, session_id, external_event_id, unit)
        select ${organizationId}, ${applicationId}, ${sessionId}, external_event_id, ${UNIT}
        from granted
        where not paid
        returning 1
      ), metered as (
        update agent_response r set state = 'metered', updated_at = now()
        from granted g
        where r.organization_id = ${organizationId}
          and r.session_id = ${sessionId}
          and r.external_event_id = g.external_event_id
      )
      update organization set response_credits = response_credits - (select count(*) from unit)
      where id = ${organizationId} and response_credits is not null`,
  ])
}

/** Forgets responses that are none any more, and what was inferred from them. Their units stay in the ledger. */
export async function withdrawResponses(
  tx: Query,
  { organizationId, sessionId }: SessionScope,
  eventIds: readonly string[],
): Promise<void> {
  if (eventIds.length === 0) return
  await Promise.all([
    tx`
      delete from agent_response
      where organization_id = ${organizationId}
        and session_id = ${sessionId}
        and external_event_id = any(${eventIds as string[]}::text[])`,
    tx`
      delete from agent_signal
      where organization_id = ${organizationId}
        and session_id = ${sessionId}
        and external_event_id = any(${eventIds as string[]}::text[])
        and source = 'qualitative_inference'`,
  ])
}

/** Sends the nearest responses before and after the given sequences through analysis again. Costs no unit. */
export async function reopenAround(
  tx: Query,
  { organizationId, sessionId }: SessionScope,
  sequences: readonly number[],
): Promise<void> {
  if (sequences.length === 0) return
  await tx`
    with neighbour as (
      select n.external_event_id
      from unnest(${sequences as number[]}::int8[]) as changed (sequence)
      cross join lateral (
        (
          select r.external_event_id
          from agent_event e
          join agent_response r
            on r.organization_id = e.organization_id and r.session_id = e.session_id
            and r.external_event_id = e.external_event_id
          where e.organization_id = ${organizationId}
            and e.session_id = ${sessionId}
            and e.type = 'assistant_message'
            and e.sequence < changed.sequence
          order by e.sequence desc
          limit 1
        ) union all (
          select r.external_event_id
          from agent_event e
          join agent_response r
            on r.organization_id = e.organization_id and r.session_id = e.session_id
            and r.external_event_id = e.external_event_id
          where e.organization_id = ${organizationId}
            and e.session_id = ${sessionId}
            and e.type = 'assistant_message'
            and e.sequence > changed.sequence
          order by e.sequence
          limit 1
        )
      ) n
    )
    update agent_response set
      version = version + 1,
      state = case when state = 'billing_blocked' then state else 'metered' end,
      updated_at = now()
    where organization_id = ${organizationId}
      and session_id = ${sessionId}
      and external_event_id in (select external_event_id from neighbour)`
}

export interface ResponseCounts {
  readonly blocked: number
  readonly metered: number
  readonly failed: number
}

/** How many responses of the session wait for credits, wait for analysis, or could not be analysed. */
export async function countResponses(
  tx: Query,
  { organizationId, sessionId }: SessionScope,
): Promise<ResponseCounts> {
  const [counts] = await tx<ResponseCounts[]>`
    select
      count(*) filter (where state = 'billing_blocked') as blocked,
      count(*) filter (where state = 'metered') as metered,
      count(*) filter (where state = 'failed') as failed
    from agent_response
    where organization_id = ${organizationId}
      and session_id = ${sessionId}
      and state <> 'analyzed'`
  return counts ?? { blocked: 0, metered: 0, failed: 0 }
}

/** True where a response of the session waits for credits. For the first trip, which knows only the id. */
export async function hasBlocked(tx: Query, sessionId: string): Promise<boolean> {
  const [row] = await tx<{ blocked: boolean }[]>`
    select exists (
      select 1
      from agent_session s
      join agent_response r on r.organization_id = s.organization_id and r.session_id = s.id
      where s.id = ${sessionId} and r.state = 'billing_blocked'
    ) as blocked`
  return row?.blocked ?? false
}
