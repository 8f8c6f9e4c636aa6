/** Reads of the audit log. */

import { moment } from '../../http/parameters.ts'
import type { TimeSlice } from '../../platform/db/keyset.ts'
import type { Query } from '../../platform/db/pool.ts'
import { isUuid } from '../../platform/ids.ts'
import { type EntryFilter, type EntryRow, selectEntries } from './store.ts'

/** The keyset of a row. */
export const placeOf = (row: EntryRow) => [row.occurredMicroseconds, row.id] as const

/**
 * Newest first, with one row more than the limit.
 * @throws AppError 400 if `since` or `until` is not an RFC 3339 date-time
 */
export function listEntries(
  query: Query,
  organizationId: string,
  { since, until, ...filter }: EntryFilter,
  slice: TimeSlice,
): Promise<readonly EntryRow[]> {
  const period = { since: moment('since', since), until: moment('until', until) }
  return selectEntries(query, organizationId, { ...filter, ...period }, slice)
}

/** The newest entries, at most `limit`, as the API shows them. */
export async function auditEntries(query: Query, organizationId: string, filter: EntryFilter, limit: number) {
  if (filter.principalId !== undefined && !isUuid(filter.principalId)) return []
  const rows = await listEntries(query, organizationId, filter, { after: null, limit })
  return rows.slice(0, limit).map(entryResource)
}

/** What the API and the command line show of an entry. */
export function entryResource({ id, occurredAt, action, requestId, details, times, ...row }: EntryRow) {
  return {
    id,
    occurredAt,
    principal: { kind: row.principalKind, id: row.principalId },
    action,
    object: { kind: row.objectKind, id: row.objectId },
    requestId,
    details,
    times,
  }
}
