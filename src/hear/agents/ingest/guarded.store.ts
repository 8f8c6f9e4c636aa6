/**
 * The SQL of the guarded write. One statement reads all that the decisions of a batch need. Another statement writes the decisions
 * and commits. No lock is held between the two.
 *
 * The write locks the sessions' rows and skips every request whose application, organization or session has changed since it was
 * read. `version` identifies the state of a session and of its events, because every change of events raises the version in the
 * same transaction. Turns of the session's actor do not raise it. The only part of a turn that matters here is the watermark, and
 * the write compares that too.
 */
import { numberAndStore } from '../../../actors/mailbox.ts'
import type { ActorKey, WakeUp } from '../../../actors/types.ts'
import type { Query } from '../../../platform/db/pool.ts'
import { PRESENT_RULES } from '../events/redaction.ts'
import type {
  EventLookup,
  EventWrite,
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
  lines,
  sessionWriteTable,
  turnDelay,
  updateFrom,
  versionOf,
} from './rows.store.ts'

/** The state that a request is judged by. */
export interface Seen extends SeenApplication {
  /** null: the session does not exist yet. */
  readonly session: SessionRow | null
  /** The version of the session (see `versionOf`). */
  readonly version: number | null
  /** The highest stored sequence; -1: no event is stored. */
  readonly highest: number
  /** The stored events that match the look-up of the request. */
  readonly events: readonly StoredEventRow[]
}

/** The write of one request. It applies only while the session has this version; null: while the session does not exist. */
export interface GuardedWrite extends SessionWrite, EventWrite {
  readonly version: number | null
  readonly creditsExhausted: boolean
}

type SeenRow = Omit<Seen, 'session' | 'events'> & {
  readonly n: number
  readonly session: SessionRow | null
  readonly events: readonly StoredEventTuple[] | null
}

type StoredEventTuple = readonly [
  externalEventId: string,
  sequence: number,
  revision: number,
  type: string,
  final: boolean,
  fingerprint: string,
  settingsVersion: number,
]

/** Reads the state of all requests in one snapshot, by position in the arguments. A request without an existing application is absent. */
export async function readSessions(
  sql: Query,
  keys: readonly SessionKey[],
  lookups: readonly EventLookup[],
): Promise<ReadonlyMap<number, Seen>> {
  const rows = await sql<SeenRow[]>`
    with session as materialized (
      select k.n, s.*, ${versionOf(sql)} as version
      from ${keyTable(sql, keys)}
      join agent_session s using (organization_id, application_id, external_session_id)
    ), hit as materialized (
      ${hitsOf(sql, lookups)}
    )
    select
      k.n::int, ${applicationColumns(sql)}, s.version,
      coalesce(
        (
          select max(e.sequence) from agent_event e
          where e.organization_id = s.organization_id and e.session_id = s.id
        ),
        -1
      ) as highest,
      case when s.id is not null then json_build_object(
        'id', s.id, 'status', s.status, 'processingStatus', s.processing_status, 'agentVersion', s.agent_version,
        'source', s.source, 'context', s.context, 'environment', s.environment, 'participants', s.participants,
        'watermark', s.watermark, 'erased', s.erased_at is not null
      ) end as session,
      (
        select json_agg(json_build_array(
          e.external_event_id, e.sequence, e.revision, e.type, e.final, encode(e.fingerprint, 'hex'), e.settings_version
        ))
        from hit h
        join agent_event e using (organization_id, session_id, external_event_id)
        where h.n = k.n
      ) as events
    from ${keyTable(sql, keys)}
    ${applicationOfKey(sql)}
    left join session s on s.n = k.n`
  return new Map(
    rows.map(({ n, events, ...seen }) => [n - 1, { ...seen, events: (events ?? []).map(toStoredEvent) }]),
  )
}

function toStoredEvent([
  externalEventId,
  sequence,
  revision,
  type,
  final,
  hash,
  settingsVersion,
]: StoredEventTuple) {
  const fingerprint = Buffer.from(hash, 'hex')
  return { externalEventId, sequence, revision, type, final, fingerprint, settingsVersion }
}

export interface Written {
  /** New versions of the written sessions, by position. A request that is missing here wrote nothing. */
  readonly done: ReadonlyMap<number, number>
  /** Messages to notify of. */
  readonly sent: readonly WakeUp[]
}

interface WrittenRow {
  readonly n: number
  readonly version: number
  readonly key: ActorKey | null
  readonly seq: number | null
  readonly delayMs: number
  readonly organization: string
}

/**
 * Applies all writes whose condition holds. Locks session rows in the order of their ids, and rows of actors last. Sends the
 * session's actor a message where it has news, unless a message of this type waits already. A message that follows a turn closely is
 * due when the pause after the turn is over.
 *
 * The statement also skips a row that another transaction wrote between the statement's snapshot and its lock (`seen` compared with
 * `locked`). So where a waiting message is seen, its turn has not read yet: every turn writes the session's row before it ends,
 * even without news (tests/model/coalesced.ts).
 * @throws where a new event has the id of a stored event; then nothing was written
 */
export async function writeGuarded(
  sql: Query,
  writes: readonly GuardedWrite[],
  type: string,
): Promise<Written> {
  const rows = await sql<WrittenRow[]>`
    with request as materialized (
      select w.*, g.last_activity_at, g.lowest, g.settings, g.creates
      from ${sessionWriteTable(sql, writes)}
      join ${guardTable(sql, writes)} using (n)
      cross join lateral (${applicationOf(sql)}) a
      where a.settings_version = g.settings and a.exhausted = g.exhausted
    ), seen as materialized (
      select r.n, s.id, s.xmin as writer
      from request r
      join agent_session s on s.organization_id = r.organization and s.id = r.id
      where s.last_activity_at = r.last_activity_at and s.watermark < r.lowest
    ), locked as materialized (
      select v.n, s.id
      from seen v
      join agent_session s on s.id = v.id
      where s.xmin = v.writer
      order by s.id
      for update of s
    ), updated as (
      ${updateFrom(sql, sql`request w join locked l using (n)`)}
      where s.organization_id = w.organization and s.id = l.id
      returning w.n, s.id, w.organization, w.settings, w.has_news, ${versionOf(sql)} as version, ${turnDelay(sql)} as delay
    ), ${creating(sql, writes)}, stored as (
      ${insertEventsFrom(sql)}
      select m.organization, m.id, e.id, e.seq, e.rev, e.type, e.final, e.at, e.body, e.hash, ${PRESENT_RULES}::int2, m.settings
      from ${eventRows(sql, writes)}
      join mine m using (n)
    ), new_message as materialized (
      select 'session:' || m.id as key, ${type}::text as type, '{}' as payload, m.delay, m.organization
      from mine m
      where m.has_news
        and (select count(*) from mine) >= 0 -- every session is locked before any actor
        and not exists (select 1 from actor_message w where w.key = 'session:' || m.id and w.type = ${type})
    ), ${numberAndStore(sql)}
    select m.n, m.version, m.organization, sent.key, sent.seq, m.delay as "delayMs"
    from mine m
    left join sent on sent.key = 'session:' || m.id`
  return {
    done: new Map(rows.map((row) => [row.n - 1, row.version])),
    sent: rows.flatMap(({ key, seq, organization, delayMs }) =>
      key === null || seq === null ? [] : [{ key, seq, type, organization, delayMs }],
    ),
  }
}

/** All written sessions as a table `mine`. Most batches have no new session, so the part that creates one is left out there. */
function creating(sql: Query, writes: readonly GuardedWrite[]) {
  if (writes.every(({ version }) => version !== null))
    return sql`mine as materialized (select * from updated)`
  return sql`
    created as (
      ${insertFrom(sql, sql`request w`)}
      where w.creates
        and (select count(*) from locked) >= 0 -- no lock after this one
      order by w.application, w.external_id
      on conflict (application_id, external_session_id) do nothing
      returning s.id, ${versionOf(sql)} as version
    ), mine as materialized (
      select * from updated
      union all
      select w.n, w.id, w.organization, w.settings, w.has_news, c.version, 0
      from created c
      join request w using (id)
    )`
}

/** The conditions of the writes as a table `g`, numbered like the sessions. */
function guardTable(sql: Query, writes: readonly GuardedWrite[]) {
  const column = lines(sql, writes)
  const lowest = ({ events }: GuardedWrite) =>
    events.reduce((least, { event }) => Math.min(least, event.sequence), Number.MAX_SAFE_INTEGER)
  return sql`
    (
      select
        n::int, timestamptz 'epoch' + version::int8 * interval '1 microsecond' as last_activity_at, version = '0' as creates,
        lowest::int8, settings::int, exhausted::bool
      from rows from (
        ${column(({ version }) => version ?? 0)},
        ${column(lowest)},
        ${column(({ settingsVersion }) => settingsVersion)},
        ${column(({ creditsExhausted }) => creditsExhausted)}
      ) with ordinality as c (version, lowest, settings, exhausted, n)
    ) as g`
}

/** The present application and organization of a row `w`. `offset 0` makes the planner look them up for each row. */
const applicationOf = (sql: Query) => sql`
  select a.settings_version, coalesce(o.response_credits = 0, false) as exhausted
  from agent_application a
  join organization o on o.id = a.organization_id
  where a.organization_id = w.organization and a.id = w.application and o.agent_chats_enabled
  offset 0`
