/**
 * The SQL of stored utterances.
 *
 * The rule: a transcript is written as a whole, in the transaction that holds its recording's row, by one statement.
 *
 * Why not COPY: what the server refuses while a COPY is under way never reaches the caller of `postgres` 3.4 (its
 * stream neither fails nor finishes), and the request would wait for ever. One INSERT over arrays takes about as
 * long, is pipelined with the statements around it, and fails like any other. See `bench/recordings.ts`.
 */
import type { Query, Tx } from '../platform/db/pool.ts'
import type { Utterance } from './model.ts'

/** Stores the utterances in their order, numbered from 0. */
export async function writeUtterances(
  tx: Tx,
  organizationId: string,
  recordingId: string,
  utterances: readonly Utterance[],
): Promise<void> {
  if (utterances.length === 0) return
  await tx`
    insert into transcript_utterance (organization_id, recording_id, ordinal, start_sec, end_sec, speaker, text)
    select ${organizationId}::uuid, ${recordingId}::uuid, u.position - 1, u.start_sec, u.end_sec, u.speaker, u.text
    from unnest(
      ${utterances.map(({ startSec }) => startSec)}::double precision[],
      ${utterances.map(({ endSec }) => endSec)}::double precision[],
      ${utterances.map(({ speaker }) => speaker)}::bigint[],
      ${utterances.map(({ text }) => text)}::text[]
    ) with ordinality as u (start_sec, end_sec, speaker, text, position)`
}

/** In stored order; none where the recording has no transcript. */
export function readUtterances(
  query: Query,
  organizationId: string,
  recordingId: string,
): Promise<readonly Utterance[]> {
  return query<Utterance[]>`
    select start_sec as "startSec", end_sec as "endSec", speaker, text
    from transcript_utterance
    where organization_id = ${organizationId}
      and recording_id = ${recordingId}
    order by ordinal`
}

/** Deletes the transcript with what search knows of it. */
export async function deleteTranscript(tx: Tx, organizationId: string, recordingId: string): Promise<void> {
  await Promise.all([
    tx`
      delete from transcript_utterance
      where organization_id = ${organizationId}
        and recording_id = ${recordingId}`,
    tx`
      delete from transcript_search
      where organization_id = ${organizationId}
        and recording_id = ${recordingId}`,
  ])
}
