/** Workers for tests: the real runtime on a real database, with short intervals and either notifier. */

import { createNotifier } from '../../src/actors/notifier.ts'
import type { RuntimeOptions } from '../../src/actors/options.ts'
import { createRuntime, type Runtime, type RuntimeDeps } from '../../src/actors/runtime.ts'
import type { ActorDefinition, BulkHandler, ShortHandler } from '../../src/actors/types.ts'
import { ACTOR_KINDS } from '../../src/kernel/messages/all.ts'
import { connect, type Sql } from '../../src/platform/db/pool.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import { createMetrics } from '../../src/platform/observability/metrics.ts'
import { openRedis } from '../../src/platform/redis.ts'

/** Intervals that are minutes in production are seconds here. */
export const QUICK: Partial<RuntimeOptions> = {
  leaseMs: 2_000,
  heartbeatMs: 400,
  sweepMs: 300,
  turnTimeoutMs: 5_000,
  batchTimeoutMs: 1_500,
  retryBaseMs: 30,
  retryCapMs: 200,
}

/** Without sweeps, because a test could mistake them for wake-ups. */
export const NO_SWEEP: Partial<RuntimeOptions> = { sweepMs: 3_600_000 }

export interface TestWorker extends Runtime {
  readonly deps: RuntimeDeps
  readonly sql: Sql
  /** Stops the runtime and closes its connections. */
  close(): Promise<void>
}

export interface TestDeps extends RuntimeDeps {
  close(): Promise<void>
}

/** Opens the connections that a separate process would have. `redis`: null selects the notifier on PostgreSQL. */
export function testDeps(database: string, redis: string | null, name = 'test-worker'): TestDeps {
  const log = createLog('silent', 'test')
  const sql = connect({ url: database }, { max: 10, applicationName: name })
  const producer = redis === null ? null : openRedis(redis, log)
  const metrics = createMetrics()
  const notifier = createNotifier({ sql, redis: producer, log, metrics, kinds: ACTOR_KINDS })
  return {
    sql,
    redis: producer,
    notifier,
    log,
    metrics,
    servers: { database: { url: database }, redis },
    async close() {
      await notifier.close()
      producer?.disconnect()
      await sql.end({ timeout: 5 })
    },
  }
}

export async function startWorker(
  deps: TestDeps,
  definitions: readonly ActorDefinition[],
  options: Partial<RuntimeOptions> = {},
): Promise<TestWorker> {
  const runtime = createRuntime(deps, definitions, { ...QUICK, ...options })
  await runtime.start()
  return {
    worker: runtime.worker,
    start: runtime.start,
    stop: (budgetMs) => runtime.stop(budgetMs),
    deps,
    sql: deps.sql,
    async close() {
      await runtime.stop(5_000)
      await deps.close()
    },
  }
}

/** Defines session actors with these handlers. */
export function sessions(
  handlers: Readonly<Record<string, ShortHandler | BulkHandler>>,
  more: Partial<Pick<ActorDefinition, 'maxAttempts' | 'giveUp'>> = {},
): ActorDefinition {
  return { kind: 'session', pool: 'short', maxAttempts: 5, handlers, ...more }
}
