/**
 * Full-text search in transcripts and names of recordings.
 *
 * The text search configuration is `simple`: words unchanged, in lower case. Recordings are in many languages and do
 * not state theirs. Stemming and stop words of one language would lose words of the others. Prefixes find other forms
 * of a word.
 */
import type { PendingQuery, Row } from 'postgres'
import { mapInSlices } from '../../platform/concurrency/time-slicing.ts'
import type { Query, Tx } from '../../platform/db/pool.ts'
import { textOf, wordsOf } from '../../platform/text/words.rules.ts'
import { parseSearch } from './search.rules.ts'

/**
 * A part ends with the utterance that passes this length, so it has at most 60,000 characters. That keeps a tsvector
 * far below its limit of 1 MB, and ordinary speech below 16,383 words. Beyond that position PostgreSQL does not store
 * word positions, and phrases would not be found.
 */
const PART_CHARACTERS = 40_000

/** Rebuilds the search parts of a recording from its utterances. */
export async function indexTranscript(tx: Tx, organizationId: string, recordingId: string): Promise<void> {
  const rows = await tx<{ text: string }[]>`
    select string_agg(text, E'\n' order by ordinal) as text
    from (
      select ordinal, text,
        ((sum(length(text)) over (order by ordinal) - length(text)) / ${PART_CHARACTERS}::int)::int as part
      from transcript_utterance
      where organization_id = ${organizationId}
        and recording_id = ${recordingId}
    ) as utterance
    group by part
    order by part`
  const parts = await mapInSlices(rows, ({ text }) => textOf(wordsOf(text)))
  await tx`
    delete from transcript_search
    where organization_id = ${organizationId}
      and recording_id = ${recordingId}`
  await tx`
    insert into transcript_search (organization_id, recording_id, part, document)
    select ${organizationId}::uuid, ${recordingId}::uuid, n - 1, to_tsvector('simple', text)
    from unnest(${parts as string[]}::text[]) with ordinality as p (text, n)`
}

/** Recordings whose transcript is indexed, among these of any organization. */
export const findIndexed = (tx: Tx, recordingIds: readonly string[]) => tx<
  { organizationId: string; recordingId: string }[]
>`
  select distinct organization_id as "organizationId", recording_id as "recordingId"
  from transcript_search
  where recording_id = any(${recordingIds as string[]}::uuid[])`

/** The result of a search: a set, everything but a set, or both. */
export interface Found {
  /** A query of `recording_id`; null if it does not restrict the recordings. */
  readonly among: Fragment | null
  /** A further condition on the recording `r` that begins with `and`. */
  readonly except: Fragment
}

type Fragment = PendingQuery<Row[]>

/** Recordings in which every term occurs, in the transcript or in the name. For the `q` of the list. */
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
 * Both indexes store each word with a mark of its organization, so words of other organizations cost nothing. The index
 * has no positions. A phrase is found by its words in the index, and then checked in the rows found.
 */
const recordingsWith = (query: Query, organizationId: string, term: string) => query`
  select s.recording_id
  from transcript_search s
  where ${marked(query, query`strip(s.document)`, query`s.organization_id`)}::tsvector
      @@ ${wantedMarked(query, organizationId, term)}
    and s.document @@ ${wanted(query, term)}
    and (s.organization_id = ${organizationId}) is true
  union
  select n.id
  from recording n
  where ${marked(query, query`strip(to_tsvector('simple', coalesce(n.name_words, n.display_name)))`, query`n.organization_id`)}::tsvector
      @@ ${wantedMarked(query, organizationId, term)}
    and n.display_name is not null
    and to_tsvector('simple', coalesce(n.name_words, n.display_name)) @@ ${wanted(query, term)}
    and (n.organization_id = ${organizationId}) is true`

/**
 * The text of a tsvector or tsquery with a mark of the organization before each word, which is in quotation marks there; quotation
 * marks in a word are doubled. It is the expression of the indexes `transcript_search_words` and `recording_name_search`.
 */
const marked = (query: Query, words: Fragment, organizationId: Fragment) => query`
  regexp_replace(
    ${words}::text,
    '''((?:[^'']|'''')*)''',
    '''' || right(${organizationId}::text, 12) || '\\1''',
    'g'
  )`

/** Phrases become words that all occur. */
const wantedMarked = (query: Query, organizationId: string, term: string) => {
  const words = query`regexp_replace((${wanted(query, term)})::text, '<(-|[0-9]+)>', '&', 'g')`
  return query`${marked(query, words, query`${organizationId}::uuid`)}::tsquery`
}

const wanted = (query: Query, term: string) => query`to_tsquery('simple', ${term})`
