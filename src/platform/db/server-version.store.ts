/** What the database server says of itself. */
import { AppError } from '../errors.ts'
import type { Query } from './pool.ts'

/** `text` is the full version, such as "18.4 (Debian)". `major` is its first number. */
export async function serverVersion(sql: Query): Promise<{ readonly text: string; readonly major: number }> {
  const [row] = await sql<{ text: string; major: number }[]>`
    select current_setting('server_version') as text, current_setting('server_version_num')::int / 10000 as major`
  return row ?? { text: 'unknown', major: 0 }
}

/** @throws AppError 503 `unavailable` if the server is a standby, or was set read-only */
export async function assertServerWritable(sql: Query): Promise<void> {
  const [row] = await sql<{ readOnly: boolean }[]>`
    select current_setting('transaction_read_only')::bool as "readOnly"`
  if (row?.readOnly !== false) throw new AppError('unavailable', 'The database server is read-only.')
}
