/**
 * The SQL of session progress. Every statement takes any number of sessions, of any organizations.
 *
 * A turn calls `lockSessions` first. Ingestion, analysis and deletion lock the same rows, so a turn sees all or nothing of each of
 * them. An actor knows only the id of its session. It reads the organization together with the lock, and later statements name it.
 *
 * Look-ups for each session or event are lateral subqueries with a limit. With the settings of a turn's transaction
 * (src/actors/turn.ts) the planner then starts at the session, uses the index, and stops at the limit.
 */
import { asMoment } from '../../../platform/db/keyset.ts'
import type { Query } from '../../../platform/db/pool.ts'
import type { Participant, ProcessingStatus, SessionStatus } from '../model.ts'
import { responseCounts } from './responses.store.ts'
import {
  numbered,
  type PerSession,
  type SessionScope,
  scopesOf,
  sessionTable,
} from './session-table.store.ts'
import type { StatusByCount, TurnEvent } from './turn.rules.ts'

export interface LockedSession extends SessionScope {
  readonly status: SessionStatus
  readonly watermark: number
  readonly gapsPermanentThrough: number | null
  readonly captureContent: boolean
  readonly gapTimeoutSeconds: number
  /** True where the session received nothing for longer than the application's gap time-out, by database time. */
  readonly idle: boolean
  /** True where the organization pays with credits. */
  readonly limited: boolean
  /** The participants where it is not known yet which people they are; else null. */
  readonly unlinked: readonly Participant[] | null
  /** True where participants were linked with people before. */
  readonly wasLinked: boolean
  /** When its first event arrived, as text with microseconds. */
  readonly createdAt: string
  /** When its first event occurred, as text with microseconds. */
  readonly startedAt: string
}

/** Locks the session until the transaction ends. @returns null where the session was deleted */
export async function lockSession(tx: Query, sessionId: string): Promise<LockedSession | null> {
  return (await lockSessions(tx, [sessionId]))[0] ?? null
}

/** Locks sessions in the order of their ids until the transaction ends. @returns the sessions that still exist */
export async function lockSessions(tx: Query, ids: readonly string[]): Promise<readonly LockedSession[]> {
  return await tx<LockedSession[]>`
    select
      s.organization_id as "organizationId", s.application_id as "applicationId", s.id as "sessionId", s.status,
      s.watermark, s.gaps_permanent_through as "gapsPermanentThrough",
      (v.settings ->> 'captureContent')::boolean as "captureContent",
      (v.settings ->> 'gapTimeoutSeconds')::int as "gapTimeoutSeconds",
      s.last_activity_at + make_interval(secs => (v.settings ->> 'gapTimeoutSeconds')::int) <= now() as idle,
      o.response_credits is not null as limited,
      case
        when (s.participants <> '[]' or s.linked_participants is not null)
          and jsonb_hash_extended(s.participants, 0) is distinct from s.linked_participants then s.participants
      end as unlinked,
      s.linked_participants is not null as "wasLinked", ${asMoment(tx, 's.created_at')} as "createdAt",
      ${asMoment(tx, tx`coalesce(s.started_at, s.created_at)`)} as "startedAt"
    from agent_session s
    join organization o on o.id = s.organization_id
    join agent_application a on a.organization_id = s.organization_id and a.id = s.application_id
    join agent_application_settings v
      on v.organization_id = a.organization_id and v.application_id = a.id and v.version = a.settings_version
    where s.id = any(${ids as string[]}::uuid[])
    order by s.id
    for update of s`
}

/** What waits for a session's turn. */
export interface Waiting {
  /** Events at or below the watermark that came or were revised after the session had passed them; in order of sequence. */
  readonly lateEvents: readonly TurnEvent[]
  /** The lowest stored events above the watermark, in order of sequence. */
  readonly next: readonly TurnEvent[]
  /** True where responses of earlier turns wait for credits. */
  readonly blocked: boolean
}

type WaitingRow = { readonly sessionId: string; readonly blocked: boolean } & (
  | (Omit<TurnEvent, 'body'> & { readonly body: TurnEvent['body'] | null; readonly isLate: boolean })
  | { readonly sequence: null }
)

/**
 * Reads what waits for the sessions' turns: of each session at most `limit` late events and `limit` next events. Leaves out the
 * content of messages, because a turn does not need it. Must run after the lock, so that its snapshot is newer.
 */
export async function readWaiting(
  tx: Query,
  ids: readonly string[],
  limit: number,
): Promise<ReadonlyMap<string, Waiting>> {
  const rows = await tx<WaitingRow[]>`
    select
      s.id as "sessionId", blocked.session_id is not null as blocked, e.is_late as "isLate",
      e.external_event_id as "externalEventId", e.sequence, e.revision, e.type, e.final,
      case when e.type = 'feedback' then e.body end as body,
      e.type = 'assistant_message' and coalesce((e.body ->> 'visible')::boolean, false) as visible,
      (v.settings ->> 'captureContent')::boolean as captured
    from agent_session s
    left join lateral (
      select r.session_id
      from agent_response r
      where r.organization_id = s.organization_id and r.session_id = s.id and r.state = 'billing_blocked'
      limit 1
    ) blocked on true
    left join lateral (
      (
        select false as is_late, n.*
        from agent_event n
        where n.organization_id = s.organization_id and n.session_id = s.id and n.sequence > s.watermark
        order by n.sequence
        limit ${limit}
      ) union all (
        select true as is_late, passed.*
        from agent_late_event r
        cross join lateral (
          select *
          from agent_event p
          where p.organization_id = r.organization_id
            and p.session_id = r.session_id
            and p.external_event_id = r.external_event_id
          limit 1
        ) passed
        where r.organization_id = s.organization_id and r.session_id = s.id
        order by passed.sequence
        limit ${limit}
      )
    ) e on true
    left join agent_application_settings v
      on v.organization_id = s.organization_id and v.application_id = s.application_id
      and v.version = e.settings_version
    where s.id = any(${ids as string[]}::uuid[])
    order by e.sequence`
  return new Map([...Map.groupBy(rows, (row) => row.sessionId)].map(([id, group]) => [id, waitingOf(group)]))
}

function waitingOf(rows: readonly WaitingRow[]): Waiting {
  const lateEvents: TurnEvent[] = []
  const next: TurnEvent[] = []
  for (const row of rows) {
    if (row.sequence === null) continue
    const event = { ...row, body: row.body ?? {} }
    if (row.isLate) lateEvents.push(event)
    else next.push(event)
  }
  return { lateEvents, next, blocked: rows[0]?.blocked ?? false }
}

/** Removes the marks of late events, by event id, once a turn has processed them. */
export async function deleteLateEvents(tx: Query, parts: readonly PerSession<string>[]): Promise<void> {
  const { ns, rows } = numbered(parts)
  if (rows.length === 0) return
  await tx`
    delete from agent_late_event r
    using unnest(${ns}::int[], ${rows as string[]}::text[]) as e (n, id)
    join ${sessionTable(tx, scopesOf(parts))} using (n)
    where r.organization_id = s.organization_id and r.session_id = s.session_id and r.external_event_id = e.id`
}

/** The highest stored sequence of each session. */
export async function highestSequences(
  tx: Query,
  scopes: readonly SessionScope[],
): Promise<ReadonlyMap<string, number>> {
  if (scopes.length === 0) return new Map()
  const rows = await tx<{ id: string; highest: number }[]>`
    select s.session_id as id, e.sequence as highest
    from ${sessionTable(tx, scopes)}
    cross join lateral (
      select e.sequence
      from agent_event e
      where e.organization_id = s.organization_id and e.session_id = s.session_id
      order by e.sequence desc
      limit 1
    ) e`
  return new Map(rows.map(({ id, highest }) => [id, highest]))
}

/** How far a session advanced. */
export interface SessionProgress {
  readonly scope: SessionScope
  readonly watermark: number
  readonly gapsPermanentThrough: number | null
  /** The session waits at a gap, which becomes permanent after this many idle seconds; null: it waits at no gap. */
  readonly waitSeconds: number | null
  readonly statuses: StatusByCount
  /** True where the turn has linked the present participants with people. */
  readonly linked: boolean
}

export interface OpenResponses {
  readonly metered: number
  readonly blocked: number
}

/**
 * Writes the progress of sessions, and the processing status that follows from the counts of their open responses.
 * Writes every row, even without a change: a guarded write that waits for the row recognises by the new row version that the turn has
 * taken its message.
 * @returns the number of responses of each session that wait for analysis (`metered`) and for credits (`blocked`)
 */
export async function saveProgress(
  tx: Query,
  sessions: readonly SessionProgress[],
): Promise<ReadonlyMap<string, OpenResponses>> {
  const statuses = (of: keyof StatusByCount) => sessions.map((one) => one.statuses[of])
  const rows = await tx<(OpenResponses & { id: string })[]>`
    update agent_session a set
      watermark = w.watermark,
      gaps_permanent_through = w.gaps_permanent_through,
      gap_deadline = a.last_activity_at + make_interval(secs => w.wait_seconds),
      processing_status = case
        when c.blocked > 0 then w.if_blocked
        when c.metered > 0 then w.if_metered
        when c.failed > 0 then w.if_failed
        else w.otherwise
      end,
      turned_at = clock_timestamp(),
      started_at = coalesce(a.started_at, ${timeOf(tx, tx`min`)}),
      ended_at = coalesce(a.ended_at, ${timeOf(tx, tx`max`)}),
      linked_participants = case
        when w.linked = 1 then jsonb_hash_extended(a.participants, 0) else a.linked_participants
      end,
      updated_at = now()
    from ${sessionTable(tx, scopesOf(sessions))}
    join unnest(
      ${sessions.map((one) => one.watermark)}::int8[],
      ${sessions.map((one) => one.gapsPermanentThrough)}::int8[],
      ${sessions.map((one) => one.waitSeconds)}::int[],
      ${statuses('blocked')}::text[],
      ${statuses('metered')}::text[],
      ${statuses('failed')}::text[],
      ${statuses('none')}::text[],
      ${sessions.map((one) => Number(one.linked))}::int[]
    ) with ordinality as w (
      watermark, gaps_permanent_through, wait_seconds, if_blocked, if_metered, if_failed, otherwise,
      linked, n
    ) using (n)
    ${responseCounts(tx)}
    where a.organization_id = s.organization_id and a.id = s.session_id
    returning a.id, c.metered, c.blocked`
  return new Map(rows.map((row) => [row.id, row]))
}

/** The time of the first or the last event of the session `a`, which is read only where the session does not have it. */
const timeOf = (tx: Query, which: ReturnType<Query>) => tx`
  (select ${which}(e.occurred_at) from agent_event e where e.organization_id = a.organization_id and e.session_id = a.id)`

/** Writes the processing status of sessions. */
export async function saveProcessingStatuses(
  tx: Query,
  sessions: readonly { readonly scope: SessionScope; readonly processingStatus: ProcessingStatus }[],
): Promise<void> {
  if (sessions.length === 0) return
  await tx`
    update agent_session a set processing_status = p.processing_status, updated_at = now()
    from ${sessionTable(tx, scopesOf(sessions))}
    join unnest(${sessions.map((one) => one.processingStatus)}::text[])
      with ordinality as p (processing_status, n) using (n)
    where a.organization_id = s.organization_id and a.id = s.session_id`
}
