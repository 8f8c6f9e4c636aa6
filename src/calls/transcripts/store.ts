/**
 * The SQL of utterances.
 *
 * One statement writes a whole transcript, in the transaction that locks its recording.
 *
 * Why not COPY: `postgres` 3.4 never reports an error that the server raises during a COPY (its stream neither fails
 * nor finishes), and the request would wait forever. One INSERT over arrays takes about as long, is pipelined with its
 * neighbours, and fails normally. See `bench/transcripts.ts`.
 */
import type { Query, Tx } from '../../platform/db/pool.ts'
import type { TranscriptColumns } from './columns.rules.ts'
import type { Utterance } from './model.ts'

/** Stores the utterances in order, numbered from 0. */
export async function writeUtterances(
  tx: Tx,
  organizationId: string,
  recordingId: string,
  { startSec, endSec, speaker, text }: TranscriptColumns,
): Promise<void> {
  await tx`
    insert into transcript_utterance (organization_id, recording_id, ordinal, start_sec, end_sec, speaker, text)
    select ${organizationId}::uuid, ${recordingId}::uuid, u.position - 1, u.start_sec, u.end_sec, u.speaker, u.text
    from unnest(
      ${startSec}::text::double precision[],
      ${endSec}::text::double precision[],
      ${speaker}::text::bigint[],
      ${text}::text::text[]
    ) with ordinality as u (start_sec, end_sec, speaker, text, position)`
}

/** In stored order; empty if the recording has no transcript. */
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

/**
 * The utterances as JSON, in stored order: the members of an array, without its brackets. PostgreSQL writes it, because ten thousand
 * objects would keep the HTTP thread busy for tens of milliseconds.
 */
export async function readUtterancesAsJson(
  query: Query,
  organizationId: string,
  recordingId: string,
): Promise<string> {
  const [row] = await query<{ json: string | null }[]>`
    select string_agg(
      json_build_object(
        'recordingId', recording_id, 'startSec', start_sec, 'endSec', end_sec, 'speaker', speaker, 'text', text
      )::text,
      ',' order by ordinal
    ) as json
    from transcript_utterance
    where organization_id = ${organizationId}
      and recording_id = ${recordingId}`
  return row?.json ?? ''
}

/** Deletes the transcript and what searches have of it. */
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
    tx`
      delete from search_passage
      where organization_id = ${organizationId}
        and recording_id = ${recordingId}`,
  ])
}
