/**
 * Full-text search over transcripts and the names of recordings.
 *
 * The rule: the configuration is `simple`: words as they are, in lower case. Recordings are in many languages and do not say
 * which; stemming and stop words of one would lose words of all others.
 */
import type { Query, Tx } from '../platform/db/pool.ts'
import { parseSearch } from './search.rules.ts'

/**
 * A part ends with the utterance that passes this many characters, so it has at most 60,000. That keeps a tsvector far below its
 * limit of 1 MB, and usual speech below 16,383 words: behind that position PostgreSQL no longer tells neighbours apart, and a
 * phrase would not be found.
 */
const PART_CHARACTERS = 40_000

/** Makes the search parts of a recording out of its utterances, replacing what was there. All of it in the database. */
export async function indexTranscript(tx: Tx, organizationId: string, recordingId: string): Promise<void> {
  await Promise.all([
    tx`
      delete from transcript_search
      where organization_id = ${organizationId}
        and recording_id = ${recordingId}`,
    tx`
      insert into transcript_search (organization_id, recording_id, part, document)
      select ${organizationId}::uuid, ${recordingId}::uuid, part, to_tsvector('simple', string_agg(text, E'\n' order by ordinal))
      from (
        select ordinal, text,
          ((sum(length(text)) over (order by ordinal) - length(text)) / ${PART_CHARACTERS}::int)::int as part
        from transcript_utterance
        where organization_id = ${organizationId}
          and recording_id = ${recordingId}
      ) as utterance
      group by part`,
  ])
}

/**
 * The condition under which a recording matches a search text, for the list's `q`: every term occurs in the transcript or in the
 * name. The recording has the alias `r`.
 */
export function matchesSearch(query: Query, organizationId: string, text: string) {
  const search = parseSearch(text)
  if (search === null) return query`false`
  const conditions = [
    ...search.all.map((term) => query`r.id in (${recordingsWith(query, organizationId, term)})`),
    ...search.none.map((term) => query`r.id not in (${recordingsWith(query, organizationId, term)})`),
  ]
  return conditions.reduce((all, condition) => query`${all} and ${condition}`)
}

const recordingsWith = (query: Query, organizationId: string, term: string) => query`
  select s.recording_id
  from transcript_search s
  where s.organization_id = ${organizationId}
    and s.document @@ websearch_to_tsquery('simple', ${term})
  union all
  select n.id
  from recording n
  where n.organization_id = ${organizationId}
    and to_tsvector('simple', coalesce(n.display_name, '')) @@ websearch_to_tsquery('simple', ${term})`
