/** Corrects words that were mistyped. */
import type { Tx } from '../platform/db/pool.ts'
import { markOf, type ParsedQuery, withSimilar, wordsIn } from './query.rules.ts'
import * as store from './search.store.ts'
import { mayBeMistyped, similarWords } from './similar.rules.ts'

/** A query of one configuration, without marks. */
export type Query = Pick<ParsedQuery, 'configuration' | 'query'>

/** The queries with similar words of the organization in place of unknown ones. */
export async function corrected(
  tx: Tx,
  organizationId: string,
  queries: readonly Query[],
): Promise<readonly Query[]> {
  const mark = markOf(organizationId)
  const words = [...new Set(queries.flatMap(({ query }) => wordsIn(query)))].filter(mayBeMistyped)
  const withMark = words.map((word) => `${mark}${word}`)
  const unknown = words.length === 0 ? [] : await store.unknownWords(tx, organizationId, withMark)
  if (unknown.length === 0) return queries
  const unmarked = (all: readonly string[]) => all.map((word) => word.slice(mark.length))
  const similar = similarWords(unmarked(unknown), unmarked(await store.vocabularyOf(tx, organizationId)))
  return queries.map(({ configuration, query }) => ({ configuration, query: withSimilar(query, similar) }))
}
