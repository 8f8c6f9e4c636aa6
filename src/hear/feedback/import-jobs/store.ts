/** SQL of imports of files: their state, the first rows, and the rows that were refused. */
import type { Json, Query, Tx } from '../../../platform/db/pool.ts'
import type { MappingFile } from '../row-import/mapping.rules.ts'
import type { Head } from './head.ts'
import { KEPT_DAYS } from './model.ts'
import type { Refusal } from './refused.rules.ts'

export interface ImportRow {
  readonly uploadId: string
  readonly organizationId: string
  readonly sourceId: number
  readonly delimiter: string | null
  /** null until the head of the file was read. */
  readonly header: readonly string[] | null
  readonly suggestion: MappingFile | null
  /** null until the import was started. */
  readonly mapping: MappingFile | null
  readonly bytesDone: number
  readonly rowsDone: number
  readonly imported: number
  readonly duplicates: number
  readonly refused: number
  readonly refusedKept: number
  readonly refusedKeptBytes: number
  readonly errorCode: string | null
  readonly createdAt: Date
  readonly startedAt: Date | null
  readonly endedAt: Date | null
}

export interface ImportRef {
  readonly organizationId: string
  readonly uploadId: string
}

const columns = (query: Query) => query`
  i.upload_id as "uploadId", i.organization_id as "organizationId", i.feedback_source_id as "sourceId", i.delimiter,
  i.header, i.suggestion, i.mapping, i.bytes_done as "bytesDone", i.rows_done as "rowsDone", i.imported, i.duplicates,
  i.refused, i.refused_kept as "refusedKept", i.refused_kept_bytes as "refusedKeptBytes", i.error_code as "errorCode",
  i.created_at as "createdAt", i.started_at as "startedAt", i.ended_at as "endedAt"`

export async function insertImport(
  tx: Tx,
  { organizationId, uploadId }: ImportRef,
  sourceId: number,
  delimiter: string | null,
): Promise<void> {
  await tx`
    insert into feedback_import (upload_id, organization_id, feedback_source_id, delimiter)
    values (${uploadId}, ${organizationId}, ${sourceId}, ${delimiter})`
}

/** Imports of an organization that have not ended. The caller has locked the organization. */
export function openImports(tx: Tx, organizationId: string) {
  return tx<ImportRef[]>`
    select upload_id as "uploadId", organization_id as "organizationId"
    from feedback_import
    where organization_id = ${organizationId}
      and ended_at is null`
}

export async function findImport(
  query: Query,
  { organizationId, uploadId }: ImportRef,
): Promise<ImportRow | undefined> {
  const [row] = await query<ImportRow[]>`
    select ${columns(query)}
    from feedback_import i
    where i.organization_id = ${organizationId}
      and i.upload_id = ${uploadId}`
  return row
}

/** Locks the import, so that it is started or cancelled once. */
export async function lockImport(
  tx: Tx,
  { organizationId, uploadId }: ImportRef,
): Promise<ImportRow | undefined> {
  const [row] = await tx<ImportRow[]>`
    select ${columns(tx)}
    from feedback_import i
    where i.organization_id = ${organizationId}
      and i.upload_id = ${uploadId}
    for update`
  return row
}

/** One transaction at a time starts imports of the source. Call it before `lockImport`. Records may be added meanwhile. */
export async function lockStarts(tx: Tx, organizationId: string, sourceId: number): Promise<void> {
  await tx`
    select 1
    from feedback_source
    where organization_id = ${organizationId}
      and id = ${sourceId}
    for no key update`
}

/** Newest first. */
export function listImports(query: Query, organizationId: string, sourceId: number, limit: number) {
  return query<ImportRow[]>`
    select ${columns(query)}
    from feedback_import i
    where i.organization_id = ${organizationId}
      and i.feedback_source_id = ${sourceId}
    order by i.created_at desc
    limit ${limit}`
}

export async function saveHead(
  tx: Tx,
  { organizationId, uploadId }: ImportRef,
  { delimiter, header, sample, suggestion }: Head,
  digest: Uint8Array,
): Promise<void> {
  await tx`
    update feedback_import
    set
      delimiter = ${delimiter}, header = ${JSON.stringify(header)}::text::jsonb, digest = ${digest},
      sample = ${JSON.stringify(sample)}::text::jsonb, suggestion = ${JSON.stringify(suggestion)}::text::jsonb
    where organization_id = ${organizationId}
      and upload_id = ${uploadId}
      and ended_at is null`
}

export async function readSample(query: Query, { organizationId, uploadId }: ImportRef): Promise<Json> {
  const [row] = await query<{ sample: Json }[]>`
    select sample
    from feedback_import
    where organization_id = ${organizationId}
      and upload_id = ${uploadId}`
  return row?.sample ?? null
}

/** A started import of the source whose file had the same bytes, unless that one failed before its first batch. */
export async function findRepeated(tx: Tx, { organizationId, uploadId }: ImportRef): Promise<string | null> {
  const [row] = await tx<{ id: string }[]>`
    select other.upload_id as id
    from feedback_import this
    join feedback_import other
      on other.organization_id = this.organization_id
        and other.feedback_source_id = this.feedback_source_id
        and other.digest = this.digest
    where this.organization_id = ${organizationId}
      and this.upload_id = ${uploadId}
      and other.upload_id <> this.upload_id
      and other.started_at is not null
      and (other.error_code is null or other.rows_done > 0)
    order by other.created_at
    limit 1`
  return row?.id ?? null
}

export async function startImport(
  tx: Tx,
  { organizationId, uploadId }: ImportRef,
  mapping: MappingFile,
): Promise<void> {
  await tx`
    update feedback_import
    set mapping = ${JSON.stringify(mapping)}::text::jsonb, started_at = now(), forget_after = null
    where organization_id = ${organizationId}
      and upload_id = ${uploadId}`
}

export interface Progress {
  readonly bytes: number
  readonly rows: number
  readonly imported: number
  readonly duplicates: number
  readonly refused: number
  readonly kept: readonly Refusal[]
  readonly keptBytes: number
}

/** Records a stored batch, in its transaction. @returns false if the import was cancelled */
export async function recordBatch(
  tx: Tx,
  { organizationId, uploadId }: ImportRef,
  first: number,
  progress: Progress,
): Promise<boolean> {
  const { bytes, rows, imported, duplicates, refused, kept, keptBytes } = progress
  const recorded = await tx`
    update feedback_import
    set
      bytes_done = ${bytes}, rows_done = rows_done + ${rows}, imported = imported + ${imported},
      duplicates = duplicates + ${duplicates}, refused = refused + ${refused},
      refused_kept = refused_kept + ${kept.length}, refused_kept_bytes = refused_kept_bytes + ${keptBytes}
    where organization_id = ${organizationId}
      and upload_id = ${uploadId}
      and ended_at is null`
  if (recorded.count === 0) return false
  if (kept.length === 0) return true
  const rowsOf = kept.map((one, index) => ({ ...one, position: first + index }))
  await tx`
    insert into feedback_import_refusal (upload_id, position, organization_id, line, reason, cells)
    select ${uploadId}, r.position, ${organizationId}, r.line, r.reason, r.cells
    from json_to_recordset(${JSON.stringify(rowsOf)}::text::json) as r (
      position bigint, line bigint, reason text, cells jsonb
    )`
  return true
}

/** Ends the import. The first rows are forgotten at once, refused rows after some days. `errorCode`: null if all rows were done. */
export async function endImport(
  tx: Tx,
  { organizationId, uploadId }: ImportRef,
  errorCode: string | null,
): Promise<void> {
  await tx`
    update feedback_import
    set
      ended_at = now(), error_code = ${errorCode}, sample = null,
      forget_after = now() + make_interval(days => ${KEPT_DAYS})
    where organization_id = ${organizationId}
      and upload_id = ${uploadId}
      and ended_at is null`
}

/** Refused rows after a position, in order of their lines. */
export function readRefusals(
  query: Query,
  { organizationId, uploadId }: ImportRef,
  after: number,
  limit: number,
) {
  return query<(Refusal & { readonly position: number })[]>`
    select position, line, reason, cells
    from feedback_import_refusal
    where organization_id = ${organizationId}
      and upload_id = ${uploadId}
      and position > ${after}
    order by position
    limit ${limit}`
}

/** Imports of a source that have not ended. */
export function openImportsOf(tx: Tx, organizationId: string, sourceId: number) {
  return tx<{ uploadId: string }[]>`
    select upload_id as "uploadId"
    from feedback_import
    where organization_id = ${organizationId}
      and feedback_source_id = ${sourceId}
      and ended_at is null
    for update`
}

/** Imports of every organization whose words are to be forgotten. */
export function dueImports(query: Query, limit: number) {
  return query<ImportRef[]>`
    select upload_id as "uploadId", organization_id as "organizationId"
    from feedback_import
    where forget_after <= now()
    order by forget_after
    limit ${limit}`
}

/** Locks an import that is still due: one that was started or has ended since has no such date, or a later one. */
export async function lockDue(
  tx: Tx,
  { organizationId, uploadId }: ImportRef,
): Promise<{ readonly ended: boolean } | undefined> {
  const [row] = await tx<{ ended: boolean }[]>`
    select ended_at is not null as ended
    from feedback_import
    where organization_id = ${organizationId}
      and upload_id = ${uploadId}
      and forget_after <= now()
    for update`
  return row
}

export async function forgetWords(tx: Tx, { organizationId, uploadId }: ImportRef): Promise<void> {
  await tx`
    delete from feedback_import_refusal
    where organization_id = ${organizationId}
      and upload_id = ${uploadId}`
  await tx`
    update feedback_import
    set sample = null, refused_kept = 0, forget_after = null
    where organization_id = ${organizationId}
      and upload_id = ${uploadId}`
}
