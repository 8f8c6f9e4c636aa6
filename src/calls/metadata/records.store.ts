/**
 * SQL of metadata records: the typed values of a recording, by source.
 *
 * The unique constraint of (source, external id) decides which recording has an external id. An insert waits for other
 * transactions with the same external id, so exactly one of them succeeds.
 */
import type { Query, Tx } from '../../platform/db/pool.ts'
import type { FieldType, MetadataRecord, ValueInput } from './model.ts'

export interface CanonicalFields {
  readonly sourceId: string
  /** Types of the requested fields, by field id. */
  readonly types: ReadonlyMap<string, FieldType>
}

/** The canonical source, with the given fields that belong to it; undefined if the source does not exist yet. */
export async function findCanonicalFields(
  sql: Query,
  organizationId: string,
  fieldIds: readonly string[],
): Promise<CanonicalFields | undefined> {
  const rows = await sql<{ sourceId: string; fieldId: string | null; type: FieldType }[]>`
    select s.id as "sourceId", f.id as "fieldId", f.type
    from metadata_source s
    left join metadata_field f
      on f.organization_id = s.organization_id
      and f.source_id = s.id
      and f.id = any(${fieldIds as string[]}::uuid[])
    where s.organization_id = ${organizationId}
      and s.is_canonical_recording_source`
  const sourceId = rows[0]?.sourceId
  if (sourceId === undefined) return undefined
  const types = rows.flatMap(({ fieldId, type }) => (fieldId === null ? [] : [[fieldId, type] as const]))
  return { sourceId, types: new Map(types) }
}

interface RecordRow {
  readonly id: string
  readonly organizationId: string
  readonly sourceId: string
  readonly recordingId: string
  readonly externalId: string | null
}

/** `json_to_recordset` turns a JSON `null` into an SQL null. `coalesce` turns it back. */
const valueRows = (sql: Query, values: readonly ValueInput[]) => sql`
  select v."fieldId" as field_id, coalesce(v.value, 'null') as value
  from json_to_recordset(${JSON.stringify(values)}::text::json) as v ("fieldId" uuid, value jsonb)`

/** Writes a record with its values. @returns false if another recording has its external id */
export async function insertRecord(
  tx: Tx,
  { id, organizationId, sourceId, recordingId, externalId }: RecordRow,
  values: readonly ValueInput[],
): Promise<boolean> {
  const rows = await tx`
    with record as (
      insert into metadata_record (id, organization_id, source_id, recording_id, external_id)
      values (${id}, ${organizationId}, ${sourceId}, ${recordingId}, ${externalId})
      on conflict (source_id, external_id) do nothing
      returning organization_id, id
    ), written as (
      insert into metadata_value (organization_id, record_id, field_id, value)
      select record.organization_id, record.id, given.field_id, given.value
      from record
      cross join (${valueRows(tx, values)}) as given
    )
    select id
    from record`
  return rows.length === 1
}

/** The recording whose record in the canonical source has the external id. */
export async function findRecordingId(
  sql: Query,
  organizationId: string,
  externalId: string,
): Promise<string | undefined> {
  const [row] = await sql<{ recordingId: string }[]>`
    select r.recording_id as "recordingId"
    from metadata_source s
    join metadata_record r
      on r.organization_id = s.organization_id
      and r.source_id = s.id
    where s.organization_id = ${organizationId}
      and s.is_canonical_recording_source
      and r.external_id = ${externalId}`
  return row?.recordingId
}

/** Locks the recording's record of the source. Inserts one without external id if there is none. @returns its id */
export async function lockRecord(tx: Tx, row: Omit<RecordRow, 'externalId'>): Promise<string> {
  const [record] = await tx<{ id: string }[]>`
    insert into metadata_record as r (id, organization_id, source_id, recording_id)
    values (${row.id}, ${row.organizationId}, ${row.sourceId}, ${row.recordingId})
    -- Changes nothing, but locks the row and returns it even if it existed.
    on conflict (recording_id, source_id) do update set recording_id = excluded.recording_id
    returning r.id`
  return (record as { id: string }).id
}

/** @throws a unique violation of `metadata_record_external_id` if another transaction took the external id meanwhile */
export async function setExternalId(
  tx: Tx,
  organizationId: string,
  recordId: string,
  externalId: string | null,
): Promise<void> {
  await tx`
    update metadata_record
    set external_id = ${externalId}
    where organization_id = ${organizationId}
      and id = ${recordId}`
}

/** Replaces all values of the record. */
export async function replaceValues(
  tx: Tx,
  organizationId: string,
  recordId: string,
  values: readonly ValueInput[],
): Promise<void> {
  await tx`
    delete from metadata_value
    where organization_id = ${organizationId}
      and record_id = ${recordId}
      and field_id <> all(${values.map(({ fieldId }) => fieldId)}::uuid[])`
  await tx`
    insert into metadata_value (organization_id, record_id, field_id, value)
    select ${organizationId}, ${recordId}, given.field_id, given.value
    from (${valueRows(tx, values)}) as given
    on conflict (record_id, field_id) do update set
      value = excluded.value,
      set_at = case when metadata_value.value = excluded.value then metadata_value.set_at else now() end`
}

export type LinkedRecord = MetadataRecord & { readonly recordingId: string }

/** All metadata records of the recordings, the canonical one first. Values come in the order of their fields. */
export function listRecords(sql: Query, organizationId: string, recordingIds: readonly string[]) {
  return sql<LinkedRecord[]>`
    select
      r.recording_id as "recordingId", r.id, s.id as "sourceId", s.external_entity_name as "externalEntityName",
      s.type, s.is_canonical_recording_source as "isCanonicalRecordingSource", r.external_id as "externalId",
      coalesce(
        (
          select json_agg(
            json_build_object('fieldId', f.id, 'name', f.name, 'type', f.type, 'value', v.value)
            order by f.created_at, f.id
          )
          from metadata_value v
          join metadata_field f
            on f.organization_id = v.organization_id
            and f.id = v.field_id
          where v.organization_id = r.organization_id
            and v.record_id = r.id
        ),
        '[]'
      ) as values
    from metadata_record r
    join metadata_source s
      on s.organization_id = r.organization_id
      and s.id = r.source_id
    where r.organization_id = ${organizationId}
      and r.recording_id = any(${recordingIds as string[]}::uuid[])
    order by r.recording_id, s.is_canonical_recording_source desc, s.created_at, s.id`
}
