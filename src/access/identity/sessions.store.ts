/** SQL of browser sessions. Only `selectSession` decides whether a session is valid. */
import type { Query } from '../../platform/db/pool.ts'
import { REVOKED_CHANNEL } from './credential-cache.ts'
import { type Memberships, membershipsColumn } from './user-tokens.store.ts'

export interface UserSession {
  readonly id: string
  /** `User-Agent` of the browser that signed in; null if it sent none. */
  readonly userAgent: string | null
  readonly createdAt: Date
  readonly expiresAt: Date
  /** Accurate to the minute. */
  readonly lastUsedAt: Date | null
}

/** A session with the organizations in which it is valid. */
export interface SessionAdmission extends Memberships {
  readonly sessionId: string
  readonly expiresAt: Date
  /** True if `last_used_at` is older than a minute. */
  readonly stale: boolean
}

/**
 * The session with this digest, or null if it is unknown, expired or revoked. Revoking the tokens of a user ends the
 * user's sessions, too: everywhere, or in the one organization.
 */
export async function selectSession(sql: Query, hash: Buffer): Promise<SessionAdmission | null> {
  const [row] = await sql<SessionAdmission[]>`
    select s.id as "sessionId", s.user_id as "userId", s.expires_at as "expiresAt",
      (s.last_used_at is null or s.last_used_at < now() - interval '1 minute') as stale,
      (
        select ${membershipsColumn(sql)}
        from membership m
        where m.user_id = s.user_id and (m.tokens_not_before is null or s.created_at >= m.tokens_not_before)
      ) as memberships
    from user_session s
    join app_user u on u.id = s.user_id
    where s.hash = ${hash} and s.revoked_at is null and s.expires_at > now()
      and (u.tokens_not_before is null or s.created_at >= u.tokens_not_before)`
  return row ?? null
}

export async function insertSession(
  sql: Query,
  row: {
    readonly id: string
    readonly userId: string
    readonly hash: Buffer
    readonly userAgent: string | null
    readonly lifetimeSeconds: number
  },
): Promise<void> {
  await sql`
    insert into user_session (id, user_id, hash, user_agent, expires_at)
    values (${row.id}, ${row.userId}, ${row.hash}, ${row.userAgent}, now() + make_interval(secs => ${row.lifetimeSeconds}))`
}

export async function touchSession(sql: Query, id: string): Promise<void> {
  await sql`
    update user_session
    set last_used_at = now()
    where id = ${id} and (last_used_at is null or last_used_at < now() - interval '1 minute')`
}

/** Sessions of the user that can still be used, newest first. */
export function selectSessions(sql: Query, userId: string, limit: number) {
  return sql<UserSession[]>`
    select s.id, s.user_agent as "userAgent", s.created_at as "createdAt", s.expires_at as "expiresAt",
      s.last_used_at as "lastUsedAt"
    from user_session s
    join app_user u on u.id = s.user_id
    where s.user_id = ${userId} and s.revoked_at is null and s.expires_at > now()
      and (u.tokens_not_before is null or s.created_at >= u.tokens_not_before)
    order by s.created_at desc, s.id desc
    limit ${limit}`
}

/** Revokes a session and notifies every process. Repeating it changes nothing. @returns false if the user has no such session */
export async function revokeSession(sql: Query, userId: string, id: string): Promise<boolean> {
  const rows = await sql`
    with revoked as (
      update user_session
      set revoked_at = coalesce(revoked_at, now())
      where user_id = ${userId} and id = ${id}
      returning user_id
    )
    select pg_notify(${REVOKED_CHANNEL}, user_id::text) from revoked`
  return rows.length > 0
}

/** Deletes up to `limit` rows of sessions that expired more than 30 days ago. */
export async function deleteExpiredSessions(sql: Query, limit: number): Promise<number> {
  const { count } = await sql`
    delete from user_session
    where id in (
      select id from user_session
      where expires_at < now() - interval '30 days'
      limit ${limit}
      for update skip locked
    )`
  return count
}
