/** `/v3/rest/audit`: who read or changed what in the organization. */

import { type Operation, ok, operation } from '../../http/operation.ts'
import { keyset, toPage } from '../../http/paging.ts'
import type { Query } from '../../platform/db/pool.ts'
import { AuditPage, AuditQuery } from './model.ts'
import { entryResource, listEntries, placeOf } from './service.ts'

const order = keyset('audit', ['integer', 'uuid'])

/** `days`: how long entries are kept. */
export function auditOperations({
  reads,
  days,
}: {
  readonly reads: Query
  readonly days: number
}): readonly Operation[] {
  return [
    operation({
      id: 'listAudit',
      method: 'GET',
      path: '/v3/rest/audit',
      tag: 'Administration',
      summary: 'List who read or changed what',
      description:
        `Newest first. Entries are kept for ${days} days. Every change of settings, members, keys, tokens and credits, every deletion and ` +
        'erasure has an entry, written together with the change. Reads of personal content by users are counted and written every few ' +
        'seconds; reads by keys, which belong to programs, are not recorded.',
      access: 'organizationOrUser',
      role: 'administrator',
      query: AuditQuery,
      reads: { action: 'audit.listed' },
      success: { status: 200, description: 'A page of entries', schema: AuditPage },
      async handler({ principal, query }) {
        const { limit, cursor, ...filter } = query()
        const slice = { after: order.decode(cursor), limit }
        const rows = await listEntries(reads, principal.organizationId, filter, slice)
        return ok(toPage(rows, limit, (row) => order.encode(placeOf(row)), entryResource))
      },
    }),
  ]
}
