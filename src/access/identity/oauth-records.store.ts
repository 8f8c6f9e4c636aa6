/**
 * SQL of what the OAuth authorization server remembers. Ids of records are secrets (tokens, codes), so rows are found by digests.
 * Only `selectAccess` decides whether an access token is valid.
 */
import type { Json, Query, Tx } from '../../platform/db/pool.ts'
import { REVOKED_CHANNEL } from './credential-cache.ts'
import { type Memberships, membershipsColumn } from './user-tokens.store.ts'

export interface OAuthRecord {
  readonly payload: Record<string, unknown>
  readonly consumedAt: Date | null
}

export interface NewOAuthRecord {
  /** The model of the library, such as `AccessToken`. */
  readonly kind: string
  readonly hash: Buffer
  /** What is revoked together; a grant has its own id here. */
  readonly grantId: string | null
  readonly userId: string | null
  readonly uid: string | null
  /** Without the id. */
  readonly payload: Json
  readonly lifetimeSeconds: number
}

/**
 * Seconds in which a refresh token that was used may be used again: two processes of one client refresh at the same time, or an answer
 * was lost (RFC 9700 section 4.14.2 asks for the detection of reuse, which begins after it). Other records are used once.
 */
const REUSE_SECONDS = (kind: string) => (kind === 'RefreshToken' ? 10 : 0)

/** Stores a record, or replaces its payload and lifetime. */
export async function upsertRecord(sql: Query, row: NewOAuthRecord): Promise<void> {
  await sql`
    insert into oauth_record (kind, hash, grant_id, user_id, uid, payload, expires_at)
    values (
      ${row.kind}, ${row.hash}, ${row.grantId}, ${row.userId}, ${row.uid}, ${sql.json(row.payload)},
      now() + make_interval(secs => ${row.lifetimeSeconds})
    )
    on conflict (kind, hash) do update set
      grant_id = excluded.grant_id, user_id = excluded.user_id, uid = excluded.uid, payload = excluded.payload,
      expires_at = excluded.expires_at`
}

/**
 * Includes expired tokens and codes, which the library recognises when they are used again. A token that may still be used again
 * counts as unused.
 */
export async function selectRecord(sql: Query, kind: string, hash: Buffer): Promise<OAuthRecord | null> {
  const seconds = REUSE_SECONDS(kind)
  const used =
    seconds === 0
      ? sql`consumed_at`
      : sql`case when consumed_at <= now() - make_interval(secs => ${seconds}) then consumed_at end`
  const [row] = await sql<OAuthRecord[]>`
    select payload, ${used} as "consumedAt"
    from oauth_record
    where kind = ${kind} and hash = ${hash} and (kind <> 'Client' or expires_at > now())`
  return row ?? null
}

export async function selectRecordByUid(sql: Query, kind: string, uid: string): Promise<OAuthRecord | null> {
  const [row] = await sql<OAuthRecord[]>`
    select payload, consumed_at as "consumedAt"
    from oauth_record
    where uid = ${uid} and kind = ${kind}`
  return row ?? null
}

/** Marks a record as used. Of concurrent calls one succeeds, unless it may be used again. @returns false if it was used before */
export async function consumeRecord(sql: Query, kind: string, hash: Buffer): Promise<boolean> {
  const seconds = REUSE_SECONDS(kind)
  // Of two requests that begin at once the second sees a time after its own beginning.
  const reusable = seconds === 0 ? sql`` : sql`or consumed_at > now() - make_interval(secs => ${seconds})`
  const { count } = await sql`
    update oauth_record
    set consumed_at = coalesce(consumed_at, now())
    where kind = ${kind} and hash = ${hash} and (consumed_at is null ${reusable})`
  return count > 0
}

/** Deletes a record and notifies every process, which may remember it as a token. */
export async function deleteRecord(sql: Query, kind: string, hash: Buffer): Promise<void> {
  await sql`
    with gone as (
      delete from oauth_record
      where kind = ${kind} and hash = ${hash}
      returning user_id
    )
    select pg_notify(${REVOKED_CHANNEL}, user_id::text) from gone where user_id is not null`
}

/** Deletes every record of a kind that belongs to a grant, and notifies every process. @returns the user */
export async function deleteRecordsOfGrant(
  sql: Query,
  kind: string,
  grantId: string,
): Promise<string | null> {
  const [row] = await sql<{ userId: string | null }[]>`
    with gone as (
      delete from oauth_record
      where grant_id = ${grantId} and kind = ${kind}
      returning user_id
    ), users as (
      select distinct user_id from gone where user_id is not null
    ), told as (
      select user_id, pg_notify(${REVOKED_CHANNEL}, user_id::text) from users
    )
    select user_id as "userId" from told`
  return row?.userId ?? null
}

/** Keeps a client that a user allowed. */
export async function extendClient(sql: Query, hash: Buffer, lifetimeSeconds: number): Promise<void> {
  await sql`
    update oauth_record
    set expires_at = now() + make_interval(secs => ${lifetimeSeconds})
    where kind = 'Client' and hash = ${hash}`
}

/** Locks the count of clients that register, until the transaction ends. */
export async function lockNewClients(tx: Tx): Promise<void> {
  await tx`select pg_advisory_xact_lock(hashtextextended('earshot new oauth clients', 0))`
}

/** Clients that registered in the last hour. Call it under `lockNewClients`. */
export async function countNewClients(sql: Tx): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count
    from oauth_record
    where kind = 'Client' and created_at > now() - interval '1 hour'`
  return row?.count ?? 0
}

export interface OAuthAccess extends Memberships {
  readonly expiresAt: Date
  readonly audience: string | null
  /** Separated by spaces. */
  readonly scope: string | null
}

/**
 * The user of an access token with the organizations in which it is valid, or null if it is unknown, expired or revoked. It counts
 * as issued when the user allowed the client: revoking the user's tokens ends what a refresh would issue, too.
 */
export async function selectAccess(sql: Query, hash: Buffer): Promise<OAuthAccess | null> {
  const [row] = await sql<OAuthAccess[]>`
    select u.id as "userId", t.expires_at as "expiresAt", t.payload ->> 'aud' as audience, t.payload ->> 'scope' as scope,
      (
        select ${membershipsColumn(sql)}
        from membership m
        where m.user_id = u.id and (m.tokens_not_before is null or g.created_at >= m.tokens_not_before)
      ) as memberships
    from oauth_record t
    join oauth_record g on g.grant_id = t.grant_id and g.kind = 'Grant'
    join app_user u on u.id = t.user_id
    where t.kind = 'AccessToken' and t.hash = ${hash} and t.expires_at > now()
      and (u.tokens_not_before is null or g.created_at >= u.tokens_not_before)`
  return row ?? null
}

/** True if the user is a member of an organization that accepts the grant. Without a grant: of any organization. */
export async function isUserOfGrant(sql: Query, userId: string, grantId: string | null): Promise<boolean> {
  const rows = await sql`
    select 1
    from app_user u
    join membership m on m.user_id = u.id
    left join oauth_record g on g.grant_id = ${grantId} and g.kind = 'Grant'
    where u.id = ${userId}
      and (
        ${grantId}::text is null
        or (
          g.created_at >= coalesce(u.tokens_not_before, '-infinity')
          and g.created_at >= coalesce(m.tokens_not_before, '-infinity')
        )
      )
    limit 1`
  return rows.length > 0
}

/** True if the user allowed the client. */
export async function hasGrant(sql: Query, userId: string, clientId: string): Promise<boolean> {
  const rows = await sql`
    select 1
    from oauth_record
    where user_id = ${userId} and kind = 'Grant' and payload ->> 'clientId' = ${clientId} and expires_at > now()
    limit 1`
  return rows.length > 0
}

/** Deletes up to `limit` records that expired more than a day ago. */
export async function deleteExpiredRecords(sql: Query, limit: number): Promise<number> {
  const { count } = await sql`
    delete from oauth_record
    where (kind, hash) in (
      select kind, hash from oauth_record
      where expires_at < now() - interval '1 day'
      limit ${limit}
      for update skip locked
    )`
  return count
}
