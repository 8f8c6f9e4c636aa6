/** What the items of an organization have in common: how often words occur, and the mean of their vectors. */
import type { Query } from '../../platform/db/pool.ts'
import type { Surroundings } from './nearness.rules.ts'
import { readProgress, readTerms } from './themes.store.ts'
import { emptySum, meanOf, sumOf } from './vector.rules.ts'

export async function readSurroundings(tx: Query, organizationId: string): Promise<Surroundings> {
  const [progress, rows] = await Promise.all([
    readProgress(tx, organizationId),
    readTerms(tx, organizationId),
  ])
  const counts = new Map(rows.map(({ term, count }) => [term, count]))
  const sum = progress?.vectorSum == null ? null : sumOf(progress.vectorSum)
  return {
    items: progress?.items ?? 0,
    countOf: (term) => counts.get(term) ?? 0,
    mean: meanOf(sum ?? emptySum()),
  }
}
