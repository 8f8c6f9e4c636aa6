/**
 * SQL of API keys and agent secrets. Only the look-ups by hash name no organization, because they find out which
 * organization is calling.
 */
import { asMicroseconds, behind, type TimeSlice } from '../../platform/db/keyset.ts'
import type { Query } from '../../platform/db/pool.ts'
import { REVOKED_CHANNEL } from './credential-cache.ts'

export interface Credential {
  readonly id: string
  /** The first characters, safe to show. */
  readonly prefix: string
  readonly createdAt: Date
  /** Accurate to the minute. */
  readonly lastUsedAt: Date | null
  readonly revokedAt: Date | null
}

export interface ApiKey extends Credential {
  readonly name: string
}

type CredentialTable = 'api_key' | 'agent_secret'

const columns = (sql: Query) => sql`
  id, prefix, created_at as "createdAt", last_used_at as "lastUsedAt", revoked_at as "revokedAt"`

/** True if `last_used_at` is older than a minute. A busy key then costs one write a minute. */
const isStale = (sql: Query) => sql`
  (last_used_at is null or last_used_at < now() - interval '1 minute')`

export async function findApiKey(sql: Query, hash: Buffer) {
  const [row] = await sql<{ id: string; organizationId: string; stale: boolean }[]>`
    select id, organization_id as "organizationId", ${isStale(sql)} as stale
    from api_key
    where hash = ${hash} and revoked_at is null`
  return row ?? null
}

export async function findAgentSecret(sql: Query, hash: Buffer) {
  const [row] = await sql<{ id: string; organizationId: string; applicationId: string; stale: boolean }[]>`
    select id, organization_id as "organizationId", application_id as "applicationId", ${isStale(sql)} as stale
    from agent_secret
    where hash = ${hash} and revoked_at is null`
  return row ?? null
}

export async function touch(
  sql: Query,
  table: CredentialTable,
  organizationId: string,
  id: string,
): Promise<void> {
  await sql`
    update ${sql(table)}
    set last_used_at = now()
    where organization_id = ${organizationId} and id = ${id} and ${isStale(sql)}`
}

export async function insertApiKey(
  sql: Query,
  row: {
    readonly id: string
    readonly organizationId: string
    readonly name: string
    readonly prefix: string
    readonly hash: Buffer
  },
): Promise<ApiKey> {
  const [created] = await sql<ApiKey[]>`
    insert into api_key (id, organization_id, name, prefix, hash)
    values (${row.id}, ${row.organizationId}, ${row.name}, ${row.prefix}, ${row.hash})
    returning name, ${columns(sql)}`
  return created as ApiKey
}

export async function selectApiKeys(sql: Query, organizationId: string): Promise<readonly ApiKey[]> {
  return sql<ApiKey[]>`
    select name, ${columns(sql)}
    from api_key
    where organization_id = ${organizationId}
    order by created_at, id`
}

export type ApiKeyRow = ApiKey & { readonly createdMicroseconds: number }

/** Newest first, with one row more than the limit. */
export function selectApiKeyPage(sql: Query, organizationId: string, { after, limit }: TimeSlice) {
  return sql<ApiKeyRow[]>`
    select name, ${columns(sql)}, ${asMicroseconds(sql, 'created_at')} as "createdMicroseconds"
    from api_key
    where organization_id = ${organizationId}
      ${behind(sql, 'created_at', 'id', after)}
    order by created_at desc, id desc
    limit ${limit + 1}`
}

export async function findApiKeyById(sql: Query, organizationId: string, id: string): Promise<ApiKey | null> {
  const [row] = await sql<ApiKey[]>`
    select name, ${columns(sql)}
    from api_key
    where organization_id = ${organizationId} and id = ${id}`
  return row ?? null
}

export async function renameApiKey(
  sql: Query,
  organizationId: string,
  id: string,
  name: string,
): Promise<ApiKey | null> {
  const [row] = await sql<ApiKey[]>`
    update api_key
    set name = ${name}
    where organization_id = ${organizationId} and id = ${id}
    returning name, ${columns(sql)}`
  return row ?? null
}

/** Repeating it for the same secret changes nothing. @returns null if the organization has no such application */
export async function insertAgentSecret(
  sql: Query,
  row: {
    readonly id: string
    readonly organizationId: string
    readonly applicationId: string
    readonly prefix: string
    readonly hash: Buffer
  },
): Promise<Credential | null> {
  const [created] = await sql<Credential[]>`
    insert into agent_secret (id, organization_id, application_id, prefix, hash)
    select ${row.id}, organization_id, id, ${row.prefix}, ${row.hash}
    from agent_application
    where organization_id = ${row.organizationId} and id = ${row.applicationId}
    on conflict (hash) do update set hash = excluded.hash
    returning ${columns(sql)}`
  return created ?? null
}

export async function selectAgentSecrets(
  sql: Query,
  organizationId: string,
  applicationId: string,
): Promise<readonly Credential[]> {
  return sql<Credential[]>`
    select ${columns(sql)}
    from agent_secret
    where organization_id = ${organizationId} and application_id = ${applicationId}
    order by created_at, id`
}

/** Revokes a key and notifies every process. Repeating it changes nothing. @returns false if there is no such key */
export async function revokeApiKey(sql: Query, organizationId: string, id: string): Promise<boolean> {
  const rows = await sql`
    with revoked as (
      update api_key
      set revoked_at = coalesce(revoked_at, now())
      where organization_id = ${organizationId} and id = ${id}
      returning id
    )
    select pg_notify(${REVOKED_CHANNEL}, id::text) from revoked`
  return rows.length > 0
}

/** Like `revokeApiKey`, for a secret of one application. */
export async function revokeAgentSecret(
  sql: Query,
  organizationId: string,
  applicationId: string,
  id: string,
): Promise<boolean> {
  const rows = await sql`
    with revoked as (
      update agent_secret
      set revoked_at = coalesce(revoked_at, now())
      where organization_id = ${organizationId} and application_id = ${applicationId} and id = ${id}
      returning id
    )
    select pg_notify(${REVOKED_CHANNEL}, id::text) from revoked`
  return rows.length > 0
}
