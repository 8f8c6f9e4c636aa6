/** Results of analyses for other features, which store the findings of their own objects as signals. */
import type { Query } from '../platform/db/pool.ts'
import type { NewId } from '../platform/ids.ts'
import * as store from './subjects.store.ts'

export type { Analyzed } from './subjects.store.ts'

/** Stores outcomes of sessions in the transaction that locks them. A later result of a session replaces the earlier one. */
export function saveSessionResults(
  tx: Query,
  newId: NewId,
  results: readonly (store.Analyzed & { readonly subject: { readonly channel: 'conversation' } })[],
): Promise<void> {
  return store.saveResults(tx, newId, 'conversation', results)
}
