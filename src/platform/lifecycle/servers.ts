/** Where the servers are that this process works with, whether it started them itself or was told of them. */
import type { Database } from '../db/pool.ts'

/** Plain data: it crosses to threads. */
export interface Servers {
  readonly database: Database
  /** A Redis URL, or null where there is none: then the notifier is PostgreSQL. */
  readonly redis: string | null
}
