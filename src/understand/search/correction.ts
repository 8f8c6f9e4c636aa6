/** Corrects words that were mistyped. */
import type { Tx } from '../../platform/db/pool.ts'
import { markOf, type ParsedQuery, withSimilar, wordsIn } from './query.rules.ts'
import { mayBeMistyped, similarWords } from './similar.rules.ts'
import * as store from './vocabulary.store.ts'

/** The searches with similar words of the organization in place of unknown ones. Null: there are none. */
export async function corrected(
  tx: Tx,
  organizationId: string,
  queries: readonly ParsedQuery[],
): Promise<readonly ParsedQuery[] | null> {
  const mark = markOf(organizationId)
  const units = queries.flatMap(({ groups }) => groups.flat(2))
  const words = [...new Set(units.flatMap(wordsIn))].filter(mayBeMistyped)
  const withMark = words.map((word) => `${mark}${word}`)
  const unknown = words.length === 0 ? [] : await store.unknownWords(tx, organizationId, withMark)
  if (unknown.length === 0) return null
  const unmarked = (all: readonly string[]) => all.map((word) => word.slice(mark.length))
  const similar = similarWords(unmarked(unknown), unmarked(await store.vocabularyOf(tx, organizationId)))
  const changed = queries.map((query) => withSimilar(query, similar))
  return JSON.stringify(changed) === JSON.stringify(queries) ? null : changed
}
