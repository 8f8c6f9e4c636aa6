/** What features are built over: everything with state or I/O that knows no feature. */
import type { Notifier } from '../actors/types.ts'
import type { Clock } from '../platform/clock.ts'
import type { RequestWork } from '../platform/concurrency/work.ts'
import type { Query, Sql } from '../platform/db/pool.ts'
import type { ErrorCatalogue } from '../platform/errors.ts'
import type { NewId } from '../platform/ids.ts'
import type { Servers } from '../platform/lifecycle/servers.ts'
import type { OutboundPolicy } from '../platform/net/outbound-url.ts'
import type { Log } from '../platform/observability/log.ts'
import type { Metrics } from '../platform/observability/metrics.ts'
import type { Redis } from '../platform/redis.ts'
import type { ObjectStore } from '../platform/storage/storage.ts'
import type { Config } from './config.ts'

export interface Deps {
  readonly config: Config
  readonly servers: Servers
  /** In turns by organization, and by the object that a request changes. */
  readonly sql: Sql
  /** For reads that are shown to a caller, in turns by organization. Its connections prefer index plans and cannot write. */
  readonly reads: Query
  /** Listens to notifications, past a connection pooler. */
  readonly listening: Pick<Sql, 'listen'>
  readonly redis: Redis | null
  readonly notifier: Notifier
  readonly storage: ObjectStore
  /** Which servers requests of the service may reach, if a customer or the operator names them. */
  readonly outbound: OutboundPolicy
  readonly requestWork: RequestWork
  readonly clock: Clock
  readonly newId: NewId
  readonly errors: ErrorCatalogue
  readonly log: Log
  readonly metrics: Metrics
}
