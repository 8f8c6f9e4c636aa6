/** The SQL statements behind the gauges. */
import type { Sql } from '../platform/db/pool.ts'
import { DEFAULT_OPTIONS } from './options.ts'

/**
 * How long the oldest due message has been waiting, in seconds; 0 if none waits. Messages of an actor that a live worker
 * owns do not count, because an encode takes hours. The first row by time is nearly always the answer: workers run few actors
 * at a time.
 */
export async function oldestDueSeconds(sql: Sql): Promise<number> {
  const [row] = await sql<{ seconds: number }[]>`
    select extract(epoch from now() - m.available_at)::float8 as seconds
    from actor_message m
    where m.available_at <= now()
      and not exists (
        select 1
        from actor_mailbox a
        join worker w on w.id = a.owner
        where a.key = m.key
          and not w.is_accounted_for
          and w.heartbeat_at > now() - ${DEFAULT_OPTIONS.leaseMs}::int * interval '1 millisecond'
      )
    order by m.available_at
    limit 1`
  return row?.seconds ?? 0
}

/** The number of due messages, in hand or not, counted up to `most`. */
export async function countDue(sql: Sql, most: number): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*) from (select from actor_message where available_at <= now() limit ${most}) as due`
  return row?.count ?? 0
}

/** The number of messages that were given up. */
export async function countDeadLetters(sql: Sql): Promise<number> {
  const [row] = await sql<{ count: number }[]>`select count(*) from actor_dead_letter`
  return row?.count ?? 0
}
