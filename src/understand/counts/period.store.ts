/** Parts of SQL that counts and timelines share. */
import type { PendingQuery, Row } from 'postgres'

export type Fragment = PendingQuery<Row[]>
