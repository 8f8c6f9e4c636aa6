/** SQL of the audit log. */

import type { Action } from '../../kernel/audit-actions.ts'
import { asMicroseconds, behind, type TimeSlice } from '../../platform/db/keyset.ts'
import type { Json, Query } from '../../platform/db/pool.ts'
import type { Author } from './author.ts'

export interface NewEntry extends Author {
  readonly id: string
  readonly action: Action
  readonly objectKind: string
  /** Null: a list. */
  readonly objectId: string | null
  readonly details: Readonly<Record<string, Json>>
  readonly times: number
}

/** An organization that was deleted meanwhile has no audit log any more; its entries are left out. */
export async function insertEntries(query: Query, entries: readonly NewEntry[]): Promise<void> {
  await query`
    insert into audit_entry (
      id, organization_id, principal_kind, principal_id, action, object_kind, object_id, request_id, details, times
    )
    select e.id, o.id, e.principal_kind, e.principal_id, e.action, e.object_kind, e.object_id, e.request_id,
      e.details::jsonb, e.times
    from unnest(
      ${entries.map(({ id }) => id)}::uuid[],
      ${entries.map(({ organizationId }) => organizationId)}::uuid[],
      ${entries.map(({ principalKind }) => principalKind)}::text[],
      ${entries.map(({ principalId }) => principalId)}::uuid[],
      ${entries.map(({ action }) => action)}::text[],
      ${entries.map(({ objectKind }) => objectKind)}::text[],
      ${entries.map(({ objectId }) => objectId)}::text[],
      ${entries.map(({ requestId }) => requestId)}::text[],
      ${entries.map(({ details }) => JSON.stringify(details))}::text[],
      ${entries.map(({ times }) => times)}::int[]
    ) as e (
      id, organization_id, principal_kind, principal_id, action, object_kind, object_id, request_id, details, times
    )
    join organization o on o.id = e.organization_id`
}

export interface EntryRow {
  readonly id: string
  readonly occurredAt: Date
  readonly principalKind: string
  readonly principalId: string | null
  readonly action: string
  readonly objectKind: string
  readonly objectId: string | null
  readonly requestId: string | null
  readonly details: Json
  readonly times: number
  readonly occurredMicroseconds: number
}

export interface EntryFilter {
  readonly principalId?: string | undefined
  readonly action?: Action | undefined
  readonly objectId?: string | undefined
  /** RFC 3339, inclusive. */
  readonly since?: string | undefined
  /** RFC 3339, exclusive. */
  readonly until?: string | undefined
}

/** Newest first, with one row more than the limit. */
export function selectEntries(
  query: Query,
  organizationId: string,
  { principalId, action, objectId, since, until }: EntryFilter,
  { after, limit }: TimeSlice,
) {
  return query<EntryRow[]>`
    select e.id, e.occurred_at as "occurredAt", e.principal_kind as "principalKind", e.principal_id as "principalId",
      e.action, e.object_kind as "objectKind", e.object_id as "objectId", e.request_id as "requestId", e.details, e.times,
      ${asMicroseconds(query, 'e.occurred_at')} as "occurredMicroseconds"
    from audit_entry e
    where e.organization_id = ${organizationId}
      ${principalId === undefined ? query`` : query`and e.principal_id = ${principalId}`}
      ${action === undefined ? query`` : query`and e.action = ${action}`}
      ${objectId === undefined ? query`` : query`and e.object_id = ${objectId}`}
      ${since === undefined ? query`` : query`and e.occurred_at >= ${since}::text::timestamptz`}
      ${until === undefined ? query`` : query`and e.occurred_at < ${until}::text::timestamptz`}
      ${behind(query, 'e.occurred_at', 'e.id', after)}
    order by e.occurred_at desc, e.id desc
    limit ${limit + 1}`
}

/** Deletes up to `limit` entries that are older than `days`. @returns how many */
export async function deleteOldEntries(query: Query, days: number, limit: number): Promise<number> {
  const { count } = await query`
    delete from audit_entry
    where id in (
      select id from audit_entry
      where occurred_at < now() - ${days} * interval '1 day'
      limit ${limit}
      for update skip locked
    )`
  return count
}
