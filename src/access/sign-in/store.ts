/** SQL of mails that were asked for on the sign-in page. They belong to no organization. */
import type { Query, Tx } from '../../platform/db/pool.ts'

export interface SignInRequest {
  readonly id: string
  readonly email: string
  readonly baseUrl: string
}

export async function insertRequest(tx: Tx, row: SignInRequest): Promise<void> {
  await tx`
    insert into sign_in_request (id, email, base_url, return_path)
    values (${row.id}, ${row.email}, ${row.baseUrl}, '/sign-in')`
}

export async function selectRequest(query: Query, id: string): Promise<SignInRequest | null> {
  const [row] = await query<SignInRequest[]>`
    select id, email, base_url as "baseUrl"
    from sign_in_request
    where id = ${id}`
  return row ?? null
}

/**
 * Admits the mail of a request, unless other requests led to `max` mails to the address in the last 15 minutes. An admitted request
 * stays admitted. Requests without a mail do not count: a stranger who sends many would keep all mails from the address.
 */
export async function admitMail(
  tx: Tx,
  { id, email }: Pick<SignInRequest, 'id' | 'email'>,
  max: number,
): Promise<boolean> {
  // One decision about an address at a time.
  await tx`select pg_advisory_xact_lock(hashtext('sign_in_request'), hashtext(lower(${email})))`
  const { count } = await tx`
    update sign_in_request r
    set mailed_at = coalesce(r.mailed_at, now())
    where r.id = ${id} and (
      r.mailed_at is not null
      or (
        select count(*)
        from sign_in_request e
        where lower(e.email) = lower(r.email) and e.mailed_at > now() - interval '15 minutes'
      ) < ${max}
    )`
  return count === 1
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
