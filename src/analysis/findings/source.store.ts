/** The SQL that reads what is analysed. The version of a subject is read before its words, so that it is never the newer one. */

import type { Query } from '../../platform/db/pool.ts'
import type { Field, Spoken } from './source.rules.ts'

/** Longer texts are read to this length. */
const READ_CHARACTERS = 4_000

export interface RecordRow {
  readonly id: number
  readonly organizationId: string
  readonly occurredAt: string
  readonly personId: number | null
  readonly sourceVersion: number
  readonly fields: readonly Field[]
}

export function readRecords(tx: Query, ids: readonly number[]) {
  return tx<RecordRow[]>`
    select
      r.id, r.organization_id as "organizationId", r.display_ts::text as "occurredAt", r.person_id as "personId",
      coalesce(i.source_version, 0) as "sourceVersion", r.fields
    from feedback_record r
    left join insight_subject i on i.organization_id = r.organization_id and i.feedback_record_id = r.id
    where r.id = any(${ids as number[]}::bigint[])`
}

export interface RecordingRow {
  readonly id: string
  readonly organizationId: string
  readonly occurredAt: string
  readonly sourceVersion: number
}

export function readRecordings(tx: Query, ids: readonly string[]) {
  return tx<RecordingRow[]>`
    select
      r.id, r.organization_id as "organizationId", coalesce(r.started_at, r.created_at)::text as "occurredAt",
      coalesce(i.source_version, 0) as "sourceVersion"
    from recording r
    left join insight_subject i on i.organization_id = r.organization_id and i.recording_id = r.id
    where r.id = any(${ids as string[]}::uuid[])`
}

/** The utterances of recordings, in stored order. A speaker who is an internal person speaks for the company. */
export function readSpeech(tx: Query, ids: readonly string[]) {
  return tx<(Spoken & { readonly recordingId: string })[]>`
    select
      r.id as "recordingId", u.start_sec as "startSec", u.speaker, left(u.text, ${READ_CHARACTERS}::int) as text,
      coalesce(p.boundary = 'internal', false) as own, w.person_id as "personId",
      (coalesce(r.started_at, r.created_at) + make_interval(secs => u.start_sec))::text as "occurredAt"
    from recording r
    join transcript_utterance u on u.organization_id = r.organization_id and u.recording_id = r.id
    left join recording_participant w
      on w.organization_id = r.organization_id and w.recording_id = r.id and w.speaker = u.speaker
    left join person p on p.organization_id = r.organization_id and p.id = w.person_id
    where r.id = any(${ids as string[]}::uuid[])
    order by r.id, u.ordinal`
}
