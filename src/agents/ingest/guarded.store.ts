/**
 * Ingestion without locks that are held from one statement to the next: one statement reads everything the decisions need,
 * one writes everything that was decided, for all requests of a batch, and commits by itself.
 *
 * The rule: a decision counts only for what it was made from. The write locks the sessions' rows and leaves out every request
 * whose application, organization or session is not any more as it was judged by. `version` names a session as ingestion left
 * it, its events included, because whatever adds or changes events moves the version in the same transaction. Turns of the
 * actor do not; of what they write, only how far they have walked matters, and the write asks for that.
 */
import { numberAndStore } from '../../actors/mailbox.ts'
import type { ActorKey, Envelope } from '../../actors/types.ts'
import type { Query } from '../../platform/db/pool.ts'
import type { SeenApplication, StoredEventRow } from './locked.store.ts'
import {
  applicationColumns,
  applicationOfKey,
  type EventLookup,
  type EventWrite,
  eventRows,
  hitsOf,
  insertEventsFrom,
  insertFrom,
  keyTable,
  lines,
  type SessionKey,
  type SessionRow,
  type SessionWrite,
  sessionTable,
  turnDelay,
  updateFrom,
  versionOf,
} from './rows.store.ts'

/** What a request is judged by, as it stood. */
export interface Seen extends SeenApplication {
  /** null: there is none yet. */
  readonly session: SessionRow | null
  /** Of the session, as ingestion left it. */
  readonly version: number | null
  /** The highest sequence that is stored; -1: none is. */
  readonly highest: number
  /** The stored events that the request has to do with. */
  readonly events: readonly StoredEventRow[]
}

/** What one request writes, on condition that its session still has this version; null: that it is new. */
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

/** Reads all in one snapshot, by position in the arguments. What is of no application that exists is absent. */
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
  /** Versions of what was done, by position; nothing of the others was. */
  readonly done: ReadonlyMap<number, number>
  /** Letters to ring for. */
  readonly sent: readonly Envelope[]
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
 * Does all writes whose condition holds. Locks session rows in the order of their ids, and actors' rows last. The actor of a
 * session is told where there is news, unless it has a letter of this type waiting; soon after a turn the letter waits for company.
 *
 * A row that somebody wrote between this statement's snapshot and its lock (`seen` against `locked`) is left out as well. So a
 * letter that is seen waiting is one whose turn has not read yet: every turn writes the session's row before it ends, also one
 * that had no news (tests/model/coalesced.ts).
 * @throws where a new event has the id of a stored one: then nothing was done
 */
export async function writeGuarded(
  sql: Query,
  writes: readonly GuardedWrite[],
  type: string,
): Promise<Written> {
  const rows = await sql<WrittenRow[]>`
    with request as materialized (
      select w.*, g.last_activity_at, g.lowest, g.settings, g.creates
      from ${sessionTable(sql, writes)}
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
      select m.organization, m.id, e.id, e.seq, e.rev, e.type, e.final, e.at, e.body, e.hash, m.settings
      from ${eventRows(sql, writes)}
      join mine m using (n)
    ), letter as materialized (
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

/** Everything that is written, as a table `mine`. Most batches have no new session, and are spared its part. */
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

/** What a decision was made from, as a table `g`: numbered like the sessions. */
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

/** The application and organization of a row `w`, as they are. `offset 0` has the planner look them up for each row. */
const applicationOf = (sql: Query) => sql`
  select a.settings_version, coalesce(o.response_credits = 0, false) as exhausted
  from agent_application a
  join organization o on o.id = a.organization_id
  where a.organization_id = w.organization and a.id = w.application and o.agent_chats_enabled
  offset 0`
