/** The SQL of erasing a person from the names of uploaded files. */
import type { Tx } from '../platform/db/pool.ts'

export interface FileName {
  readonly id: string
  readonly fileName: string
}

export function readFileNames(tx: Tx, organizationId: string, recordingIds: readonly string[]) {
  return tx<FileName[]>`
    select id, file_name as "fileName"
    from upload
    where organization_id = ${organizationId} and recording_id = any(${recordingIds as string[]}::uuid[])
    order by id
    for no key update`
}

export async function writeFileNames(
  tx: Tx,
  organizationId: string,
  rows: readonly FileName[],
): Promise<void> {
  if (rows.length === 0) return
  await tx`
    update upload u
    set file_name = c."fileName"
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as c (id uuid, "fileName" text)
    where u.organization_id = ${organizationId} and u.id = c.id`
}
