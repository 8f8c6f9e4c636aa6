/** The SQL that reads what is analysed. The version of a subject is read before its words, so that it is never the newer one. */
import type { Field } from '../feedback/model.ts'
import type { Query } from '../platform/db/pool.ts'
import type { Spoken } from './source.rules.ts'

export interface SessionRow {
  readonly id: string
  readonly organizationId: string
  readonly applicationId: string
  readonly occurredAt: string
  readonly productArea: string | null
  readonly agentVersion: string | null
  readonly sourceVersion: number
  /** False where the application does not have content captured. */
  readonly captureContent: boolean
}

export function readSessions(tx: Query, ids: readonly string[]) {
  return tx<SessionRow[]>`
    select
      s.id, s.organization_id as "organizationId", s.application_id as "applicationId", s.created_at::text as "occurredAt",
      s.context ->> 'productArea' as "productArea", s.agent_version as "agentVersion",
      coalesce(i.source_version, 0) as "sourceVersion", (v.settings ->> 'captureContent')::boolean as "captureContent"
    from agent_session s
    join agent_application a on a.organization_id = s.organization_id and a.id = s.application_id
    join agent_application_settings v
      on v.organization_id = a.organization_id and v.application_id = a.id and v.version = a.settings_version
    left join insight_subject i on i.organization_id = s.organization_id and i.session_id = s.id
    where s.id = any(${ids as string[]}::uuid[])`
}

export interface MessageRow {
  readonly sessionId: string
  readonly externalEventId: string
  readonly sequence: number
  readonly revision: number
  readonly own: boolean
  readonly participantExternalId: string | null
  readonly productArea: string | null
  readonly occurredAt: string
  readonly content: unknown
}

/** Longer texts are read to this length, and longer structures not at all. */
const READ_CHARACTERS = 4_000
const READ_BYTES = 65_536

/** The first message of the customer and the newest `newest` messages of each session, in order of sequence. The first may come twice. */
export function readMessages(tx: Query, ids: readonly string[], newest: number) {
  return tx<MessageRow[]>`
    select
      s.id as "sessionId", e.external_event_id as "externalEventId", e.sequence, e.revision,
      e.type = 'assistant_message' as own, e.body ->> 'participantExternalId' as "participantExternalId",
      e.body -> 'context' ->> 'productArea' as "productArea", e.occurred_at::text as "occurredAt",
      case
        when jsonb_typeof(e.body -> 'content') = 'string' then to_jsonb(left(e.body ->> 'content', ${READ_CHARACTERS}::int))
        when pg_column_size(e.body) < ${READ_BYTES}::int then e.body -> 'content'
      end as content
    from agent_session s
    cross join lateral (
      (
        select f.*
        from agent_event f
        where f.organization_id = s.organization_id
          and f.session_id = s.id
          and f.sequence <= s.watermark
          and f.type = 'user_message'
          and f.final
        order by f.sequence
        limit 1
      ) union all (
        select n.*
        from agent_event n
        where n.organization_id = s.organization_id
          and n.session_id = s.id
          and n.sequence <= s.watermark
          and n.final
          and (n.type = 'user_message' or (n.type = 'assistant_message' and (n.body ->> 'visible')::boolean))
        order by n.sequence desc
        limit ${newest}
      )
    ) e
    where s.id = any(${ids as string[]}::uuid[])
    order by s.id, e.sequence`
}

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
