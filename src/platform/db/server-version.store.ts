/** What the database server says of itself. */
import { AppError } from '../errors.ts'
import type { Query, Sql } from './pool.ts'
import { transaction } from './transaction.ts'

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
  if (row?.readOnly !== false)
    throw new AppError(
      'unavailable',
      'The database server is read-only. Name the primary server in DATABASE_URL.',
    )
}

/**
 * Writes 1 MB to the disk of the server, which is free again at once, and an entry to its log. It needs no right, changes no table, and waits
 * as any transaction does for the disk and for standbys.
 * @throws the error of the server, such as 53100 if its disk is full
 */
export async function assertServerStores(sql: Sql): Promise<void> {
  await transaction(sql, async (tx) => {
    await tx`select set_config('work_mem', '64kB', true), set_config('temp_tablespaces', '', true)`
    await tx`
      with large as materialized (select repeat('x', 8000) as text from generate_series(1, 128))
      select count(text) from large`
    await tx`select pg_logical_emit_message(true, 'earshot', '')`
  })
}

/** How many tables of the service the role may not read and write. */
export async function tablesWithoutRights(sql: Query): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count
    from pg_class
    where relnamespace = (select relnamespace from pg_class where oid = to_regclass('schema_migration'))
      -- Others of the schema are of other programs, such as PostGIS.
      and relowner = (select relowner from pg_class where oid = to_regclass('schema_migration'))
      and relkind in ('r', 'p')
      and not (
        has_table_privilege(oid, 'select') and has_table_privilege(oid, 'insert')
        and has_table_privilege(oid, 'update') and has_table_privilege(oid, 'delete')
      )`
  return row?.count ?? 0
}

/** The time of the server. */
export async function serverTime(sql: Query): Promise<Date> {
  const [row] = await sql<[{ now: Date }]>`select clock_timestamp() as now`
  return row.now
}
