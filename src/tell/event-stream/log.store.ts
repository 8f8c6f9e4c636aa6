/** The SQL of the log of changes. */
import type { PendingQuery, Row } from 'postgres'
import type { Query, Tx } from '../../platform/db/pool.ts'
import type { Change, StreamState } from './event.rules.ts'

/** Entries that one statement numbers. */
export const NUMBERED_TOGETHER = 2_000

/** Makes the triggers write entries of the organization. After a time without entries, everything before is lost. */
export async function openStream(query: Query, organizationId: string, generation: string): Promise<void> {
  await query`
    insert into event_stream as s (organization_id, generation)
    values (${organizationId}, ${generation})
    on conflict (organization_id) do update set
      listened_at = now(),
      is_active = true,
      is_complete = s.is_complete and s.is_active,
      last_seq = case when s.is_active then s.last_seq else s.last_seq + 1 end,
      lost_seq = case when s.is_active then s.lost_seq else s.last_seq + 1 end`
}

export async function completeStream(query: Query, organizationId: string): Promise<void> {
  await query`update event_stream set is_complete = true where organization_id = ${organizationId} and is_active`
}

export interface CurrentStream extends StreamState {
  readonly organizationId: string
  readonly isActive: boolean
  /** Every transaction that could leave out an entry has ended. */
  readonly isComplete: boolean
  /** Some entries have no number yet. */
  readonly isWaiting: boolean
}

/**
 * The generation that clients see. It changes with the history of the database: after a failover that lost commits, or from a restored
 * backup, the stream gives its newest numbers again.
 */
const generation = (query: Query) => query`substr(md5(s.generation || ' ' || history.epoch), 1, 8)`
/** Computed once for a statement. */
const history = (query: Query) => query`(select event_stream_epoch() as epoch offset 0) history`

/** Those of the organizations that exist. Locks nothing. */
export function currentStreams(query: Query, organizationIds: readonly string[]) {
  return query<CurrentStream[]>`
    select s.organization_id as "organizationId", ${generation(query)} as generation, s.last_seq as "lastSeq",
      s.lost_seq as "lostSeq", s.is_active as "isActive", s.is_complete as "isComplete",
      exists (select from event_stream_entry e where e.organization_id = s.organization_id and e.seq is null) as "isWaiting"
    from event_stream s
    cross join ${history(query)}
    where s.organization_id = any(${organizationIds as string[]}::uuid[])`
}

/** Keeps the streams open. */
export async function touchStreams(query: Query, organizationIds: readonly string[]): Promise<void> {
  await query`
    update event_stream set listened_at = now()
    where organization_id = any(${organizationIds as string[]}::uuid[]) and listened_at < now() - interval '30 seconds'`
}

/**
 * Numbers the oldest committed entries in the order in which they were written.
 * @returns how many; null if another process is numbering, or there is no stream
 */
export async function numberEntries(tx: Tx, organizationId: string): Promise<number | null> {
  const [stream] = await tx<{ lastSeq: number }[]>`
    select last_seq as "lastSeq" from event_stream where organization_id = ${organizationId} for update skip locked`
  if (stream === undefined) return null
  // A statement of its own: what another process has numbered meanwhile has its number in this snapshot.
  const [row] = await tx<{ count: number }[]>`
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
    returning (select count(*)::int from numbered) as count`
  return row?.count ?? null
}

export interface LogPart {
  /** The stream in the snapshot in which the entries were read; null if there is none. */
  readonly stream: (StreamState & { readonly isActive: boolean }) | null
  /** Oldest first. */
  readonly entries: readonly Change[]
}

type PartRow = NonNullable<LogPart['stream']> & (Change | (Omit<Change, 'seq'> & { readonly seq: null }))

/** Entries after number `after` and up to number `upTo`, whoever may see them. */
export async function readEntries(
  query: Query,
  organizationId: string,
  after: number,
  upTo: number,
): Promise<LogPart> {
  const rows = await query<PartRow[]>`
    select ${generation(query)} as generation, s.last_seq as "lastSeq", s.lost_seq as "lostSeq", s.is_active as "isActive",
      e.seq, e.type, e.application_id as "applicationId", e.session_id as "sessionId", e.signal_id as "signalId",
      e.feedback_source_id as "feedbackSourceId", e.feedback_record_id as "feedbackRecordId", e.recording_id as "recordingId",
      e.occurred_at as "occurredAt"
    from event_stream s
    cross join ${history(query)}
    left join event_stream_entry e on e.organization_id = s.organization_id and e.seq > ${after} and e.seq <= ${upTo}
    where s.organization_id = ${organizationId}
    order by e.seq`
  const entries = rows.flatMap(({ generation: _, lastSeq, lostSeq, isActive, ...entry }) =>
    entry.seq === null ? [] : [entry as Change],
  )
  return { stream: rows[0] ?? null, entries }
}

/** What decides who may see entries, by id. */
export interface Guarded {
  readonly applications: readonly string[]
  readonly recordings: readonly string[]
}

/**
 * Those that a viewer may see now.
 * @param applications ids of the applications whose conversations the viewer may see
 * @param visible a condition on a recording `r` that names the organization
 */
export async function readVisible(
  query: Query,
  guarded: Guarded,
  applications: PendingQuery<Row[]>,
  visible: PendingQuery<Row[]>,
): Promise<Guarded> {
  const [row] = await query<{ applications: string[]; recordings: string[] }[]>`
    select
      array(
        select a.id from unnest(${guarded.applications as string[]}::uuid[]) a (id) where a.id = any(array(${applications}))
      ) as applications,
      array(
        select r.id from recording r where r.id = any(${guarded.recordings as string[]}::uuid[]) and ${visible}
      ) as recordings`
  return row ?? { applications: [], recordings: [] }
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
