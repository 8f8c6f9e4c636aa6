/** SQL of publishable keys. Only the look-up by key names no organization, because it finds out which organization is meant. */
import type { Query } from '../../platform/db/pool.ts'
import { REVOKED_CHANNEL } from './credential-cache.ts'

export interface PublishableKey {
  readonly id: string
  readonly name: string
  readonly key: string
  /** Origins of the pages that may use it, as browsers write them. */
  readonly origins: readonly string[]
  readonly createdAt: Date
  /** Accurate to the minute. */
  readonly lastUsedAt: Date | null
  readonly revokedAt: Date | null
}

const columns = (sql: Query) => sql`
  id, name, key, origins, created_at as "createdAt", last_used_at as "lastUsedAt", revoked_at as "revokedAt"`

export interface FoundPublishableKey {
  readonly id: string
  readonly organizationId: string
  readonly applicationId: string
  readonly origins: readonly string[]
  readonly stale: boolean
}

/** Null if the key is unknown or revoked. */
export async function findPublishableKey(sql: Query, key: string): Promise<FoundPublishableKey | null> {
  const [row] = await sql<FoundPublishableKey[]>`
    select
      id, organization_id as "organizationId", application_id as "applicationId", origins,
      (last_used_at is null or last_used_at < now() - interval '1 minute') as stale
    from publishable_key
    where key = ${key} and revoked_at is null`
  return row ?? null
}

export async function touchPublishableKey(sql: Query, organizationId: string, id: string): Promise<void> {
  await sql`
    update publishable_key
    set last_used_at = now()
    where organization_id = ${organizationId} and id = ${id}`
}

/** @returns null if the organization has no such application */
export async function insertPublishableKey(
  sql: Query,
  row: {
    readonly id: string
    readonly organizationId: string
    readonly applicationId: string
    readonly name: string
    readonly key: string
    readonly origins: readonly string[]
  },
): Promise<PublishableKey | null> {
  const [created] = await sql<PublishableKey[]>`
    insert into publishable_key (id, organization_id, application_id, name, key, origins)
    select ${row.id}, organization_id, id, ${row.name}, ${row.key}, ${[...row.origins]}
    from agent_application
    where organization_id = ${row.organizationId} and id = ${row.applicationId}
    returning ${columns(sql)}`
  return created ?? null
}

/** Oldest first, revoked ones too. */
export function selectPublishableKeys(sql: Query, organizationId: string, applicationId: string) {
  return sql<PublishableKey[]>`
    select ${columns(sql)}
    from publishable_key
    where organization_id = ${organizationId} and application_id = ${applicationId}
    order by created_at, id`
}

/** Revokes a key and notifies every process. Repeating it changes nothing. @returns false if there is no such key */
export async function revokePublishableKey(
  sql: Query,
  organizationId: string,
  applicationId: string,
  id: string,
): Promise<boolean> {
  const rows = await sql`
    with revoked as (
      update publishable_key
      set revoked_at = coalesce(revoked_at, now())
      where organization_id = ${organizationId} and application_id = ${applicationId} and id = ${id}
      returning id
    )
    select pg_notify(${REVOKED_CHANNEL}, id::text) from revoked`
  return rows.length > 0
}
