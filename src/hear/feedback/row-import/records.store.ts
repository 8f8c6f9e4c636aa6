/** SQL of an import: many records in one statement. */
import type { Tx } from '../../../platform/db/pool.ts'
import type { Field } from '../model.ts'

export interface ImportedRow {
  readonly personId: number | null
  readonly externalId: string | null
  readonly displayTs: string | null
  readonly fields: readonly Field[]
}

/** Inserts in row order. A known external id keeps its record. @returns the ids of the new records */
export async function insertRecords(
  tx: Tx,
  organizationId: string,
  sourceId: number,
  rows: readonly ImportedRow[],
): Promise<readonly number[]> {
  const inserted = await tx<{ id: number }[]>`
    insert into feedback_record (organization_id, feedback_source_id, person_id, external_id, display_ts, fields)
    select
      ${organizationId}, ${sourceId}, r."personId", r."externalId", coalesce(r."displayTs", now()), r.fields
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as r (
      "personId" bigint, "externalId" text, "displayTs" timestamptz, fields jsonb
    )
    on conflict (feedback_source_id, external_id) do nothing
    returning id`
  return inserted.map(({ id }) => id)
}
