/** Parts of SQL that counts and timelines share. */
import type { PendingQuery, Row } from 'postgres'
import type { Query } from '../platform/db/pool.ts'
import type { Period } from './model.ts'

export type Fragment = PendingQuery<Row[]>

export const within = (sql: Query, column: string, { since, until }: Period) => sql`
  ${since === undefined ? sql`` : sql`and ${sql(column)} >= ${since}::text::timestamptz`}
  ${until === undefined ? sql`` : sql`and ${sql(column)} < ${until}::text::timestamptz`}`
