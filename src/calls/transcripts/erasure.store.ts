/** The SQL of erasing a person from transcripts. */
import type { Tx } from '../../platform/db/pool.ts'

export interface Spoken {
  readonly ordinal: number
  readonly text: string
}

/** Utterances after `after`, in stored order. */
export function readSpoken(
  tx: Tx,
  organizationId: string,
  recordingId: string,
  after: number,
  limit: number,
) {
  return tx<Spoken[]>`
    select ordinal, text
    from transcript_utterance
    where organization_id = ${organizationId} and recording_id = ${recordingId} and ordinal > ${after}
    order by ordinal
    limit ${limit}`
}

export async function writeSpoken(
  tx: Tx,
  organizationId: string,
  recordingId: string,
  rows: readonly Spoken[],
): Promise<void> {
  if (rows.length === 0) return
  await tx`
    update transcript_utterance u
    set text = c.text
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as c (ordinal int, text text)
    where u.organization_id = ${organizationId} and u.recording_id = ${recordingId} and u.ordinal = c.ordinal`
}
