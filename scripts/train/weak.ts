/**
 * Clauses out of whole items. Only the item is labelled, not the clause: no clause has a kind that the item has not; of the others the head
 * that learned from labelled clauses says which clause it is.
 */
import { KINDS } from '../../src/analyze/insight.ts'
import type { Example } from './examples.ts'
import { scoreOf, type TrainedHead } from './head.ts'
import type { ReadItem } from './items.ts'

/** From this score on a clause of an item with the kind has the kind. Below it only the likeliest clause has. */
const CERTAIN = 0.5

export function weakExamples(items: readonly ReadItem[], head: TrainedHead): readonly Example[] {
  return items.flatMap(({ item, pieces }) => {
    const scores = pieces.map((piece) => scoreOf(head, piece))
    const likeliest = KINDS.map((_, kind) =>
      scores.reduce((best, score, at) => ((score[kind] ?? 0) > (scores[best]?.[kind] ?? 0) ? at : best), 0),
    )
    return pieces.map(({ input, ngrams }, at) => {
      const has = KINDS.map((kind) => item.kinds.includes(kind))
      const isOne = KINDS.map((_, kind) => likeliest[kind] === at || (scores[at]?.[kind] ?? 0) > CERTAIN)
      return {
        input,
        ngrams,
        labels: Float32Array.from(KINDS, (_, kind) => (has[kind] && isOne[kind] ? 1 : 0)),
        weights: Float32Array.from(KINDS, (_, kind) => (has[kind] && !isOne[kind] ? 0 : 1)),
      }
    })
  })
}
