/**
 * SQL of what a person said in the entries of one page of the timeline: a bounded number of passages of each. Without `offset 0` the
 * planner would look for the people of a session or a recording among all rows of the person.
 */
import type { Query } from '../../../platform/db/pool.ts'

/** Passages that an entry shows. */
const PASSAGES = 5
/** Messages of a session, and utterances of a recording, among which the passages are looked for. */
const SEARCHED_MESSAGES = 100
const SEARCHED_UTTERANCES = 500
/** Larger messages, in bytes as stored, are passed over. */
const MAX_STORED_BYTES = 20_000
/** Signals that an entry shows, and those of a session among which they are looked for. */
const SIGNALS = 20
const SEARCHED_SIGNALS = 200

export interface FeedbackText {
  readonly id: string
  readonly text: string | null
}

export function feedbackTexts(sql: Query, organizationId: string, ids: readonly string[]) {
  return sql<FeedbackText[]>`
    select r.id::text as id,
      (
        select string_agg(field ->> 'value', E'\n')
        from jsonb_array_elements(r.fields) as field
        where field ->> 'category' = 'content'
      ) as text
    from feedback_record r
    where r.organization_id = ${organizationId}
      and r.id = any(${ids as string[]}::text[]::bigint[])`
}

export interface MessageRow {
  readonly sessionId: string
  readonly externalEventId: string
  readonly occurredAt: Date
  readonly content: unknown
}

/** Messages of the person's participants. A message of a user that names no participant is that of the only customer. */
export function messagesOf(
  sql: Query,
  organizationId: string,
  sessionIds: readonly string[],
  personIds: readonly number[],
) {
  return sql<MessageRow[]>`
    select found.id as "sessionId", e.external_event_id as "externalEventId", e.occurred_at as "occurredAt",
      e.body -> 'content' as content
    from unnest(${sessionIds as string[]}::text[]::uuid[]) as found (id)
    cross join lateral (
      select e.external_event_id, e.occurred_at, e.sequence, e.body
      from (
        select e.external_event_id, e.occurred_at, e.sequence, e.body, e.type
        from agent_event e
        where e.organization_id = ${organizationId}
          and e.session_id = found.id
        order by e.sequence
        limit ${SEARCHED_MESSAGES}
      ) e
      where e.type <> 'feedback'
        and pg_column_size(e.body) < ${MAX_STORED_BYTES}
        and e.body ? 'content'
        and exists (
          select
          from (select * from agent_session_person where session_id = found.id offset 0) l
          where l.organization_id = ${organizationId}
            and l.person_id = any(${personIds as number[]}::bigint[])
            and (
              l.participant_external_id = e.body ->> 'participantExternalId'
              or (l.sole and e.type = 'user_message' and e.body ->> 'participantExternalId' is null)
            )
        )
      order by e.sequence
      limit ${PASSAGES}
    ) e
    order by e.sequence`
}

export interface UtteranceRow {
  readonly recordingId: string
  readonly startSec: number
  readonly text: string
}

/** Utterances of the speakers who are the person. */
export function utterancesOf(
  sql: Query,
  organizationId: string,
  recordingIds: readonly string[],
  personIds: readonly number[],
) {
  return sql<UtteranceRow[]>`
    select found.id as "recordingId", u.start_sec as "startSec", u.text
    from unnest(${recordingIds as string[]}::text[]::uuid[]) as found (id)
    cross join lateral (
      select u.start_sec, u.text, u.ordinal
      from (
        select u.start_sec, u.text, u.ordinal, u.speaker
        from transcript_utterance u
        where u.organization_id = ${organizationId}
          and u.recording_id = found.id
        order by u.ordinal
        limit ${SEARCHED_UTTERANCES}
      ) u
      where exists (
        select
        from (select * from recording_participant where recording_id = found.id offset 0) p
        where p.organization_id = ${organizationId}
          and p.speaker = u.speaker
          and p.person_id = any(${personIds as number[]}::bigint[])
      )
      order by u.ordinal
      limit ${PASSAGES}
    ) u
    order by u.ordinal`
}

export interface TimelineSignal {
  /** The session, the feedback record or the recording. */
  readonly subject: string
  readonly id: string
  readonly source: string
  readonly kind: string
  readonly rating: string | null
  readonly comment: string | null
  readonly occurredAt: Date
}

/** Signals in these sessions of what the person said. */
export function signalsOf(
  sql: Query,
  organizationId: string,
  sessionIds: readonly string[],
  personIds: readonly number[],
) {
  return sql<TimelineSignal[]>`
    select found.id as subject, g.id, g.source, g.kind, g.rating, g.comment, g.occurred_at as "occurredAt"
    from unnest(${sessionIds as string[]}::text[]::uuid[]) as found (id)
    cross join lateral (
      select g.*
      from (
        select g.*
        from agent_signal g
        where g.organization_id = ${organizationId}
          and g.session_id = found.id
        order by g.sequence, g.id
        limit ${SEARCHED_SIGNALS}
      ) g
      where g.shown
        and g.person_id = any(${personIds as number[]}::bigint[])
      order by g.sequence, g.id
      limit ${SIGNALS}
    ) g
    order by g.sequence, g.id`
}

/** Signals of feedback records, all of which the person gave. */
export function signalsOfFeedback(sql: Query, organizationId: string, recordIds: readonly string[]) {
  return sql<TimelineSignal[]>`
    select found.id::text as subject, g.id, g.source, g.kind, g.rating, g.comment, g.occurred_at as "occurredAt"
    from unnest(${recordIds as string[]}::text[]::bigint[]) as found (id)
    cross join lateral (
      select g.*
      from (select * from agent_signal where feedback_record_id = found.id limit ${SEARCHED_SIGNALS}) g
      where g.organization_id = ${organizationId}
        and g.shown
      limit ${SIGNALS}
    ) g
    order by g.kind, g.id`
}

/** Signals in recordings of what the person said. */
export function signalsOfRecordings(
  sql: Query,
  organizationId: string,
  recordingIds: readonly string[],
  personIds: readonly number[],
) {
  return sql<TimelineSignal[]>`
    select found.id::text as subject, g.id, g.source, g.kind, g.rating, g.comment, g.occurred_at as "occurredAt"
    from unnest(${recordingIds as string[]}::text[]::uuid[]) as found (id)
    cross join lateral (
      select g.*
      from (select * from agent_signal where recording_id = found.id limit ${SEARCHED_SIGNALS}) g
      where g.organization_id = ${organizationId}
        and g.shown
        and g.person_id = any(${personIds as number[]}::bigint[])
      limit ${SIGNALS}
    ) g
    order by g.start_sec, g.id`
}
