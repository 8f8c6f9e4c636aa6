/**
 * Doorbells: how a worker learns at once that letters are waiting. Redis Streams where there is a Redis, else
 * PostgreSQL LISTEN/NOTIFY; both carry the same envelopes, and both may lose every one of them.
 *
 * The rule: nothing waits for a doorbell, and nothing is promised by one. The row in `actor_message` is the promise;
 * the sweep finds what no bell rang for.
 */
import type { Sql } from '../platform/db/pool.ts'
import type { Servers } from '../platform/lifecycle/servers.ts'
import type { Log } from '../platform/observability/log.ts'
import type { Metrics } from '../platform/observability/metrics.ts'
import type { Redis } from '../platform/redis.ts'
import { createPostgresDoorbell, createPostgresSources } from './doorbell-postgres.ts'
import { createRedisDoorbell, createRedisSource } from './doorbell-redis.ts'
import type { ActorKey, Doorbell, Pool } from './types.ts'

export interface DoorbellDeps {
  readonly sql: Sql
  /** The producer connection; null: PostgreSQL carries the envelopes. */
  readonly redis: Redis | null
  readonly log: Log
  readonly metrics: Metrics
}

/** The receiving side of one worker and pool. */
export interface EnvelopeSource {
  /** Waits for envelopes: at least one and at most `count`; none after some seconds of silence, or when closed. */
  take(count: number): Promise<readonly Ring[]>
  close(): Promise<void>
}

/** What a worker makes of an envelope: a hint, to be looked up. */
export interface Ring {
  readonly key: ActorKey
  readonly seq: number
  /** NO_ORGANIZATION where it is not known. */
  readonly organization: string
}

/** The sending side. */
export function createDoorbell(deps: DoorbellDeps): Doorbell {
  return deps.redis === null
    ? createPostgresDoorbell(deps)
    : createRedisDoorbell({ ...deps, redis: deps.redis })
}

export interface SourceDeps extends DoorbellDeps {
  readonly servers: Servers
}

/** Listens to the bells of `pools`. `worker` names the consumer. */
export async function createEnvelopeSources(
  deps: SourceDeps,
  pools: readonly Pool[],
  worker: string,
): Promise<ReadonlyMap<Pool, EnvelopeSource>> {
  const { servers, redis, sql, log } = deps
  const url = servers.redis
  if (url === null || redis === null) return createPostgresSources({ database: servers.database, log }, pools)
  return new Map(pools.map((pool) => [pool, createRedisSource({ sql, redis, log, url }, pool, worker)]))
}
