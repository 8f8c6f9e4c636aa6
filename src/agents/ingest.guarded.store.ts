/**
 * Ingestion without locks that are held from one statement to the next: one statement reads everything the decisions need,
 * one writes everything that was decided, for all requests of a batch, and commits by itself.
 *
 * The rule: a decision counts only for the session's row that it was made from. `version` names that row; the write locks the row and leaves out every request whose row has another version by now.
 * That covers the events too, because whatever adds or changes events of a session updates its row in the same
 * transaction, and so does every turn of its actor, also one that had no news: a letter that is seen waiting is one whose turn has
 * not read yet, although the statement saw it before it waited for the row (tests/model/coalesced.ts).
 */
import { numberAndStore } from '../actors/mailbox.ts'
import type { ActorKey, Envelope } from '../actors/types.ts'
import type { Query } from '../platform/db/pool.ts'
import type { SessionKey, SessionRow, SessionWrite, StoredEventRow } from './ingest.store.ts'
import { type EventLookup, type EventWrite, eventRows, hitsOf, keyTable } from './ingest.store.ts'

/**
 * Names a session's row `s` as it was written: by which transaction, and when. The transaction alone would not do: workers do
 * not wait for the disk, so a crash of the server may take a turn back and give its number to another.
 */
const versionOf = (sql: Query) => sql`concat_ws(' ', s.xmin, s.updated_at)`

/** What a request is judged by, as it stood. */
export interface Seen {
  readonly settingsVersion: number
  readonly chatsEnabled: boolean
  readonly creditsExhausted: boolean
  /** null: there is none yet. */
  readonly session: SessionRow | null
  /** Of the session's row. */
  readonly version: string | null
  /** The stored events that the request has to do with. */
  readonly events: readonly StoredEventRow[]
}

/** What one request writes, on condition that its session's row still has this version; null: that it is new. */
export interface GuardedWrite extends SessionWrite, EventWrite {
  readonly version: string | null
  readonly changesSession: boolean
  /** The session's actor is told, unless it has a letter of this type waiting. */
  readonly tellsActor: boolean
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
      k.n::int, a.settings_version as "settingsVersion", o.agent_chats_enabled as "chatsEnabled",
      coalesce(o.response_credits = 0, false) as "creditsExhausted", s.version,
      case when s.id is not null then json_build_object(
        'id', s.id, 'status', s.status, 'processingStatus', s.processing_status, 'agentVersion', s.agent_version,
        'source', s.source, 'context', s.context, 'environment', s.environment, 'participants', s.participants,
        'watermark', s.watermark
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
    join agent_application a on a.organization_id = k.organization_id and a.id = k.application_id
    join organization o on o.id = k.organization_id
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
  /** Positions of the writes that were done; nothing of the others was. */
  readonly done: ReadonlySet<number>
  /** Letters to ring for. */
  readonly sent: readonly Envelope[]
}

/** Does all writes whose condition holds. Locks session rows in the order of their ids, and actors' rows last. */
export async function writeGuarded(
  sql: Query,
  writes: readonly GuardedWrite[],
  type: string,
): Promise<Written> {
  const rows = await sql<{ n: number; key: ActorKey | null; seq: number | null }[]>`
    with request as materialized (
      ${requestTable(sql, writes)}
    ), locked as materialized (
      select r.n, s.id
      from request r
      join agent_session s on s.id = r.id
      where ${versionOf(sql)} = r.version
      order by s.id
      for update of s
    ), created as (
      insert into agent_session (
        id, organization_id, application_id, external_session_id, status, processing_status, agent_version, source,
        context, environment, participants
      )
      select
        id, organization, application, external_id, status, processing_status, agent_version, source, context,
        environment, participants
      from request
      where version is null
        and (select count(*) from locked) >= 0 -- no lock after this one
      order by application, external_id
      on conflict (application_id, external_session_id) do nothing
      returning id
    ), mine as materialized (
      select n, id from locked
      union all
      select r.n, r.id from request r join created using (id)
    ), updated as (
      update agent_session s set
        status = r.status,
        processing_status = r.processing_status,
        agent_version = r.agent_version,
        source = r.source,
        context = r.context,
        environment = r.environment,
        participants = r.participants,
        last_activity_at = now(),
        updated_at = now()
      from request r
      join locked l using (n)
      where r.changes and s.organization_id = r.organization and s.id = r.id
    ), stored as (
      insert into agent_event (
        organization_id, session_id, external_event_id, sequence, revision, type, final, occurred_at, body,
        fingerprint, settings_version
      )
      select r.organization, r.id, e.id, e.seq, e.rev, e.type, e.final, e.at, e.body, decode(e.hash, 'hex'), r.settings
      from ${eventRows(sql, writes)}
      join mine using (n)
      join request r using (n)
    ), letter as materialized (
      select 'session:' || m.id as key, ${type}::text as type, '{}' as payload, 0 as delay
      from mine m
      join request r using (n)
      where r.tells
        and (select count(*) from mine) >= 0 -- every session is locked before any actor
        and not exists (select 1 from actor_message w where w.key = 'session:' || m.id and w.type = ${type})
    ), ${numberAndStore(sql)}
    select m.n, sent.key, sent.seq
    from mine m
    left join sent on sent.key = 'session:' || m.id`
  return {
    done: new Set(rows.map((row) => row.n - 1)),
    sent: rows.flatMap(({ key, seq }) => (key === null || seq === null ? [] : [{ key, seq, type }])),
  }
}

function requestTable(sql: Query, writes: readonly GuardedWrite[]) {
  const rows = writes.map(
    ({ key, id, values, version, settingsVersion, changesSession, tellsActor }, index) => ({
      n: index + 1,
      id,
      version,
      organization: key.organizationId,
      application: key.applicationId,
      external_id: key.externalSessionId,
      status: values.status,
      processing_status: values.processingStatus,
      agent_version: values.agentVersion,
      source: values.source,
      context: values.context,
      environment: values.environment,
      participants: values.participants,
      settings: settingsVersion,
      changes: changesSession,
      tells: tellsActor,
    }),
  )
  return sql`
    select * from json_to_recordset(${JSON.stringify(rows)}::text::json) as r (
      n int, id uuid, version text, organization uuid, application uuid, external_id text, status text,
      processing_status text, agent_version text, source jsonb, context jsonb, environment text, participants jsonb,
      settings int, changes bool, tells bool
    )`
}
