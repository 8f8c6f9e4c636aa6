/** SQL of feedback sources and records. */

import type { ReadSubject } from '../../analysis/findings/coverage.rules.ts'
import { asMoment, behind, type Moment, type Position } from '../../platform/db/keyset.ts'
import type { Query, Tx } from '../../platform/db/pool.ts'
import type { Field } from './model.ts'
import { orderOfRecords, type RecordFilter } from './rules.ts'

export interface SourceRow {
  readonly id: number
  readonly name: string
  readonly type: string
  readonly createdAt: Date
  readonly createdMoment: string
}

/** Continues after a time of the list's order; the id orders rows of the same time. */
export type TimePosition = Position<readonly [moment: Moment, id: number]>

const sourceColumns = (query: Query) => query`
  id, name, type, created_at as "createdAt", ${asMoment(query, 'created_at')} as "createdMoment"`

/** One transaction at a time changes names of the organization's sources. */
export async function lockSourceNames(tx: Tx, organizationId: string): Promise<void> {
  await tx`select pg_advisory_xact_lock(hashtextextended(${`feedback source of ${organizationId}`}, 0))`
}

/** The oldest source with the name. Older versions allowed several sources with one name. */
export async function findSourceNamed(tx: Tx, organizationId: string, name: string): Promise<number | null> {
  const [row] = await tx<{ id: number }[]>`
    select id
    from feedback_source
    where organization_id = ${organizationId}
      and name = ${name}
    order by id
    limit 1`
  return row?.id ?? null
}

/** Until the transaction ends, no record is added to the source. @returns undefined if there is no such source */
export async function lockSource(
  tx: Tx,
  organizationId: string,
  id: number,
): Promise<{ readonly name: string } | undefined> {
  const [row] = await tx<{ name: string }[]>`
    select name
    from feedback_source
    where organization_id = ${organizationId}
      and id = ${id}
    for update`
  return row
}

export async function renameSource(tx: Tx, organizationId: string, id: number, name: string): Promise<void> {
  await tx`
    update feedback_source
    set name = ${name}
    where organization_id = ${organizationId}
      and id = ${id}`
}

/** Deletes the locked source if it has no record. @returns false if it has one */
export async function deleteEmptySource(tx: Tx, organizationId: string, id: number): Promise<boolean> {
  const rows = await tx`
    delete from feedback_source s
    where s.organization_id = ${organizationId}
      and s.id = ${id}
      and not exists (
        select 1 from feedback_record r
        where r.organization_id = s.organization_id and r.feedback_source_id = s.id
      )
    returning 1`
  return rows.length === 1
}

export async function insertSource(
  query: Query,
  organizationId: string,
  { name, type }: { readonly name: string; readonly type: string },
): Promise<SourceRow> {
  const [row] = await query<SourceRow[]>`
    insert into feedback_source (organization_id, name, type)
    values (${organizationId}, ${name}, ${type})
    returning ${sourceColumns(query)}`
  if (row === undefined) throw new Error('the feedback source was not inserted')
  return row
}

export async function findSource(
  query: Query,
  organizationId: string,
  id: number,
): Promise<SourceRow | undefined> {
  const [row] = await query<SourceRow[]>`
    select ${sourceColumns(query)}
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
  { after, offset, limit }: TimePosition,
) {
  return query<SourceRow[]>`
    select ${sourceColumns(query)}
    from feedback_source
    where organization_id = ${organizationId}
      ${name === undefined ? query`` : query`and name = ${name}`}
      ${behind(query, 'created_at', 'id', after)}
    order by created_at desc, id desc
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
  readonly subject: ReadSubject | null
  readonly displayMoment: string
  readonly createdMoment: string
  readonly fields: readonly Field[]
}

const columns = (query: Query) => query`
  id, person_id as "personId", feedback_source_id as "sourceId", display_ts as "displayTs",
  external_id as "externalId", created_at as "createdAt"`

const recordColumns = (query: Query) => query`
  ${columns(query)}, fields,
  (
    select json_build_object('state', i.state, 'analyzer', i.analyzer_name, 'version', i.analyzer_version)
    from insight_subject i
    where i.organization_id = feedback_record.organization_id and i.feedback_record_id = feedback_record.id
  ) as subject,
  ${asMoment(query, 'display_ts')} as "displayMoment",
  ${asMoment(query, 'created_at')} as "createdMoment"`

/** Undefined if the source has a record with this external id. */
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
    select ${recordColumns(query)}
    from feedback_record
    where organization_id = ${organizationId}
      and feedback_source_id = ${sourceId}
      and id = ${id}`
  return row
}

/** In the order of `orderOfRecords`, with one row more than the limit. */
export function listRecords(
  query: Query,
  organizationId: string,
  filter: RecordFilter,
  { after, offset, limit }: TimePosition,
) {
  const { sourceId, externalId, personId, since, until, createdAfter, createdBefore } = filter
  const order = orderOfRecords(filter) === 'displayMoment' ? 'display_ts' : 'created_at'
  return query<RecordRow[]>`
    select ${recordColumns(query)}
    from feedback_record
    where organization_id = ${organizationId}
      ${sourceId === undefined ? query`` : query`and feedback_source_id = ${sourceId}`}
      ${externalId === undefined ? query`` : query`and external_id = ${externalId}`}
      ${personId === undefined ? query`` : query`and person_id = ${personId}`}
      ${since === undefined ? query`` : query`and display_ts >= ${since}::text::timestamptz`}
      ${until === undefined ? query`` : query`and display_ts < ${until}::text::timestamptz`}
      ${createdAfter === undefined ? query`` : query`and created_at >= ${createdAfter}::text::timestamptz`}
      ${createdBefore === undefined ? query`` : query`and created_at < ${createdBefore}::text::timestamptz`}
      ${behind(query, order, 'id', after)}
    ${
      // At most one record of a source has the external id, so there is nothing to order.
      externalId === undefined || sourceId === undefined
        ? query`order by ${query(order)} desc, id desc`
        : query``
    }
    limit ${limit + 1}
    offset ${offset}`
}

/** @returns false if there is no such record */
export async function deleteRecord(
  tx: Tx,
  organizationId: string,
  sourceId: number,
  id: number,
): Promise<boolean> {
  const rows = await tx`
    delete from feedback_record
    where organization_id = ${organizationId}
      and feedback_source_id = ${sourceId}
      and id = ${id}
    returning 1`
  return rows.length === 1
}

/** Gives at most `limit` records of one person to another. @returns how many */
export async function moveRecords(
  tx: Tx,
  organizationId: string,
  from: number,
  to: number,
  limit: number,
): Promise<number> {
  const { count } = await tx`
    update feedback_record
    set person_id = ${to}
    where organization_id = ${organizationId}
      and id in (
        select id
        from feedback_record
        where organization_id = ${organizationId} and person_id = ${from}
        limit ${limit}
      )`
  return count
}

/** @returns the ids of the deleted records */
export async function deleteRecordsOf(
  tx: Tx,
  organizationId: string,
  personId: number,
): Promise<readonly number[]> {
  const rows = await tx<{ id: number }[]>`
    delete from feedback_record
    where organization_id = ${organizationId}
      and person_id = ${personId}
    returning id`
  return rows.map(({ id }) => id)
}
