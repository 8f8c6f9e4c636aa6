/** SQL of links that sign in once. */
import type { Query } from '../../platform/db/pool.ts'
import type { User } from './store.ts'

export async function insertLink(
  sql: Query,
  row: {
    readonly hash: Buffer
    readonly userId: string
    readonly requestId: string | null
    readonly lifetimeSeconds: number
  },
): Promise<void> {
  await sql`
    insert into sign_in_link (hash, user_id, request_id, expires_at)
    values (${row.hash}, ${row.userId}, ${row.requestId}, now() + make_interval(secs => ${row.lifetimeSeconds}))`
}

/** The user of an unused link, or null if it is unknown, used or expired. */
export async function selectLinkUser(sql: Query, hash: Buffer): Promise<User | null> {
  const [user] = await sql<User[]>`
    select u.id, u.email, u.name, u.created_at as "createdAt"
    from sign_in_link l
    join app_user u on u.id = l.user_id
    where l.hash = ${hash} and l.expires_at > now()`
  return user ?? null
}

/** Uses a link. Of concurrent calls one succeeds. @returns the id of the user, or null if it cannot be used */
export async function deleteLink(sql: Query, hash: Buffer): Promise<string | null> {
  const [row] = await sql<{ userId: string }[]>`
    with used as (
      delete from sign_in_link
      where hash = ${hash} and expires_at > now()
      returning user_id, request_id
    ), twins as (
      delete from sign_in_link l
      using used
      where l.request_id = used.request_id and l.hash <> ${hash}
    )
    select user_id as "userId" from used`
  return row?.userId ?? null
}

/** Deletes up to `limit` expired links. */
export async function deleteExpiredLinks(sql: Query, limit: number): Promise<number> {
  const { count } = await sql`
    delete from sign_in_link
    where hash in (
      select hash from sign_in_link
      where expires_at < now()
      limit ${limit}
      for update skip locked
    )`
  return count
}
