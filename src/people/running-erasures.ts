/** What stores texts that were received before asks which people are being erased meanwhile. */
import type { Query, Tx } from '../platform/db/pool.ts'
import { shareLock } from './alias.store.ts'
import * as store from './erasure.store.ts'

/** When the erasures that run were requested, as text with microseconds. */
export const runningErasures = (query: Query, organizationId: string): Promise<readonly string[]> =>
  store.listRunning(query, organizationId)

/**
 * Those of the addresses whose owners are being erased, with everything that was received until `receivedAt`. In lower case. Until the
 * transaction ends, no other erasure begins.
 */
export async function erasedAmong(
  tx: Tx,
  organizationId: string,
  emails: readonly string[],
  receivedAt: Date,
): Promise<ReadonlySet<string>> {
  if (emails.length === 0) return new Set()
  await shareLock(tx, organizationId)
  return store.erasedEmails(tx, organizationId, emails, receivedAt)
}
