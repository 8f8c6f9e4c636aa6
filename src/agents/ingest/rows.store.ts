/**
 * Parts of the statements of ingestion, for its two ways of storing: under one guarded statement (guarded.store.ts) and
 * under locks (locked.store.ts). Rows of all requests travel in a few parameters, so the text of a statement never changes and
 * the server keeps its plan.
 */
import type { PendingQuery, Row } from 'postgres'
import { asMicroseconds } from '../../platform/db/keyset.ts'
import type { Query } from '../../platform/db/pool.ts'
import type { PreparedEvent } from '../events/fingerprint.ts'
import type { Context, Participant, ProcessingStatus, SessionStatus } from '../model.ts'
import { TURN_PAUSE_MS } from '../sessions/session.rules.ts'

/** A part of a statement. */
type Fragment = PendingQuery<Row[]>

export interface SessionKey {
  readonly organizationId: string
  readonly applicationId: string
  readonly externalSessionId: string
}

export interface SessionRow {
  readonly id: string
  readonly status: SessionStatus
  readonly processingStatus: ProcessingStatus
  readonly agentVersion: string | null
  readonly source: { readonly sdk?: string; readonly version?: string } | null
  readonly context: Context | null
  readonly environment: string | null
  readonly participants: readonly Participant[]
  readonly watermark: number
  /** Somebody was erased from it. */
  readonly erased: boolean
}

/** The members of a session that a request writes. */
export type SessionValues = Omit<SessionRow, 'id' | 'watermark' | 'erased'>

/** A session and what one request writes into it. */
export interface SessionWrite {
  readonly key: SessionKey
  readonly id: string
  readonly values: SessionValues
  /** False: the session has all of them but the processing status. */
  readonly changesValues: boolean
  /** False: nothing is new to the session's actor, whose word on the processing status stands. */
  readonly hasNews: boolean
}

/** Events of one request for one session. */
export interface EventWrite {
  readonly key: SessionKey
  readonly id: string
  readonly settingsVersion: number
  readonly events: readonly PreparedEvent[]
}

/** What one request needs to see of its session's events. */
export interface EventLookup {
  readonly ids: readonly string[]
  readonly sequences: readonly number[]
}

/**
 * Which events the look-ups find, as a query on a table `session` of the numbered sessions. `offset 0` keeps the planner from
 * looking for an id in all sessions first, which it does while it believes the table to be small.
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

/** Joins to the keys `k` the application `a` and its organization `o` of each. */
export const applicationOfKey = (tx: Query) => tx`
  join agent_application a on a.organization_id = k.organization_id and a.id = k.application_id
  join organization o on o.id = k.organization_id`

/** `SeenApplication` of an application `a` and its organization `o`. */
export const applicationColumns = (tx: Query) => tx`
  a.settings_version as "settingsVersion", o.agent_chats_enabled as "chatsEnabled",
  coalesce(o.response_credits = 0, false) as "creditsExhausted"`

/** The insert of sessions `s` from a table `w` with the columns of `sessionTable`, up to its condition. */
export function insertFrom(tx: Query, table: Fragment) {
  return tx`
    insert into agent_session as s (
      id, organization_id, application_id, external_session_id, status, processing_status, agent_version, source, context,
      environment, participants
    )
    select
      w.id, w.organization, w.application, w.external_id, w.changes ->> 'status', w.processing_status,
      w.changes ->> 'agentVersion', w.changes -> 'source', w.changes -> 'context', w.changes ->> 'environment',
      w.changes -> 'participants'
    from ${table}`
}

/** The update of sessions `s` by a table `w` with the columns of `sessionTable`, up to its condition. */
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
      -- Always later than before: it names the row as ingestion left it (see versionOf).
      last_activity_at = greatest(clock_timestamp(), s.last_activity_at + interval '1 microsecond'),
      updated_at = now()
    from ${table}`
}

/**
 * Names a session's row `s` as ingestion wrote it last, in microseconds: every request that changes the session or its events
 * moves it forward under the row's lock. Turns of the actor leave it.
 */
export const versionOf = (tx: Query) => asMicroseconds(tx, 's.last_activity_at')

/**
 * Milliseconds that a message to the actor of a session `s` waits: until the pause after the session's last turn is over. A session
 * that had none for so long does not wait.
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
 * Sessions as a table `w`, numbered from 1. Nothing in a session ever becomes null again, so of `changes` what is absent
 * stays as it is.
 */
export function sessionTable(tx: Query, writes: readonly SessionWrite[]) {
  const column = lines(tx, writes)
  return tx`
    (
      select
        n::int, id::uuid, organization::uuid, application::uuid, external_id, processing_status, has_news::bool,
        changes::jsonb
      from rows from (
        unnest(${writes.map(({ key }) => key.externalSessionId)}::text[]),
        ${column(({ id }) => id)},
        ${column(({ key }) => key.organizationId)},
        ${column(({ key }) => key.applicationId)},
        ${column(({ values }) => values.processingStatus)},
        ${column(({ hasNews }) => hasNews)},
        ${column(({ values, changesValues }) => (changesValues ? withoutNulls(values) : '{}'))}
      ) with ordinality as c (external_id, id, organization, application, processing_status, has_news, changes, n)
    ) as w`
}

function withoutNulls(values: SessionValues): string {
  return JSON.stringify(Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null)))
}

/**
 * A column of a table of rows: a text of a line a row, which the server takes apart for less than JSON or an array. For
 * values that cannot be empty or hold a line break; JSON text, where a line break is escaped, is one. Part of `rows from`.
 */
export function lines<T>(tx: Query, rows: readonly T[]) {
  return (lineOf: (row: T) => string | number | boolean) =>
    tx`string_to_table(${rows.map(lineOf).join('\n')}, E'\\n')`
}

/** The insert of events, up to where its rows come from. */
export function insertEventsFrom(tx: Query) {
  return tx`
    insert into agent_event (
      organization_id, session_id, external_event_id, sequence, revision, type, final, occurred_at, body,
      fingerprint, settings_version
    )`
}

/** Events as a table `e`, numbered by their request from 1. Bodies are JSON text already and go in as they are. */
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
