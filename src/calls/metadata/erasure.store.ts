/** SQL for erasing a person from metadata values. */
import type { Tx } from '../../platform/db/pool.ts'

export interface StoredValue {
  readonly recordId: string
  readonly fieldId: string
  readonly value: unknown
}

/** Values that can hold text and were received until `until`. */
export function readValues(tx: Tx, organizationId: string, until: Date, recordingIds: readonly string[]) {
  return tx<StoredValue[]>`
    select v.record_id as "recordId", v.field_id as "fieldId", v.value
    from metadata_record r
    join metadata_value v on v.record_id = r.id
    where r.organization_id = ${organizationId}
      and r.recording_id = any(${recordingIds as string[]}::uuid[])
      and jsonb_typeof(v.value) in ('string', 'object', 'array')
      and coalesce(v.set_at <= ${until}, true)
    for no key update of v`
}

export async function writeValues(
  tx: Tx,
  organizationId: string,
  rows: readonly StoredValue[],
): Promise<void> {
  if (rows.length === 0) return
  await tx`
    update metadata_value v
    set value = c.value
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as c ("recordId" uuid, "fieldId" uuid, value jsonb)
    where v.organization_id = ${organizationId} and v.record_id = c."recordId" and v.field_id = c."fieldId"`
}
