/** The SQL of summaries: whose they are, and one made by us. */
import type { Tx } from '../platform/db/pool.ts'

export interface Summarized {
  readonly organizationId: string
  readonly summarySource: 'api' | 'automatic' | null
}

/** The recording stays until the transaction ends. Null where it was deleted. By id alone: an actor knows nothing else. */
export async function findSummarized(tx: Tx, recordingId: string): Promise<Summarized | null> {
  const [row] = await tx<Summarized[]>`
    select organization_id as "organizationId", summary_source as "summarySource"
    from recording
    where id = ${recordingId}
    for key share`
  return row ?? null
}

/** Null takes an earlier automatic summary away: it was made of another transcript. */
export async function saveSummary(
  tx: Tx,
  organizationId: string,
  recordingId: string,
  summary: string | null,
): Promise<void> {
  await tx`
    update recording
    set summary = ${summary}, summary_source = ${summary === null ? null : 'automatic'}, updated_at = now()
    where organization_id = ${organizationId}
      and id = ${recordingId}
      and summary_source is distinct from 'api'
      and summary is distinct from ${summary}`
}
