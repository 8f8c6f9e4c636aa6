/** The SQL that reads the texts of passages and marks words in them. */

import type { Channel } from '../../kernel/channel.ts'
import type { Query } from '../../platform/db/pool.ts'
import { HEADLINE_OPTIONS } from './highlight.rules.ts'

export interface PassageRow {
  readonly id: number
  readonly channel: Channel
  /** Of the session, the feedback record or the recording. */
  readonly subjectId: string
  /** Of a message. */
  readonly messageId: string | null
  /** Name of the field of a feedback record. */
  readonly field: string | null
  readonly feedbackSourceId: number | null
  /** Of the application, the feedback source or the recording. */
  readonly name: string | null
  readonly configuration: string
  readonly occurredAt: Date
  readonly startSec: number | null
  /** Content of a message, a text field, or utterances; null if it was deleted meanwhile. */
  readonly content: unknown
  /** Who said it, if that is known by an id. */
  readonly personUuid: string | null
  /** Of the conversation. */
  readonly participants: readonly Participant[] | null
  readonly participantExternalId: string | null
}

export interface Participant {
  readonly externalId?: string
  readonly displayName?: string
  readonly username?: string
  readonly email?: string
}

/** Texts and titles of passages. */
export function readPassages(tx: Query, organizationId: string, ids: readonly number[]) {
  return tx<PassageRow[]>`
    select
      p.id,
      case when p.session_id is not null then 'conversation' when p.recording_id is not null then 'recording' else 'feedback' end as channel,
      coalesce(p.session_id::text, p.recording_id::text, p.feedback_record_id::text) as "subjectId",
      p.external_event_id as "messageId", f.fields -> p.place ->> 'name' as field,
      f.feedback_source_id as "feedbackSourceId", coalesce(a.name, source.name, r.display_name) as name,
      p.configuration, p.occurred_at as "occurredAt", p.start_sec as "startSec",
      coalesce(e.body -> 'content', f.fields -> p.place -> 'value', to_jsonb(speech.text)) as content,
      who.public_id as "personUuid", s.participants, e.body ->> 'participantExternalId' as "participantExternalId"
    from search_passage p
    left join agent_session s on s.id = p.session_id and s.organization_id = p.organization_id
    left join agent_application a on a.id = s.application_id and a.organization_id = p.organization_id
    left join agent_event e
      on e.session_id = p.session_id and e.external_event_id = p.external_event_id and e.organization_id = p.organization_id
    left join feedback_record f on f.id = p.feedback_record_id and f.organization_id = p.organization_id
    left join feedback_source source on source.id = f.feedback_source_id and source.organization_id = p.organization_id
    left join recording r on r.id = p.recording_id and r.organization_id = p.organization_id
    left join lateral (
      select string_agg(u.text, E'\n' order by u.ordinal) as text, (array_agg(u.speaker order by u.ordinal))[1] as speaker
      from transcript_utterance u
      where u.organization_id = p.organization_id
        and u.recording_id = p.recording_id
        and u.ordinal between p.place and p.last_place
    ) speech on p.recording_id is not null
    left join recording_participant rp
      on rp.recording_id = p.recording_id and rp.speaker = speech.speaker and rp.organization_id = p.organization_id
    left join lateral (
      select min(own.person_id) as person_id
      from (
        select sp.person_id
        from agent_session_person sp
        where sp.organization_id = p.organization_id
          and sp.session_id = p.session_id
          and p.is_customer
          and (sp.participant_external_id = e.body ->> 'participantExternalId'
            or (e.body ->> 'participantExternalId' is null and sp.sole))
        -- Keeps PostgreSQL from reading everybody in the order of people to find the first of one session.
        offset 0
      ) own
    ) sp on true
    left join person who
      on who.organization_id = p.organization_id and who.id = coalesce(f.person_id, rp.person_id, sp.person_id)
    where p.organization_id = ${organizationId}
      and p.id = any(${ids as number[]}::bigint[])`
}

export interface HeadlineRow {
  readonly n: number
  readonly headline: string
}

/** The texts with markers around what a query without marks finds. */
export function headlines(
  tx: Query,
  texts: readonly { readonly configuration: string; readonly text: string }[],
  query: string,
) {
  return tx<HeadlineRow[]>`
    select t.n::int, ts_headline(t.configuration::regconfig, t.text, ${query}::text::tsquery, ${HEADLINE_OPTIONS}) as headline
    from unnest(
      ${texts.map(({ configuration }) => configuration)}::text[],
      ${texts.map(({ text }) => text)}::text[]
    ) with ordinality as t (configuration, text, n)`
}
