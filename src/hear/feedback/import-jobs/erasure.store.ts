/** The SQL of erasing a person from what imports keep. */
import type { Query, Tx } from '../../../platform/db/pool.ts'

/**
 * Deletes refused rows and first rows that match one of the patterns (regular expressions without regard to case), of imports that were
 * created until `until`. @returns how many
 */
export async function eraseRows(
  tx: Tx,
  organizationId: string,
  patterns: readonly string[],
  until: Date,
): Promise<number> {
  const refused = await tx`
    delete from feedback_import_refusal r
    using feedback_import i
    where r.organization_id = ${organizationId}
      and i.organization_id = ${organizationId}
      and i.upload_id = r.upload_id
      and i.created_at <= ${until}
      and r.cells::text ~* any(${[...patterns]}::text[])`
  const first = await tx`
    update feedback_import
    set sample = '[]'
    where organization_id = ${organizationId}
      and created_at <= ${until}
      and sample::text ~* any(${[...patterns]}::text[])`
  return refused.count + first.count
}

/** Whether an import that was created until `until` has begun and not ended. */
export async function isImportRunning(query: Query, organizationId: string, until: Date): Promise<boolean> {
  const rows = await query`
    select 1
    from feedback_import
    where organization_id = ${organizationId}
      and created_at <= ${until}
      and started_at is not null
      and ended_at is null
    limit 1`
  return rows.length > 0
}
