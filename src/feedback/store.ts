/** The SQL of feedback sources and records. */
import type { Position } from '../platform/db/keyset.ts'
import type { Query, Tx } from '../platform/db/pool.ts'
import type { Field } from './model.ts'

export interface SourceRow {
  readonly id: number
  readonly name: string
  readonly type: string
  readonly createdAt: Date
}

/** Behind the newest of `after`; one row more than the limit. */
export type IdPosition = Position<readonly [id: number]>

export async function insertSource(
  query: Query,
  organizationId: string,
  { name, type }: { readonly name: string; readonly type: string },
): Promise<SourceRow> {
  const [row] = await query<SourceRow[]>`
    insert into feedback_source (organization_id, name, type)
    values (${organizationId}, ${name}, ${type})
    returning id, name, type, created_at as "createdAt"`
  if (row === undefined) throw new Error('a feedback source was not made')
  return row
}

export async function findSource(
  query: Query,
  organizationId: string,
  id: number,
): Promise<SourceRow | undefined> {
  const [row] = await query<SourceRow[]>`
    select id, name, type, created_at as "createdAt"
    from feedback_source
    where organization_id = ${organizationId}
      and id = ${id}`
  return row
}

/** Newest first. */
export function listSources(
  query: Query,
  organizationId: string,
  { name }: { readonly name?: string | undefined },
  { after, offset, limit }: IdPosition,
) {
  return query<SourceRow[]>`
    select id, name, type, created_at as "createdAt"
    from feedback_source
    where organization_id = ${organizationId}
      ${name === undefined ? query`` : query`and name = ${name}`}
      ${after === null ? query`` : query`and id < ${after[0]}`}
    order by id desc
    limit ${limit + 1}
    offset ${offset}`
}

export interface NewRecord {
  readonly sourceId: number
  readonly personId: number | null
  readonly externalId: string | null
  readonly displayTs: string | null
  readonly fields: readonly Field[]
}

export interface CreatedRow {
  readonly id: number
  readonly personId: number | null
  readonly sourceId: number
  readonly displayTs: Date
  readonly externalId: string | null
  readonly createdAt: Date
}

export interface RecordRow extends CreatedRow {
  readonly fields: readonly Field[]
}

const columns = (query: Query) => query`
  id, person_id as "personId", feedback_source_id as "sourceId", display_ts as "displayTs",
  external_id as "externalId", created_at as "createdAt"`

/** undefined where the source has a record with this external id. */
export async function insertRecord(
  query: Query,
  organizationId: string,
  { sourceId, personId, externalId, displayTs, fields }: NewRecord,
): Promise<CreatedRow | undefined> {
  const [row] = await query<CreatedRow[]>`
    insert into feedback_record (organization_id, feedback_source_id, person_id, external_id, display_ts, fields)
    values (
      ${organizationId}, ${sourceId}, ${personId}, ${externalId}, coalesce(${displayTs}::text::timestamptz, now()),
      ${JSON.stringify(fields)}::text::jsonb
    )
    on conflict (feedback_source_id, external_id) do nothing
    returning ${columns(query)}`
  return row
}

export async function findRecord(
  query: Query,
  organizationId: string,
  sourceId: number,
  id: number,
): Promise<RecordRow | undefined> {
  const [row] = await query<RecordRow[]>`
    select ${columns(query)}, fields
    from feedback_record
    where organization_id = ${organizationId}
      and feedback_source_id = ${sourceId}
      and id = ${id}`
  return row
}

export interface RecordFilter {
  readonly externalId?: string | undefined
  readonly personId?: number | undefined
  readonly since?: string | undefined
  readonly until?: string | undefined
}

/** Newest first, by when they were stored. */
export function listRecords(
  query: Query,
  organizationId: string,
  sourceId: number,
  { externalId, personId, since, until }: RecordFilter,
  { after, offset, limit }: IdPosition,
) {
  return query<RecordRow[]>`
    select ${columns(query)}, fields
    from feedback_record
    where organization_id = ${organizationId}
      and feedback_source_id = ${sourceId}
      ${externalId === undefined ? query`` : query`and external_id = ${externalId}`}
      ${personId === undefined ? query`` : query`and person_id = ${personId}`}
      ${since === undefined ? query`` : query`and display_ts >= ${since}::text::timestamptz`}
      ${until === undefined ? query`` : query`and display_ts < ${until}::text::timestamptz`}
      ${after === null ? query`` : query`and id < ${after[0]}`}
    order by id desc
    limit ${limit + 1}
    offset ${offset}`
}

/** @returns false where there is no such record */
export async function deleteRecord(
  query: Query,
  organizationId: string,
  sourceId: number,
  id: number,
): Promise<boolean> {
  const rows = await query`
    delete from feedback_record
    where organization_id = ${organizationId}
      and feedback_source_id = ${sourceId}
      and id = ${id}
    returning 1`
  return rows.length === 1
}

/** @returns how many there were */
export async function deleteRecordsOf(tx: Tx, organizationId: string, personId: number): Promise<number> {
  const { count } = await tx`
    delete from feedback_record
    where organization_id = ${organizationId}
      and person_id = ${personId}`
  return count
}
