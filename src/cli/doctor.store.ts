/** SQL of `earshot doctor`. */
import type { Sql } from '../platform/db/pool.ts'

export async function serverVersion(sql: Sql): Promise<{ readonly text: string; readonly major: number }> {
  const [row] = await sql<{ text: string; major: number }[]>`
    select current_setting('server_version') as text, current_setting('server_version_num')::int / 10000 as major`
  return row ?? { text: 'unknown', major: 0 }
}

/** Counts worker threads whose heartbeat is at most `seconds` old, by the clock of the database. */
export async function countLiveWorkers(sql: Sql, seconds: number): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count
    from worker
    where not is_accounted_for
      and heartbeat_at > now() - ${seconds}::int * interval '1 second'`
  return row?.count ?? 0
}
