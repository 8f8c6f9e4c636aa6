/**
 * Moments with all the digits that PostgreSQL keeps. A JavaScript `Date` has milliseconds only: a keyset made of it
 * would repeat or skip rows of the same millisecond.
 */
import type { Query } from './pool.ts'

/** Selects a timestamptz as microseconds since 1970, a safe integer until the year 2255. */
export const asMicroseconds = (sql: Query, column: string) =>
  sql`(extract(epoch from ${sql(column)}) * 1000000)::bigint`

/** The timestamptz of `asMicroseconds`. */
export const fromMicroseconds = (sql: Query, microseconds: number) =>
  sql`(timestamptz 'epoch' + ${microseconds}::bigint * interval '1 microsecond')`
