/** SQL of mails that were asked for on the sign-in page. They belong to no organization. */
import type { Query, Tx } from '../platform/db/pool.ts'

export interface SignInRequest {
  readonly id: string
  readonly email: string
  readonly baseUrl: string
  readonly returnPath: string
  /** Earlier requests for the same address in the last 15 minutes. */
  readonly before: number
}

export async function insertRequest(tx: Tx, row: Omit<SignInRequest, 'before'>): Promise<void> {
  await tx`
    insert into sign_in_request (id, email, base_url, return_path)
    values (${row.id}, ${row.email}, ${row.baseUrl}, ${row.returnPath})`
}

export async function selectRequest(query: Query, id: string): Promise<SignInRequest | null> {
  const [row] = await query<SignInRequest[]>`
    select r.id, r.email, r.base_url as "baseUrl", r.return_path as "returnPath",
      (
        select count(*)::int
        from sign_in_request e
        where lower(e.email) = lower(r.email) and e.created_at < r.created_at
          and e.created_at > r.created_at - interval '15 minutes'
      ) as before
    from sign_in_request r
    where r.id = ${id}`
  return row ?? null
}

/** Deletes up to `limit` requests of more than a day ago. */
export async function deleteOldRequests(sql: Query, limit: number): Promise<number> {
  const { count } = await sql`
    delete from sign_in_request
    where id in (
      select id from sign_in_request
      where created_at < now() - interval '1 day'
      limit ${limit}
      for update skip locked
    )`
  return count
}
