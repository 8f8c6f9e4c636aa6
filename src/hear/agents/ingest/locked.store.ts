/**
 * The SQL of storing under locks, for all requests of a transaction at once. It takes two round trips: one locks the sessions
 * and reads what the decisions need, the other writes. The statements of a trip are sent together and run in the order of the
 * source text. Under READ COMMITTED each statement has its own snapshot, so a statement after the lock sees everything that was
 * committed before the lock was granted.
 */
import { asMoment } from '../../../platform/db/keyset.ts'
import type { Query } from '../../../platform/db/pool.ts'
import { PRESENT_RULES } from '../events/redaction.ts'
import type {
  EventLookup,
  EventWrite,
  RevisionRow,
  SeenApplication,
  SessionKey,
  SessionRow,
  SessionWrite,
  StoredEventRow,
} from './model.ts'
import {
  applicationColumns,
  applicationOfKey,
  eventRows,
  hitsOf,
  insertEventsFrom,
  insertFrom,
  keyTable,
  sessionWriteTable,
  turnDelay,
  updateFrom,
} from './rows.store.ts'

/** A row of one of several requests. `n` is the position of the request in the arguments, from 1. */
type Numbered<T> = T & { readonly n: number }

/** The state of the application, and the end of the session. */
export interface LockedApplication extends SeenApplication {
  /** The highest stored sequence of the session; -1: no event is stored. True until the transaction ends where the session is locked. */
  readonly highest: number
}

/** The application of each request, by position. A deleted application is absent. Must run after `lockSessionsByKey`. */
export async function readApplications(
  tx: Query,
  keys: readonly SessionKey[],
): Promise<ReadonlyMap<number, LockedApplication>> {
  const rows = await tx<Numbered<LockedApplication>[]>`
    select
      k.n::int, ${applicationColumns(tx)},
      coalesce(
        (
          select e.sequence
          from agent_session s
          join agent_event e on e.organization_id = s.organization_id and e.session_id = s.id
          where s.organization_id = k.organization_id and s.application_id = k.application_id
            and s.external_session_id = k.external_session_id
          order by e.sequence desc
          limit 1
        ),
        -1
      ) as highest
    from ${keyTable(tx, keys)}
    ${applicationOfKey(tx)}`
  return new Map(rows.map((row) => [row.n - 1, row]))
}

/** A locked session, and the delay of a message to its actor (see `turnDelay`). */
export interface LockedSessionRow extends SessionRow {
  readonly turnDelayMs: number
}

/** Locks the sessions in the order of their ids until the transaction ends. A session that does not exist yet is absent. */
export async function lockSessionsByKey(
  tx: Query,
  keys: readonly SessionKey[],
): Promise<ReadonlyMap<number, LockedSessionRow>> {
  const rows = await tx<Numbered<LockedSessionRow>[]>`
    select
      k.n::int, s.id, s.status, s.processing_status as "processingStatus", s.agent_version as "agentVersion", s.source,
      s.context, s.environment, s.participants, s.watermark, s.erased_at is not null as erased,
      ${turnDelay(tx)} as "turnDelayMs"
    from ${keyTable(tx, keys)}
    join agent_session s using (organization_id, application_id, external_session_id)
    order by s.id
    for update of s`
  return new Map(rows.map((row) => [row.n - 1, row]))
}

/** The stored events of each request's session that have one of the ids or one of the sequences of its look-up. */
export async function readStoredEvents(
  tx: Query,
  keys: readonly SessionKey[],
  lookups: readonly EventLookup[],
): Promise<ReadonlyMap<number, readonly StoredEventRow[]>> {
  const rows = await tx<Numbered<StoredEventRow>[]>`
    with session as materialized (
      select k.n, k.organization_id, s.id
      from ${keyTable(tx, keys)}
      join agent_session s using (organization_id, application_id, external_session_id)
    ), hit as (
      ${hitsOf(tx, lookups)}
    )
    select
      h.n::int, e.external_event_id as "externalEventId", e.sequence, e.revision, e.type, e.final,
      e.fingerprint, e.settings_version as "settingsVersion"
    from hit h
    join agent_event e using (organization_id, session_id, external_event_id)`
  return Map.groupBy(rows, (row) => row.n - 1)
}

/** The superseded revisions of the given events. A late retry of such a revision is a duplicate, not a conflict. */
export async function readRevisions(
  tx: Query,
  organizationId: string,
  sessionId: string,
  ids: readonly string[],
): Promise<readonly RevisionRow[]> {
  return tx<RevisionRow[]>`
    select
      external_event_id as "externalEventId", revision, fingerprint, settings_version as "settingsVersion"
    from agent_event_revision
    where organization_id = ${organizationId}
      and session_id = ${sessionId}
      and external_event_id = any(${ids as string[]}::text[])`
}

/** A stored revision with the text of its time, because a `Date` has no microseconds. */
export interface KnownRevisionRow extends RevisionRow {
  readonly sequence: number
  readonly occurredAt: string
}

/** The present and at most `superseded` superseded revisions of each of the given events, the highest first. */
export async function readKnownRevisions(
  tx: Query,
  organizationId: string,
  sessionId: string,
  ids: readonly string[],
  superseded: number,
): Promise<readonly KnownRevisionRow[]> {
  return tx<KnownRevisionRow[]>`
    select
      e.external_event_id as "externalEventId", e.sequence, r.revision, r.fingerprint,
      r.settings_version as "settingsVersion",
      ${asMoment(tx, 'r.occurred_at')} as "occurredAt"
    from agent_event e
    cross join lateral (
      select e.revision, e.fingerprint, e.settings_version, e.occurred_at
      union all
      (
        select o.revision, o.fingerprint, o.settings_version, o.occurred_at
        from agent_event_revision o
        where o.organization_id = e.organization_id and o.session_id = e.session_id
          and o.external_event_id = e.external_event_id and e.revision > 1
        order by o.revision desc
        limit ${superseded}
      )
    ) r
    where e.organization_id = ${organizationId}
      and e.session_id = ${sessionId}
      and e.external_event_id = any(${ids as string[]}::text[])
    order by r.revision desc`
}

/** @returns the ids that were created. Another transaction created the other sessions in the meantime. */
export async function insertSessions(
  tx: Query,
  writes: readonly SessionWrite[],
): Promise<ReadonlySet<string>> {
  if (writes.length === 0) return new Set()
  const rows = await tx<{ id: string }[]>`
    ${insertFrom(tx, sessionWriteTable(tx, writes))}
    order by application, external_id
    on conflict (application_id, external_session_id) do nothing
    returning s.id`
  return new Set(rows.map((row) => row.id))
}

export async function updateSessions(tx: Query, writes: readonly SessionWrite[]): Promise<void> {
  if (writes.length === 0) return
  await tx`
    ${updateFrom(tx, sessionWriteTable(tx, writes))}
    where s.organization_id = w.organization and s.id = w.id`
}

/** Writes new events. */
export async function insertEvents(tx: Query, writes: readonly EventWrite[]): Promise<void> {
  if (writes.length === 0) return
  await tx`
    ${insertEventsFrom(tx, tx`, created_at, updated_at`)}
    select organization_id, session_id, id, seq, rev, type, final, at, body, hash, ${PRESENT_RULES}::int2, version, received_at,
      received_at
    from ${eventTable(tx, writes)}`
}

/**
 * Replaces events by a higher revision and keeps the present revision as a superseded one.
 * @returns the ids of sessions whose first or last event was moved towards the others
 */
export async function reviseEvents(tx: Query, writes: readonly EventWrite[]): Promise<readonly string[]> {
  if (writes.length === 0) return []
  const rows = await tx<{ id: string }[]>`
    with incoming as materialized (
      select * from ${eventTable(tx, writes)}
    ), kept as (
      insert into agent_event_revision (
        organization_id, session_id, external_event_id, revision, final, occurred_at, body, fingerprint,
        rules_version, settings_version, created_at
      )
      select
        e.organization_id, e.session_id, e.external_event_id, e.revision, e.final, e.occurred_at, e.body, e.fingerprint,
        e.rules_version, e.settings_version, e.updated_at
      from agent_event e
      join incoming i on i.organization_id = e.organization_id and i.session_id = e.session_id
        and i.id = e.external_event_id
      returning organization_id, session_id, external_event_id, occurred_at
    ), revised as (
      update agent_event e set
        revision = i.rev, final = i.final, occurred_at = i.at, body = i.body, fingerprint = i.hash,
        rules_version = ${PRESENT_RULES}::int2, settings_version = i.version, updated_at = i.received_at
      from incoming i
      where e.organization_id = i.organization_id and e.session_id = i.session_id and e.external_event_id = i.id
    )
    select distinct s.id
    from kept k
    join incoming i on i.organization_id = k.organization_id and i.session_id = k.session_id and i.id = k.external_event_id
    join agent_session s on s.organization_id = k.organization_id and s.id = k.session_id
    where (k.occurred_at = s.started_at and i.at > k.occurred_at) or (k.occurred_at = s.ended_at and i.at < k.occurred_at)`
  return rows.map(({ id }) => id)
}

/** Stores revisions that arrived together with the revision that replaces them. */
export async function insertRevisions(tx: Query, writes: readonly EventWrite[]): Promise<void> {
  if (writes.length === 0) return
  await tx`
    insert into agent_event_revision (
      organization_id, session_id, external_event_id, revision, final, occurred_at, body, fingerprint, rules_version,
      settings_version, created_at
    )
    select organization_id, session_id, id, rev, final, at, body, hash, ${PRESENT_RULES}::int2, version, received_at
    from ${eventTable(tx, writes)}`
}

/** Events with the columns of their session. */
function eventTable(tx: Query, writes: readonly EventWrite[]) {
  return tx`
    ${eventRows(tx, writes)}
    join (
      select n, organization_id, session_id, version, coalesce(received_at, now()) as received_at
      from unnest(
        ${writes.map(({ key }) => key.organizationId)}::text[]::uuid[],
        ${writes.map(({ id }) => id)}::text[]::uuid[],
        ${writes.map(({ settingsVersion }) => settingsVersion)}::int[],
        ${writes.map(({ receivedAt }) => receivedAt ?? null)}::text[]::timestamptz[]
      ) with ordinality as w (organization_id, session_id, version, received_at, n)
    ) as s using (n)`
}

/** Marks late events. The session's actor processes them in its next turn. */
export async function insertLateEvents(
  tx: Query,
  late: readonly (Pick<EventWrite, 'key' | 'id'> & { readonly externalEventId: string })[],
): Promise<void> {
  if (late.length === 0) return
  await tx`
    insert into agent_late_event (organization_id, session_id, external_event_id)
    select * from unnest(
      ${late.map(({ key }) => key.organizationId)}::text[]::uuid[],
      ${late.map(({ id }) => id)}::text[]::uuid[],
      ${late.map(({ externalEventId }) => externalEventId)}::text[]
    )
    on conflict (session_id, external_event_id) do nothing`
}
