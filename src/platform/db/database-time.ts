/** The clock of the database, by which rows say when they were received. */
import type { Query } from './pool.ts'

/** When the transaction began, as RFC 3339 text with microseconds. */
export async function databaseTime(query: Query): Promise<string> {
  const [row] = await query<{ now: string }[]>`
    select to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as now`
  return (row as { now: string }).now
}
