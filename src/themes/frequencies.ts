/** How often words occur in the items of an organization. */
import type { Query } from '../platform/db/pool.ts'
import type { Frequencies } from './nearness.rules.ts'
import { countItems, readTerms } from './themes.store.ts'

export async function readFrequencies(tx: Query, organizationId: string): Promise<Frequencies> {
  const [items, rows] = await Promise.all([countItems(tx, organizationId), readTerms(tx, organizationId)])
  const counts = new Map(rows.map(({ term, count }) => [term, count]))
  return { items, countOf: (term) => counts.get(term) ?? 0 }
}
