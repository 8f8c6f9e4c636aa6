/**
 * The transactions of this database that are open at a moment, for work that must not end before everything that began earlier. It reads
 * locks, because other roles do not see when a transaction began.
 */
import type { Query } from './pool.ts'

/** Ids of the open transactions, except the caller's. An id is never used again while the server runs. */
export async function openTransactions(query: Query): Promise<readonly string[]> {
  const rows = await query<{ id: string }[]>`
    select l.virtualtransaction as id
    from pg_locks l
    join pg_stat_activity a on a.pid = l.pid
    where l.locktype = 'virtualxid'
      and l.granted
      and l.virtualxid = l.virtualtransaction
      and l.pid <> pg_backend_pid()
      and a.datname = current_database()
      -- Other than workers of the server itself.
      and a.usesysid is not null`
  return rows.map(({ id }) => id)
}

/** How many of the transactions are open yet, and how many of these have written. */
export async function countOpen(
  query: Query,
  ids: readonly string[],
): Promise<{ readonly open: number; readonly writing: number }> {
  if (ids.length === 0) return { open: 0, writing: 0 }
  const [row] = await query<{ open: number; writing: number }[]>`
    select count(*) filter (where locktype = 'virtualxid')::int as open,
      count(*) filter (where locktype = 'transactionid')::int as writing
    from pg_locks
    where virtualtransaction = any(${ids as string[]}::text[])
      and granted
      and (virtualxid = virtualtransaction or locktype = 'transactionid')`
  return row ?? { open: 0, writing: 0 }
}
