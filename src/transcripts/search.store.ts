/**
 * Full-text search over transcripts and the names of recordings.
 *
 * The rule: the configuration is `simple`: words as they are, in lower case. Recordings are in many languages and do not say
 * which; stemming and stop words of one would lose words of all others. Other forms of a word are found by what they begin with.
 */
import type { PendingQuery, Row } from 'postgres'
import type { Query, Tx } from '../platform/db/pool.ts'
import { parseSearch, type Term } from './search.rules.ts'

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

/** What a search text finds: a set, or everything but a set. */
export interface Found {
  /** A query of `recording_id`; null where every recording is meant. */
  readonly among: Fragment | null
  /** A further condition on the recording `r`, beginning with `and`. */
  readonly except: Fragment
}

type Fragment = PendingQuery<Row[]>

/** The recordings in which every term occurs, in the transcript or in the name: for the list's `q`. */
export function recordingsFound(query: Query, organizationId: string, text: string): Found {
  const search = parseSearch(text)
  if (search === null) return { among: query`select null::uuid as recording_id where false`, except: query`` }
  const sets = search.all.map((term) => query`(${recordingsWith(query, organizationId, term)})`)
  const excluded = search.none.map(
    (term) => query`and r.id not in (${recordingsWith(query, organizationId, term)})`,
  )
  return {
    among: sets.length === 0 ? null : sets.reduce((both, set) => query`${both} intersect ${set}`),
    except: excluded.reduce((every, condition) => query`${every} ${condition}`, query``),
  }
}

/**
 * In both indexes a word stands behind a mark of its organization: what others say costs nothing. The index has no places, so a phrase
 * is looked for by its words there, and then in what they found.
 */
const recordingsWith = (query: Query, organizationId: string, term: Term) => query`
  select s.recording_id
  from transcript_search s
  where ${marked(query, query`strip(s.document)`, query`s.organization_id`)}::tsvector
      @@ ${wantedMarked(query, organizationId, term)}
    and s.document @@ ${wanted(query, term)}
    and (s.organization_id = ${organizationId}) is true
  union
  select n.id
  from recording n
  where ${marked(query, query`strip(to_tsvector('simple', n.display_name))`, query`n.organization_id`)}::tsvector
      @@ ${wantedMarked(query, organizationId, term)}
    and n.display_name is not null
    and to_tsvector('simple', n.display_name) @@ ${wanted(query, term)}
    and (n.organization_id = ${organizationId}) is true`

/**
 * The text of a tsvector or tsquery with a mark of the organization before each word, which is in quotation marks there; quotation
 * marks in a word are doubled. It is the expression of the indexes `transcript_search_words` and `recording_name_words`.
 */
const marked = (query: Query, words: Fragment, organizationId: Fragment) => query`
  regexp_replace(
    ${words}::text,
    '''((?:[^'']|'''')*)''',
    '''' || right(${organizationId}::text, 12) || '\\1''',
    'g'
  )`

/** Phrases become words that all occur. */
const wantedMarked = (query: Query, organizationId: string, term: Term) => {
  const words = query`regexp_replace((${wanted(query, term)})::text, '<(-|[0-9]+)>', '&', 'g')`
  return query`${marked(query, words, query`${organizationId}::uuid`)}::tsquery`
}

function wanted(query: Query, { exact, beginnings }: Term): Fragment {
  const words = query`websearch_to_tsquery('simple', ${exact})`
  const begun = query`to_tsquery('simple', ${beginnings.map((word) => `'${word}':*`).join(' | ')})`
  if (beginnings.length === 0) return words
  return exact === '' ? begun : query`(${words} || ${begun})`
}
