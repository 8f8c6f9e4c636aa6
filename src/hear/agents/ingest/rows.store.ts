/**
 * Parts of SQL statements that the guarded write (guarded.store.ts) and the writes under locks (locked.store.ts) share. The rows of
 * all requests travel in a few parameters. So the text of a statement stays the same for any number of rows, and PostgreSQL keeps
 * its plan.
 */
import type { PendingQuery, Row } from 'postgres'
import { asMicroseconds } from '../../../platform/db/keyset.ts'
import type { Query } from '../../../platform/db/pool.ts'
import { TURN_PAUSE_MS } from '../sessions/session.rules.ts'
import type { EventLookup, EventWrite, SessionKey, SessionValues, SessionWrite } from './model.ts'

/** A part of a statement. */
type Fragment = PendingQuery<Row[]>

/**
 * The events that match the look-ups, as a query on a table `session` of the numbered sessions. Without `offset 0` the planner would
 * search an id in all sessions while its statistics say that the table is small.
 */
export function hitsOf(tx: Query, lookups: readonly EventLookup[]) {
  const ids = lookups.flatMap((lookup, index) => lookup.ids.map((id) => [index + 1, id] as const))
  const sequences = lookups.flatMap((lookup, index) => lookup.sequences.map((s) => [index + 1, s] as const))
  return tx`
    select s.n, s.organization_id, s.id as session_id, e.external_event_id
    from session s
    join unnest(${ids.map(([n]) => n)}::int[], ${ids.map(([, id]) => id)}::text[]) as w (n, id) using (n)
    cross join lateral (
      select external_event_id from agent_event where session_id = s.id and external_event_id = w.id offset 0
    ) e
    union
    select s.n, s.organization_id, s.id, e.external_event_id
    from session s
    join unnest(${sequences.map(([n]) => n)}::int[], ${sequences.map(([, s]) => s)}::int8[]) as w (n, sequence)
      using (n)
    cross join lateral (
      select external_event_id from agent_event where session_id = s.id and sequence = w.sequence offset 0
    ) e`
}

/** The keys as a table `k`, numbered from 1. */
export function keyTable(tx: Query, keys: readonly SessionKey[]) {
  return tx`
    unnest(
      ${keys.map((key) => key.organizationId)}::text[]::uuid[],
      ${keys.map((key) => key.applicationId)}::text[]::uuid[],
      ${keys.map((key) => key.externalSessionId)}::text[]
    ) with ordinality as k (organization_id, application_id, external_session_id, n)`
}

/** Joins the application `a` and the organization `o` to each key `k`. */
export const applicationOfKey = (tx: Query) => tx`
  join agent_application a on a.organization_id = k.organization_id and a.id = k.application_id
  join organization o on o.id = k.organization_id`

/** The columns of `SeenApplication`, from an application `a` and its organization `o`. */
export const applicationColumns = (tx: Query) => tx`
  a.settings_version as "settingsVersion", o.agent_chats_enabled as "chatsEnabled",
  coalesce(o.response_credits = 0, false) as "creditsExhausted"`

/** Inserts sessions `s` from a table `w` with the columns of `sessionWriteTable`. The caller adds the conditions. */
export function insertFrom(tx: Query, table: Fragment) {
  return tx`
    insert into agent_session as s (
      id, organization_id, application_id, external_session_id, status, processing_status, agent_version, source, context,
      environment, participants, started_at, ended_at, created_at, described_at
    )
    select
      w.id, w.organization, w.application, w.external_id, w.changes ->> 'status', w.processing_status,
      w.changes ->> 'agentVersion', w.changes -> 'source', w.changes -> 'context', w.changes ->> 'environment',
      w.changes -> 'participants', w.first_at, w.last_at, coalesce(w.received_at, now()), coalesce(w.received_at, now())
    from ${table}`
}

/** Updates sessions `s` from a table `w` with the columns of `sessionWriteTable`. The caller adds the conditions. */
export function updateFrom(tx: Query, table: Fragment) {
  return tx`
    update agent_session s set
      status = coalesce(w.changes ->> 'status', s.status),
      processing_status = case when w.has_news then w.processing_status else s.processing_status end,
      agent_version = coalesce(w.changes ->> 'agentVersion', s.agent_version),
      source = coalesce(w.changes -> 'source', s.source),
      context = coalesce(w.changes -> 'context', s.context),
      environment = coalesce(w.changes ->> 'environment', s.environment),
      participants = coalesce(w.changes -> 'participants', s.participants),
      described_at = case
        when w.changes = '{}' then s.described_at
        when coalesce(w.changes -> 'participants', s.participants) <> s.participants
          or coalesce(w.changes -> 'context', s.context) is distinct from s.context
        then coalesce(w.received_at, now())
        else s.described_at
      end,
      -- Null until all events of the session have been read: a turn or a data change does.
      started_at = case when s.started_at is not null then least(s.started_at, w.first_at) end,
      ended_at = case when s.ended_at is not null then greatest(s.ended_at, w.last_at) end,
      -- Always rises, because it is the version of the session (see versionOf).
      last_activity_at = greatest(clock_timestamp(), s.last_activity_at + interval '1 microsecond'),
      updated_at = now()
    from ${table}`
}

/**
 * The version of a session `s`: its last activity in microseconds. Every request that changes the session or its events raises it
 * under the row's lock. Turns of the actor do not change it.
 */
export const versionOf = (tx: Query) => asMicroseconds(tx, 's.last_activity_at')

/**
 * The delay of a message to the actor of a session `s`, in milliseconds: until the pause after the session's last turn is over. It
 * is 0 where the pause is over already.
 */
export const turnDelay = (tx: Query) => tx`
  coalesce(
    least(
      ${TURN_PAUSE_MS}::int,
      greatest(
        0,
        ceil(extract(epoch from s.turned_at - clock_timestamp()) * 1000 + ${TURN_PAUSE_MS}::int)
      )
    ),
    0
  )::int`

/**
 * Sessions as a table `w`, numbered from 1. A member that is absent from `changes` stays unchanged. No member of a session ever becomes
 * null again.
 */
export function sessionWriteTable(tx: Query, writes: readonly SessionWrite[]) {
  const column = lines(tx, writes)
  return tx`
    (
      select
        n::int, id::uuid, organization::uuid, application::uuid, external_id, processing_status, has_news::bool,
        changes::jsonb, received_at::timestamptz, first_at::timestamptz, last_at::timestamptz
      from rows from (
        unnest(${writes.map(({ key }) => key.externalSessionId)}::text[]),
        ${column(({ id }) => id)},
        ${column(({ key }) => key.organizationId)},
        ${column(({ key }) => key.applicationId)},
        ${column(({ values }) => values.processingStatus)},
        ${column(({ hasNews }) => hasNews)},
        ${column(({ values, changesValues }) => (changesValues ? withoutNulls(values) : '{}'))},
        unnest(${writes.map(({ receivedAt }) => receivedAt ?? null)}::text[]),
        unnest(${writes.map(({ times }) => times?.first ?? null)}::text[]),
        unnest(${writes.map(({ times }) => times?.last ?? null)}::text[])
      ) with ordinality as c (
        external_id, id, organization, application, processing_status, has_news, changes, received_at, first_at, last_at, n
      )
    ) as w`
}

function withoutNulls(values: SessionValues): string {
  return JSON.stringify(Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null)))
}

/**
 * One column of a table, as a text with one line for each row. PostgreSQL splits it faster than JSON or an array. The values must
 * not be empty or contain a line break. JSON text qualifies, because it escapes line breaks. Use it in `rows from`.
 */
export function lines<T>(tx: Query, rows: readonly T[]) {
  return (lineOf: (row: T) => string | number | boolean) =>
    tx`string_to_table(${rows.map(lineOf).join('\n')}, E'\\n')`
}

/** The start of an insert of events. The caller adds the query of the rows, with `more` columns. */
export function insertEventsFrom(tx: Query, more: Fragment = tx``) {
  return tx`
    insert into agent_event (
      organization_id, session_id, external_event_id, sequence, revision, type, final, occurred_at, body,
      fingerprint, rules_version, settings_version${more}
    )`
}

/** Events as a table `e`, numbered by their request from 1. Bodies are JSON text already and are inserted unchanged. */
export function eventRows(tx: Query, writes: readonly Pick<EventWrite, 'events'>[]) {
  const rows = writes.flatMap(({ events }) => events)
  const column = lines(tx, rows)
  return tx`
    (
      select
        n::int, id, seq::int8, rev::int8, type, final::bool, at::timestamptz, body::jsonb, decode(hash, 'hex') as hash
      from rows from (
        unnest(${rows.map(({ event }) => event.externalEventId)}::text[]),
        string_to_table(${writes
          .map(({ events }, index) => `${index + 1}\n`.repeat(events.length))
          .join('')
          .trimEnd()}, E'\\n'),
        ${column(({ event }) => event.sequence)},
        ${column(({ event }) => event.revision)},
        ${column(({ event }) => event.type)},
        ${column(({ event }) => event.final)},
        ${column(({ event }) => event.occurredAt)},
        ${column(({ body }) => body)},
        ${column(({ fingerprint }) => Buffer.from(fingerprint).toString('hex'))}
      ) as c (id, n, seq, rev, type, final, at, body, hash)
    ) as e`
}
