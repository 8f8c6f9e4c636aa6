/**
 * Notifiers: how a worker learns at once that messages are waiting. Redis Streams where there is a Redis, else
 * PostgreSQL LISTEN/NOTIFY; both carry the same wake-ups, and both may lose every one of them.
 *
 * The rule: nothing waits for a notifier, and nothing is promised by one. The row in `actor_message` is the promise;
 * the sweep finds what no notifier notified of.
 */
import type { Sql } from '../platform/db/pool.ts'
import type { Servers } from '../platform/lifecycle/servers.ts'
import type { Log } from '../platform/observability/log.ts'
import type { Metrics } from '../platform/observability/metrics.ts'
import type { Redis } from '../platform/redis.ts'
import { createPostgresNotifier, createPostgresSources } from './notifier-postgres.ts'
import { createRedisNotifier, createRedisSource } from './notifier-redis.ts'
import type { ActorKey, Kinds, Notifier, Pool } from './types.ts'

export interface NotifierDeps {
  readonly sql: Sql
  /** The producer connection; null: PostgreSQL carries the wake-ups. */
  readonly redis: Redis | null
  readonly log: Log
  readonly metrics: Metrics
  /** The pool of each kind, whose workers are told. */
  readonly kinds: Kinds
}

/** The receiving side of one worker and pool. */
export interface WakeUpSource {
  /** Waits for wake-ups: at least one and at most `count`; none after some seconds of silence, or when closed. */
  take(count: number): Promise<readonly Hint[]>
  close(): Promise<void>
}

/** What a worker makes of a wake-up: a hint, to be looked up. */
export interface Hint {
  readonly key: ActorKey
  readonly seq: number
  /** NO_ORGANIZATION where it is not known. */
  readonly organization: string
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

/** Listens to the notifiers of `pools`. `worker` names the consumer. */
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
