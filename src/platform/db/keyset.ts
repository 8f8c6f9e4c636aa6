/**
 * SQL for lists that are paged by keyset. A keyset contains a timestamp with the full precision of PostgreSQL. A JavaScript
 * `Date` has milliseconds only, so a keyset made from it would repeat or skip rows of the same millisecond.
 */
import type { PendingQuery, Row } from 'postgres'
import type { Query } from './pool.ts'

/** A page that starts after `after` (null: at the beginning). It fetches one row more than the `limit` that it shows. */
export interface Slice<K> {
  readonly after: K | null
  readonly limit: number
}

/** A page that starts after a row (`after`) or after a number of rows (`offset`). */
export interface Position<K> extends Slice<K> {
  readonly offset: number
}

/** The keyset of a list by time. The id orders rows of the same moment. */
export type TimeSlice = Slice<readonly [microseconds: number, id: string]>

/** The name of a column, or an expression. */
export type Column = string | PendingQuery<Row[]>

const columnOf = (sql: Query, column: Column) => (typeof column === 'string' ? sql(column) : column)

/** Selects a timestamptz as microseconds since 1970, a safe integer until the year 2255. */
export const asMicroseconds = (sql: Query, column: Column) =>
  sql`(extract(epoch from ${columnOf(sql, column)}) * 1000000)::bigint`

/** The timestamptz of `asMicroseconds`. */
export const fromMicroseconds = (sql: Query, microseconds: number) =>
  sql`(timestamptz 'epoch' + ${microseconds}::bigint * interval '1 microsecond')`

/**
 * A timestamp in a keyset: RFC 3339 text with microseconds (`asMoment`) if callers set it, in any year from 1 to 9999, or
 * microseconds since 1970 if the service sets it.
 */
export type Moment = string | number
export type MomentSlice = Slice<readonly [moment: Moment, id: string]>

/** Selects a timestamptz as RFC 3339 text with microseconds. */
export const asMoment = (sql: Query, column: Column) =>
  sql`to_char(${columnOf(sql, column)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`

/** The condition of the next page of a list in descending order of `column` and `id`. Empty on the first page. */
export function behind(
  sql: Query,
  column: Column,
  id: string,
  after: readonly [moment: Moment, id: string | number] | null,
) {
  if (after === null) return sql``
  const moment =
    typeof after[0] === 'number' ? fromMicroseconds(sql, after[0]) : sql`${after[0]}::text::timestamptz`
  const last = typeof after[1] === 'number' ? sql`${after[1]}::bigint` : sql`${after[1]}::uuid`
  return sql`and (${columnOf(sql, column)}, ${sql(id)}) < (${moment}, ${last})`
}
