/**
 * The SQL that fills the search: reads texts of sessions, feedback records and recordings, and writes their passages.
 *
 * Every write locks the row of what it indexes first. So writes about one object follow each other, and an object that was deleted
 * meanwhile gets no passage.
 */

import type { Utterance } from '../../calls/transcripts/model.ts'
import type { Field } from '../../hear/feedback/model.ts'
import type { Query, Tx } from '../../platform/db/pool.ts'

/** Messages of a session: those after one sequence up to another, and single ones. */
export interface SessionRange {
  readonly sessionId: string
  readonly after: number
  readonly through: number
  readonly late: readonly number[]
}

export interface MessageRow {
  readonly sessionId: string
  readonly externalEventId: string
  readonly sequence: number
  readonly isLate: boolean
  readonly isCustomer: boolean
  readonly occurredAt: string
  /** When a person was last erased from the session, as text. */
  readonly erasedAt: string | null
  /** Null for a message that is not final, not visible or has no content. */
  readonly content: unknown
}

/** Longer texts are read to this length, and longer structures not at all. */
const READ_CHARACTERS = 20_000
const READ_BYTES = 262_144

/** Messages of the ranges, at most `limit` of each, in order of sequence; then the late ones. */
export function readMessages(tx: Query, ranges: readonly SessionRange[], limit: number) {
  const late = ranges.flatMap(({ sessionId, late: sequences }) =>
    sequences.map((sequence) => [sessionId, sequence] as const),
  )
  return tx<MessageRow[]>`
    select s.id as "sessionId", e.external_event_id as "externalEventId", e.sequence, false as "isLate", ${said(tx)}
    from unnest(
      ${ranges.map(({ sessionId }) => sessionId)}::text[]::uuid[],
      ${ranges.map(({ after }) => after)}::int8[],
      ${ranges.map(({ through }) => through)}::int8[]
    ) as r (id, after, through)
    join agent_session s on s.id = r.id
    cross join lateral (
      select *
      from agent_event n
      where n.organization_id = s.organization_id
        and n.session_id = s.id
        and n.sequence > r.after
        and n.sequence <= r.through
        and n.type in ('user_message', 'assistant_message')
      order by n.sequence
      limit ${limit}
    ) e
    union all
    select s.id, e.external_event_id, e.sequence, true, ${said(tx)}
    from unnest(${late.map(([id]) => id)}::text[]::uuid[], ${late.map(([, sequence]) => sequence)}::int8[]) as l (id, sequence)
    join agent_session s on s.id = l.id
    join agent_event e on e.organization_id = s.organization_id and e.session_id = s.id and e.sequence = l.sequence`
}

const said = (tx: Query) => tx`
  e.type = 'user_message' as "isCustomer", e.occurred_at::text as "occurredAt", s.erased_at::text as "erasedAt",
  case
    when not e.final or (e.type = 'assistant_message' and not coalesce((e.body ->> 'visible')::boolean, false)) then null
    when jsonb_typeof(e.body -> 'content') = 'string' then to_jsonb(left(e.body ->> 'content', ${READ_CHARACTERS}::int))
    when pg_column_size(e.body) < ${READ_BYTES}::int then e.body -> 'content'
  end as content`

export interface NewPassage {
  readonly text: string
  /** Null: that of other passages of the session, else `simple`. */
  readonly configuration: string | null
  readonly isCustomer: boolean
  readonly occurredAt: string
  readonly sessionId?: string
  readonly externalEventId?: string
  readonly feedbackRecordId?: number
  readonly recordingId?: string
  readonly place?: number
  readonly lastPlace?: number
  readonly startSec?: number
  /** The nearest centroid and the vector, in base64; absent: no known words. */
  readonly cell?: number
  readonly vector?: string
}

/** Locks sessions until the transaction ends, so that they are neither deleted nor indexed twice at a time. @returns those that exist */
export function lockSessions(tx: Tx, ids: readonly string[]) {
  return tx<{ id: string; organizationId: string; applicationId: string; erasedAt: string | null }[]>`
    select id, organization_id as "organizationId", application_id as "applicationId", erased_at::text as "erasedAt"
    from agent_session
    where id = any(${ids as string[]}::uuid[])
    order by id
    for no key update`
}

/** Replaces the passages of messages. Run it after `lockSessions`. */
export async function replaceMessages(
  tx: Tx,
  messages: readonly Pick<MessageRow, 'sessionId' | 'externalEventId'>[],
  passages: readonly NewPassage[],
): Promise<void> {
  if (messages.length === 0) return
  await tx`
      delete from search_passage p
      using unnest(
        ${messages.map(({ sessionId }) => sessionId)}::text[]::uuid[],
        ${messages.map(({ externalEventId }) => externalEventId)}::text[]
      ) as m (session_id, id)
      join agent_session s on s.id = m.session_id
      where p.organization_id = s.organization_id and p.session_id = m.session_id and p.external_event_id = m.id`
  await insertPassages(tx, passages)
}

export interface RecordText {
  readonly id: number
  readonly organizationId: string
  readonly fields: readonly Field[]
  readonly displayTs: string
}

/** Locks records until the transaction ends. @returns those that exist */
export function lockRecords(tx: Tx, ids: readonly number[]) {
  return tx<RecordText[]>`
    select id, organization_id as "organizationId", fields, display_ts::text as "displayTs"
    from feedback_record
    where id = any(${ids as number[]}::bigint[])
    order by id
    for no key update`
}

/** Replaces the passages of the locked records. */
export async function replaceRecords(
  tx: Tx,
  records: readonly Pick<RecordText, 'id'>[],
  passages: readonly NewPassage[],
): Promise<void> {
  await tx`
      delete from search_passage p
      using feedback_record r
      where r.id = any(${records.map(({ id }) => id)}::bigint[])
        and p.organization_id = r.organization_id
        and p.feedback_record_id = r.id`
  await insertPassages(tx, passages)
}

export interface LockedRecording {
  readonly organizationId: string
  readonly occurredAt: string
}

/** Locks the recording until the transaction ends. @returns null where it was deleted */
export async function lockRecording(tx: Tx, id: string): Promise<LockedRecording | null> {
  const [row] = await tx<LockedRecording[]>`
    select organization_id as "organizationId", coalesce(started_at, created_at)::text as "occurredAt"
    from recording
    where id = ${id}
    for no key update`
  return row ?? null
}

/** In stored order; empty if the recording has no transcript. */
export function readSpeech(tx: Query, recordingId: string) {
  return tx<Utterance[]>`
    select u.start_sec as "startSec", u.end_sec as "endSec", u.speaker, u.text
    from recording r
    join transcript_utterance u on u.organization_id = r.organization_id and u.recording_id = r.id
    where r.id = ${recordingId}
    order by u.ordinal`
}

/** Replaces the passages of a locked recording. */
export async function replaceSpeech(
  tx: Tx,
  organizationId: string,
  recordingId: string,
  passages: readonly NewPassage[],
): Promise<void> {
  await tx`
    delete from search_passage
    where organization_id = ${organizationId} and recording_id = ${recordingId}`
  await insertPassages(tx, passages)
}

/** The organization and the application of a passage are those of what it belongs to. */
async function insertPassages(tx: Tx, passages: readonly NewPassage[]): Promise<void> {
  if (passages.length === 0) return
  await tx`
    with given as (
      select *
      from json_to_recordset(${JSON.stringify(passages)}::text::json) as p (
        text text, configuration text, "isCustomer" boolean, "occurredAt" timestamptz, "sessionId" uuid,
        "externalEventId" text, "feedbackRecordId" bigint, "recordingId" uuid, place int, "lastPlace" int,
        "startSec" double precision, cell smallint, vector text
      )
    ), passage as (
      insert into search_passage (
        organization_id, application_id, session_id, external_event_id, feedback_record_id, recording_id, place, last_place,
        start_sec, is_customer, occurred_at, configuration, document
      )
      select
        o.id, s.application_id, p."sessionId", p."externalEventId", p."feedbackRecordId", p."recordingId", p.place,
        p."lastPlace", p."startSec", p."isCustomer", p."occurredAt", c.name, search_document(o.id, c.name::regconfig, p.text)
      from given p
      left join agent_session s on s.id = p."sessionId"
      left join feedback_record f on f.id = p."feedbackRecordId"
      left join recording r on r.id = p."recordingId"
      cross join lateral (select coalesce(s.organization_id, f.organization_id, r.organization_id) as id) o
      cross join lateral (
        select coalesce(
          p.configuration,
          (
            select known.configuration
            from search_passage known
            where known.organization_id = o.id and known.session_id = p."sessionId"
            limit 1
          ),
          'simple'
        ) as name
      ) c
      where o.id is not null
      returning id, organization_id, configuration, session_id, external_event_id, feedback_record_id, recording_id, place
    ), vector as (
      insert into search_vector (passage_id, organization_id, cell, vector)
      select p.id, p.organization_id, given.cell, decode(given.vector, 'base64')
      from passage p
      join given
        on concat_ws('/', given."sessionId", given."externalEventId", given."feedbackRecordId", given."recordingId", given.place)
          = concat_ws('/', p.session_id, p.external_event_id, p.feedback_record_id, p.recording_id, p.place)
      where given.vector is not null
    )
    insert into search_configuration (organization_id, configuration)
    select distinct p.organization_id, p.configuration
    from passage p
    where not exists (
      select 1
      from search_configuration known
      where known.organization_id = p.organization_id and known.configuration = p.configuration
    )
    order by 1, 2
    on conflict do nothing`
}
