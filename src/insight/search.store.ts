/**
 * SQL that finds what customers said. Recordings have an index of words; feedback and conversations have none, so a bounded number of
 * the newest is read.
 */
import type { PendingQuery, Row } from 'postgres'
import type { Query } from '../platform/db/pool.ts'
import type { Period } from './model.ts'

export type Fragment = PendingQuery<Row[]>

/** Feedback records that one search reads, over at most 100 sources. */
export const SEARCHED_RECORDS = 2_000
/** Conversations that one search reads, and messages of each. */
export const SEARCHED_SESSIONS = 100
export const SEARCHED_MESSAGES = 40
const SEARCHED_SOURCES = 100
/** Larger values, in bytes as stored, are passed over. */
const MAX_STORED_BYTES = 20_000

export const within = (sql: Query, column: string, { since, until }: Period) => sql`
  ${since === undefined ? sql`` : sql`and ${sql(column)} >= ${since}::text::timestamptz`}
  ${until === undefined ? sql`` : sql`and ${sql(column)} < ${until}::text::timestamptz`}`

export interface UtteranceRow {
  readonly recordingId: string
  readonly startSec: number
  readonly text: string
}

/** The first utterance of each of these recordings, which the caller may see, that contains one of the words. */
export function firstUtterances(
  sql: Query,
  organizationId: string,
  recordingIds: readonly string[],
  patterns: readonly string[],
) {
  return sql<UtteranceRow[]>`
    select u.recording_id as "recordingId", u.start_sec as "startSec", u.text
    from unnest(${recordingIds as string[]}::uuid[]) as found (id)
    cross join lateral (
      select recording_id, start_sec, text
      from transcript_utterance
      where organization_id = ${organizationId}
        and recording_id = found.id
        and lower(text) like any(${patterns as string[]})
      order by ordinal
      limit 1
    ) as u`
}

export interface PassageRow {
  readonly id: string
  readonly sourceId: number | null
  readonly title: string
  readonly text: string
  readonly occurredAt: Date
}

/** Newest first. All words occur in the content of the record. */
export function feedbackWith(
  sql: Query,
  organizationId: string,
  patterns: readonly string[],
  period: Period,
  limit: number,
) {
  return sql<PassageRow[]>`
    with source as (
      select id, name
      from feedback_source
      where organization_id = ${organizationId}
      order by created_at desc, id desc
      limit ${SEARCHED_SOURCES}
    )
    select record.id::text as id, source.id as "sourceId", source.name as title, said.text, record.display_ts as "occurredAt"
    from source
    cross join lateral (
      select r.id, r.fields, r.display_ts
      from feedback_record r
      where r.organization_id = ${organizationId}
        and r.feedback_source_id = source.id
        ${within(sql, 'r.display_ts', period)}
      order by r.display_ts desc, r.id desc
      limit (select ${SEARCHED_RECORDS}::int / greatest(count(*), 1) from source)
    ) as record
    cross join lateral (
      select coalesce(string_agg(field ->> 'value', E'\n'), '') as text
      from jsonb_array_elements(record.fields) as field
      where field ->> 'category' = 'content'
    ) as said
    where pg_column_size(record.fields) < ${MAX_STORED_BYTES}
      and lower(said.text) like all(${patterns as string[]})
    order by record.display_ts desc
    limit ${limit}`
}

/** Newest first. `applications`: ids of those whose conversations the caller may see. All words occur in one message of a user. */
export function messagesWith(
  sql: Query,
  organizationId: string,
  applications: Fragment,
  patterns: readonly string[],
  { period, limit }: { readonly period: Period; readonly limit: number },
) {
  return sql<PassageRow[]>`
    with newest as (
      select session.id, session.application_id
      from (${applications}) as application
      cross join lateral (
        select s.id, s.application_id, s.created_at
        from agent_session s
        where s.organization_id = ${organizationId}
          and s.application_id = application.id
          ${within(sql, 's.created_at', { until: period.until })}
        order by s.created_at desc, s.id desc
        limit ${SEARCHED_SESSIONS}
      ) as session
      order by session.created_at desc
      limit ${SEARCHED_SESSIONS}
    )
    select
      newest.id, null::bigint as "sourceId", a.agent_key as title, coalesce(message.body ->> 'content', '') as text,
      message.occurred_at as "occurredAt"
    from newest
    join agent_application a on a.id = newest.application_id
    cross join lateral (
      select e.body, e.occurred_at
      from agent_event e
      where e.organization_id = ${organizationId}
        and e.session_id = newest.id
        and e.type = 'user_message'
      order by e.sequence desc
      limit ${SEARCHED_MESSAGES}
    ) as message
    where pg_column_size(message.body) < ${MAX_STORED_BYTES}
      ${within(sql, 'message.occurred_at', period)}
      and lower(message.body ->> 'content') like all(${patterns as string[]})
    order by message.occurred_at desc
    limit ${limit}`
}
