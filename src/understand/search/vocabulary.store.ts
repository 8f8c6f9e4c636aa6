/** The SQL that reads the words of an organization, to correct words that were mistyped. */
import type { Query } from '../../platform/db/pool.ts'
import { MAX_VOCABULARY } from './similar.rules.ts'

/** Of words with their mark, those that no passage of the organization has. */
export async function unknownWords(
  tx: Query,
  organizationId: string,
  words: readonly string[],
): Promise<readonly string[]> {
  const rows = await tx<{ word: string }[]>`
    select wanted.word
    from unnest(${words as string[]}::text[]) as wanted (word)
    where not exists (
      select 1
      from search_passage p
      where p.document @@ array_to_tsvector(array[wanted.word])::text::tsquery
        and (p.organization_id = ${organizationId}) is true
    )`
  return rows.map(({ word }) => word)
}

/** Passages whose words are compared with a word that was not found: of the newest sessions, recordings and feedback records. */
const NEWEST = { sessions: 150, messages: 10, recordings: 25, speech: 20, sources: 5, records: 100 } as const

/** The organization's words with their mark, the most frequent first. */
export async function vocabularyOf(tx: Query, organizationId: string): Promise<readonly string[]> {
  const rows = await tx<{ word: string }[]>`
    with subject as materialized (
      (
        select s.id as session_id, null::uuid as recording_id, null::bigint as record_id
        from agent_session s
        where s.organization_id = ${organizationId}
        order by s.created_at desc, s.id desc
        limit ${NEWEST.sessions}
      ) union all (
        select null, r.id, null
        from recording r
        where r.organization_id = ${organizationId}
        order by r.created_at desc, r.id desc
        limit ${NEWEST.recordings}
      ) union all (
        select null, null, f.id
        from (
          select id
          from feedback_source
          where organization_id = ${organizationId}
          order by created_at desc, id desc
          limit ${NEWEST.sources}
        ) source
        cross join lateral (
          select id
          from feedback_record
          where organization_id = ${organizationId} and feedback_source_id = source.id
          order by created_at desc, id desc
          limit ${NEWEST.records}
        ) f
      )
    ), sample as (
      select p.document
      from subject
      cross join lateral (
        select document from search_passage
        where organization_id = ${organizationId} and session_id = subject.session_id
        limit ${NEWEST.messages}
      ) p
      union all
      select p.document
      from subject
      cross join lateral (
        select document from search_passage
        where organization_id = ${organizationId} and recording_id = subject.recording_id
        limit ${NEWEST.speech}
      ) p
      union all
      select p.document
      from subject
      join search_passage p on p.feedback_record_id = subject.record_id and p.organization_id = ${organizationId}
    )
    select word
    from sample
    cross join lateral unnest(tsvector_to_array(sample.document)) as word
    group by word
    order by count(*) desc, word
    limit ${MAX_VOCABULARY}`
  return rows.map(({ word }) => word)
}
