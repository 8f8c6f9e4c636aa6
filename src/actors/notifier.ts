/**
 * Notifiers tell workers at once that messages are waiting. With Redis they use Redis Streams, otherwise PostgreSQL
 * LISTEN/NOTIFY. Both carry the same wake-ups, and both may lose any of them.
 *
 * No code waits for a notifier, and a wake-up promises nothing. The row in `actor_message` is the promise; the sweep finds
 * messages without a wake-up.
 */
import type { Sql } from '../platform/db/pool.ts'
import type { Servers } from '../platform/lifecycle/servers.ts'
import type { Log } from '../platform/observability/log.ts'
import type { Metrics } from '../platform/observability/metrics.ts'
import type { Redis } from '../platform/redis.ts'
import { createPostgresNotifier, createPostgresSources } from './notifier-postgres.ts'
import { createRedisNotifier, createRedisSource } from './notifier-redis.ts'
import type { Kinds, Notifier, Pool, WakeUpSource } from './types.ts'

export interface NotifierDeps {
  readonly sql: Sql
  /** The producer connection. Null: PostgreSQL carries the wake-ups. */
  readonly redis: Redis | null
  readonly log: Log
  readonly metrics: Metrics
  /** The pool of each kind, whose workers are told. */
  readonly kinds: Kinds
}

/** The sending side. */
export function createNotifier(deps: NotifierDeps): Notifier {
  return deps.redis === null
    ? createPostgresNotifier(deps)
    : createRedisNotifier({ ...deps, redis: deps.redis })
}

export interface SourceDeps extends Omit<NotifierDeps, 'kinds'> {
  readonly servers: Servers
}

/** Listens to the notifiers of `pools`. `worker` is the consumer's name. */
export async function createWakeUpSources(
  deps: SourceDeps,
  pools: readonly Pool[],
  worker: string,
): Promise<ReadonlyMap<Pool, WakeUpSource>> {
  const { servers, redis, sql, log } = deps
  const url = servers.redis
  if (url === null || redis === null) return createPostgresSources({ database: servers.database, log }, pools)
  return new Map(pools.map((pool) => [pool, createRedisSource({ sql, redis, log, url }, pool, worker)]))
}
