/** The version of the database server. */
import type { Query } from './pool.ts'

/** `text` is the full version, such as "18.4 (Debian)". `major` is its first number. */
export async function serverVersion(sql: Query): Promise<{ readonly text: string; readonly major: number }> {
  const [row] = await sql<{ text: string; major: number }[]>`
    select current_setting('server_version') as text, current_setting('server_version_num')::int / 10000 as major`
  return row ?? { text: 'unknown', major: 0 }
}
