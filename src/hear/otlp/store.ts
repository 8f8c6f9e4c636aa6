/** SQL of traces whose spans are arriving, and of their pieces. */
import type { Query, Tx } from '../../platform/db/pool.ts'
import { KEPT_MINUTES, MAX_TRACE_BYTES, OPEN_SECONDS, SETTLE_SECONDS } from './model.ts'
import type { Piece } from './work.ts'

export interface ApplicationRef {
  readonly organizationId: string
  readonly applicationId: string
}

/**
 * Adds pieces to their traces, in one statement. Rows are locked in the order of trace ids.
 * @returns the ids of the traces that took their piece; the others are full
 */
export async function insertPieces(
  query: Query,
  { organizationId, applicationId }: ApplicationRef,
  pieces: readonly (Piece & { readonly id: string })[],
): Promise<ReadonlySet<string>> {
  const sorted = pieces.toSorted((a, b) => (a.traceId < b.traceId ? -1 : 1))
  const rows = await query<{ traceId: string }[]>`
    with piece as (
      select id, trace_id, has_root = 1 as has_root, start, spans
      from unnest(
        ${sorted.map(({ id }) => id)}::uuid[],
        ${sorted.map(({ traceId }) => traceId)}::text[],
        ${sorted.map(({ hasRoot }) => Number(hasRoot))}::int[],
        ${sorted.map(({ start }) => start)}::float8[],
        ${sorted.map(({ spans }) => spans)}::text[]
      ) as p (id, trace_id, has_root, start, spans)
    ),
    trace as (
      insert into otlp_trace (application_id, trace_id, organization_id, has_root, started_at, due_at, bytes)
      select ${applicationId}, trace_id, ${organizationId}, has_root, to_timestamp(start / 1e6),
        now() + case when has_root then ${SETTLE_SECONDS}::int else ${OPEN_SECONDS}::int end * interval '1 second',
        octet_length(spans)
      from piece
      on conflict (application_id, trace_id) do update set
        has_root = otlp_trace.has_root or excluded.has_root,
        started_at = least(otlp_trace.started_at, excluded.started_at),
        last_span_at = now(),
        due_at = now() + case
          when otlp_trace.has_root or excluded.has_root then ${SETTLE_SECONDS}::int else ${OPEN_SECONDS}::int
          end * interval '1 second',
        bytes = otlp_trace.bytes + excluded.bytes
      where otlp_trace.bytes + excluded.bytes <= ${MAX_TRACE_BYTES}::bigint
      returning trace_id
    ),
    added as (
      insert into otlp_piece (id, application_id, trace_id, organization_id, spans)
      select p.id, ${applicationId}, p.trace_id, ${organizationId}, p.spans::jsonb
      from piece p
      join trace using (trace_id)
    )
    select trace_id as "traceId" from trace`
  return new Set(rows.map(({ traceId }) => traceId))
}

/**
 * Applications with due traces. A due trace of each is locked: the deletion of an application, which takes its actor along, waits for the
 * lock, and an application whose traces are being deleted is skipped.
 */
export function lockDueApplications(tx: Tx, limit: number) {
  return tx<ApplicationRef[]>`
    select t.organization_id as "organizationId", t.application_id as "applicationId"
    from otlp_trace t
    where (t.application_id, t.trace_id) in (
      select distinct on (d.application_id) d.application_id, d.trace_id
      from (select application_id, trace_id from otlp_trace where due_at <= now() order by due_at limit ${limit}) d
    )
    for key share skip locked`
}

/** A trace whose messages are due. */
export interface DueTrace {
  readonly traceId: string
  /** Of its last span, to the microsecond. It tells whether more spans came meanwhile. */
  readonly version: string
  /** When its first span was received. Null: by an older version. */
  readonly receivedAt: string | null
}

/** The due traces of an application, in the order in which their conversations took place. */
export function dueTraces(query: Query, { organizationId, applicationId }: ApplicationRef, limit: number) {
  return query<DueTrace[]>`
    select trace_id as "traceId", last_span_at::text as version, first_span_at::text as "receivedAt"
    from otlp_trace
    where organization_id = ${organizationId}
      and application_id = ${applicationId}
      and due_at <= now()
    order by started_at
    limit ${limit}`
}

export interface PieceRow {
  readonly traceId: string
  readonly spans: unknown
}

export function piecesOf(
  query: Query,
  { organizationId, applicationId }: ApplicationRef,
  traces: readonly DueTrace[],
) {
  return query<PieceRow[]>`
    select trace_id as "traceId", spans
    from otlp_piece
    where organization_id = ${organizationId}
      and application_id = ${applicationId}
      and trace_id = any(${traces.map(({ traceId }) => traceId)}::text[])`
}

/** The messages of these traces are made. A trace that got more spans meanwhile stays due. */
export async function settleTraces(
  tx: Tx,
  { organizationId, applicationId }: ApplicationRef,
  traces: readonly DueTrace[],
): Promise<void> {
  await tx`
    update otlp_trace t
    set due_at = null
    from unnest(
      ${traces.map(({ traceId }) => traceId)}::text[],
      ${traces.map(({ version }) => version)}::text[]
    ) as s (trace_id, version)
    where t.organization_id = ${organizationId}
      and t.application_id = ${applicationId}
      and t.trace_id = s.trace_id
      and t.last_span_at = s.version::timestamptz`
}

/** Forgets traces that got no spans for long. @returns how many */
export async function deleteOldTraces(query: Query, limit: number): Promise<number> {
  const deleted = await query`
    delete from otlp_trace
    where (application_id, trace_id) in (
      select application_id, trace_id
      from otlp_trace
      where last_span_at < now() - ${KEPT_MINUTES}::int * interval '1 minute'
        and due_at is null
      order by last_span_at
      limit ${limit}
      for update skip locked
    )`
  return deleted.count
}

/** Forgets traces whose first span was received until `until`, if a piece matches one of the patterns. @returns how many */
export async function deleteTracesWith(
  tx: Tx,
  organizationId: string,
  patterns: readonly string[],
  until: Date,
): Promise<number> {
  const { count } = await tx`
    delete from otlp_trace t
    using otlp_piece p
    where t.organization_id = ${organizationId}
      and p.organization_id = ${organizationId}
      and p.application_id = t.application_id
      and p.trace_id = t.trace_id
      and coalesce(t.first_span_at <= ${until}, true)
      and p.spans::text ~* any(${[...patterns]}::text[])`
  return count
}
