/** SQL over all organizations, for operators. */
import type { Query } from '../../platform/db/pool.ts'

/** Age in seconds of the oldest event that waits for an enabled subscription; 0 if there is none. */
export async function oldestUndelivered(query: Query): Promise<number> {
  const [row] = await query<{ seconds: number }[]>`
    select coalesce(extract(epoch from now() - min(waiting.since)), 0)::float8 as seconds
    from webhook w
    cross join lateral (
      select least(
        (
          select e.occurred_at from webhook_event e
          where e.organization_id = w.organization_id and e.seq > w.cursor
          order by e.seq
          limit 1
        ),
        (select min(d.created_at) from webhook_delivery d where d.webhook_id = w.id and d.status = 'pending')
      ) as since
    ) waiting
    where w.enabled`
  return row?.seconds ?? 0
}

export interface SealedSecret {
  readonly id: string
  /** Sealed. */
  readonly secret: Uint8Array
}

/** The secrets of enabled subscriptions, newest first. */
export function enabledSecrets(query: Query, limit: number): Promise<readonly SealedSecret[]> {
  return query<SealedSecret[]>`
    select id, secret from webhook
    where enabled
    order by created_at desc
    limit ${limit}`
}
