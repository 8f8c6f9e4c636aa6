/** The SQL of erasing a person from the names of uploaded files. */
import type { Tx } from '../../platform/db/pool.ts'

export interface FileName {
  readonly id: string
  readonly fileName: string
}

/** Names that were received until `until`. */
export function readFileNames(tx: Tx, organizationId: string, until: Date, recordingIds: readonly string[]) {
  return tx<FileName[]>`
    select id, file_name as "fileName"
    from upload
    where organization_id = ${organizationId} and recording_id = any(${recordingIds as string[]}::uuid[])
      and created_at <= ${until}
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

/** Names of files that are no media of a recording, after the id `after`. */
export function readOtherFileNames(
  tx: Tx,
  organizationId: string,
  until: Date,
  after: string,
  limit: number,
) {
  return tx<FileName[]>`
    select id, file_name as "fileName"
    from upload
    where organization_id = ${organizationId}
      and recording_id is null
      and created_at <= ${until}
      and id > ${after}
    order by id
    limit ${limit}
    for no key update`
}
