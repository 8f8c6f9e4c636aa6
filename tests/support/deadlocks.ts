/** How many deadlocks (40P01) PostgreSQL has found in the database: what it would write to its log. */
import type { Sql } from '../../src/platform/db/pool.ts'

/** Backends publish their counters within a second of becoming idle. */
const PUBLISHED_MS = 1_100

export async function deadlocks(sql: Sql): Promise<number> {
  await Bun.sleep(PUBLISHED_MS)
  const [row] = await sql<{ deadlocks: number }[]>`
    select deadlocks::int from pg_stat_database where datname = current_database()`
  return row?.deadlocks ?? 0
}
