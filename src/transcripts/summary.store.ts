/** The SQL of automatic summaries. */
import type { Tx } from '../platform/db/pool.ts'

export interface Summarized {
  readonly organizationId: string
  readonly summarySource: 'api' | 'automatic' | null
}

/**
 * Reads the recording and prevents its deletion until the transaction ends. Takes the id alone, because the actor's
 * message has nothing else. @returns null if it was deleted
 */
export async function findSummarized(tx: Tx, recordingId: string): Promise<Summarized | null> {
  const [row] = await tx<Summarized[]>`
    select organization_id as "organizationId", summary_source as "summarySource"
    from recording
    where id = ${recordingId}
    for key share`
  return row ?? null
}

/** null removes an earlier automatic summary, which was created from another transcript. */
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
