/** The SQL of the log of changes. */
import type { PendingQuery, Row } from 'postgres'
import type { Query, Tx } from '../platform/db/pool.ts'
import type { Change, StreamState } from './event.rules.ts'

/** Entries that one statement numbers. */
const NUMBERED_TOGETHER = 1_000

export interface OpenedStream extends StreamState {
  readonly isComplete: boolean
}

/** Makes the triggers write entries of the organization. After a time without entries, everything before is lost. */
export async function openStream(
  query: Query,
  organizationId: string,
  generation: string,
): Promise<OpenedStream> {
  const [row] = await query<OpenedStream[]>`
    insert into event_stream as s (organization_id, generation)
    values (${organizationId}, ${generation})
    on conflict (organization_id) do update set
      listened_at = now(),
      is_active = true,
      is_complete = s.is_complete and s.is_active,
      last_seq = case when s.is_active then s.last_seq else s.last_seq + 1 end,
      lost_seq = case when s.is_active then s.lost_seq else s.last_seq + 1 end
    returning s.generation, s.last_seq as "lastSeq", s.lost_seq as "lostSeq", s.is_complete as "isComplete"`
  if (row === undefined) throw new Error('no row of the event stream')
  return row
}

/** The number of a transaction that began after every transaction that could miss the stream. */
export async function transactionNumber(query: Query): Promise<string> {
  const [row] = await query<{ number: string }[]>`select pg_current_xact_id()::text as number`
  return row?.number ?? '0'
}

/** Whether every transaction of this database before `number` has ended. */
export async function hasEndedBefore(query: Query, number: string): Promise<boolean> {
  const [row] = await query<{ ended: boolean }[]>`
    select not exists (
      select from pg_stat_activity
      where datname = current_database() and age(backend_xid) > age(${number}::text::xid8::xid)
    ) as ended`
  return row?.ended ?? false
}

export async function completeStream(query: Query, organizationId: string): Promise<void> {
  await query`update event_stream set is_complete = true where organization_id = ${organizationId} and is_active`
}

export interface CurrentStream extends StreamState {
  readonly organizationId: string
  readonly isActive: boolean
  /** Some entries have no number yet. */
  readonly isWaiting: boolean
}

/** Those of the organizations that exist. */
export function currentStreams(query: Query, organizationIds: readonly string[]) {
  return query<CurrentStream[]>`
    select s.organization_id as "organizationId", s.generation, s.last_seq as "lastSeq", s.lost_seq as "lostSeq",
      s.is_active as "isActive",
      exists (select from event_stream_entry e where e.organization_id = s.organization_id and e.seq is null) as "isWaiting"
    from event_stream s
    where s.organization_id = any(${organizationIds as string[]}::uuid[])`
}

/** Keeps the streams open. */
export async function touchStreams(query: Query, organizationIds: readonly string[]): Promise<void> {
  await query`
    update event_stream set listened_at = now()
    where organization_id = any(${organizationIds as string[]}::uuid[]) and listened_at < now() - interval '30 seconds'`
}

/**
 * Numbers the oldest committed entries in the order in which they were written. Processes take turns at the row of the stream.
 * @returns the newest number; null if there is no stream
 */
export async function numberEntries(tx: Tx, organizationId: string): Promise<number | null> {
  const [stream] = await tx<{ lastSeq: number }[]>`
    select last_seq as "lastSeq" from event_stream where organization_id = ${organizationId} for update`
  if (stream === undefined) return null
  // A statement of its own: what another process has numbered meanwhile has its number in this snapshot.
  const [row] = await tx<{ lastSeq: number }[]>`
    with unnumbered as (
      select e.id, row_number() over (order by e.id) as number
      from (
        select id from event_stream_entry
        where organization_id = ${organizationId} and seq is null
        order by id
        limit ${NUMBERED_TOGETHER}
      ) e
    ), numbered as (
      update event_stream_entry e set seq = ${stream.lastSeq}::bigint + u.number
      from unnumbered u
      where e.id = u.id and e.organization_id = ${organizationId}
      returning e.seq
    )
    update event_stream s set last_seq = greatest(s.last_seq, (select max(seq) from numbered))
    where s.organization_id = ${organizationId}
    returning s.last_seq as "lastSeq"`
  return row?.lastSeq ?? null
}

/** A part of the log, and who may see it. */
export interface WantedChanges {
  readonly organizationId: string
  readonly after: number
  readonly upTo: number
  readonly limit: number
  /** Ids of the applications whose conversations the viewer may see. */
  readonly applications: PendingQuery<Row[]>
  /** A condition on a recording `r` that names the organization. */
  readonly visible: PendingQuery<Row[]>
}

/** Oldest first. */
export function readChanges(query: Query, wanted: WantedChanges) {
  return query<Change[]>`
    select e.seq, e.type, e.application_id as "applicationId", e.session_id as "sessionId", e.signal_id as "signalId",
      e.feedback_source_id as "feedbackSourceId", e.feedback_record_id as "feedbackRecordId", e.recording_id as "recordingId",
      e.occurred_at as "occurredAt"
    from event_stream_entry e
    where e.organization_id = ${wanted.organizationId} and e.seq > ${wanted.after} and e.seq <= ${wanted.upTo}
      and (e.application_id is null or e.application_id = any(array(${wanted.applications})))
      and (
        e.recording_id is null
        or exists (select from recording r where r.id = e.recording_id and ${wanted.visible})
      )
    order by e.seq
    limit ${wanted.limit}`
}

/** Stops the writing of entries for organizations without a client since then. Works on the whole service. */
export async function closeUnusedStreams(query: Query, minutes: number): Promise<void> {
  await query`
    update event_stream set is_active = false, is_complete = false
    where is_active and listened_at < now() - make_interval(mins => ${minutes})`
}

/** Deletes the oldest entries that are older than that. Works on the whole service. @returns how many */
export async function deleteOldEntries(tx: Tx, minutes: number, limit: number): Promise<number> {
  const old = await tx<{ id: number; organizationId: string; seq: number | null }[]>`
    select id, organization_id as "organizationId", seq from event_stream_entry
    where occurred_at < now() - make_interval(mins => ${minutes})
    order by occurred_at
    limit ${limit}`
  if (old.length === 0) return 0
  // In the order of the organizations, because numbering locks the same rows. The numbers are read under the lock.
  await tx`
    select from event_stream
    where organization_id = any(${[...new Set(old.map(({ organizationId }) => organizationId))]}::uuid[])
    order by organization_id
    for update`
  await tx`
    with gone as (
      delete from event_stream_entry where id = any(${old.map(({ id }) => id)}::bigint[])
      returning organization_id, seq
    ), ends as (
      select organization_id, max(seq) as seq, bool_or(seq is null) as skips from gone group by organization_id
    )
    update event_stream s set
      last_seq = case when e.skips then s.last_seq + 1 else s.last_seq end,
      lost_seq = case when e.skips then s.last_seq + 1 else greatest(s.lost_seq, e.seq) end
    from ends e
    where s.organization_id = e.organization_id`
  return old.length
}
