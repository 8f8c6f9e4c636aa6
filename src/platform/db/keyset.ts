/**
 * What lists by keyset need of SQL. A moment in a keyset has all the digits that PostgreSQL keeps: a JavaScript `Date`
 * has milliseconds only, and a keyset made of it would repeat or skip rows of the same millisecond.
 */
import type { Query } from './pool.ts'

/** A page: begins behind `after` (null: at the start) and fetches one row more than the `limit` that it shows. */
export interface Slice<K> {
  readonly after: K | null
  readonly limit: number
}

/** A page that begins behind a row (`after`), or behind a number of rows (`offset`). */
export interface Position<K> extends Slice<K> {
  readonly offset: number
}

/** The keyset of a list by time; the id tells rows of one moment apart. */
export type TimeSlice = Slice<readonly [microseconds: number, id: string]>

/** Selects a timestamptz as microseconds since 1970, a safe integer until the year 2255. */
export const asMicroseconds = (sql: Query, column: string) =>
  sql`(extract(epoch from ${sql(column)}) * 1000000)::bigint`

/** The timestamptz of `asMicroseconds`. */
export const fromMicroseconds = (sql: Query, microseconds: number) =>
  sql`(timestamptz 'epoch' + ${microseconds}::bigint * interval '1 microsecond')`
