/** The addresses of the servers that this process uses, whether it started them or the settings name them. */
import type { Database } from '../db/pool.ts'

/** Plain data, because it is sent to threads. */
export interface Servers {
  readonly database: Database
  /** A Redis URL, or null where there is none: then the notifier is PostgreSQL. */
  readonly redis: string | null
}
