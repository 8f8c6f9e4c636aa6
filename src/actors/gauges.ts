/** Gauges for operators' alerts: how long work has been waiting, how far the notifier is behind, and what was given up. */
import { Gauge } from 'prom-client'
import type { Sql } from '../platform/db/pool.ts'
import type { Metrics } from '../platform/observability/metrics.ts'
import type { Redis } from '../platform/redis.ts'
import { countDeadLetters, countDue, oldestDueSeconds } from './gauge-statements.ts'
import { streamLag } from './notifier-redis.ts'
import { POOLS } from './types.ts'

/** Counting takes time for every row, and more than this is a large backlog anyway. */
const MOST_COUNTED = 100_000

/**
 * Adds the gauges of the mailbox to the registry; they query the servers whenever metrics are read. Call this once per
 * process, on the main thread: the values describe the whole service.
 */
export function registerActorGauges(deps: {
  readonly sql: Sql
  readonly redis: Redis | null
  readonly metrics: Metrics
}): void {
  const { sql, redis } = deps
  const registers = [deps.metrics.registry]
  new Gauge({
    name: 'earshot_actor_oldest_due_seconds',
    help: 'Age in seconds of the oldest due message whose actor no worker has in hand; 0 if there is none',
    registers,
    collect: orNothing(async (gauge) => gauge.set(await oldestDueSeconds(sql))),
  })
  new Gauge({
    name: 'earshot_actor_due_messages',
    help: `Number of due messages, in hand or not, counted up to ${MOST_COUNTED}`,
    registers,
    collect: orNothing(async (gauge) => gauge.set(await countDue(sql, MOST_COUNTED))),
  })
  new Gauge({
    name: 'earshot_actor_dead_letters',
    help: 'Number of dead letters: messages that were given up',
    registers,
    collect: orNothing(async (gauge) => gauge.set(await countDeadLetters(sql))),
  })
  if (redis === null) return
  new Gauge({
    name: 'earshot_stream_lag',
    help: 'Number of wake-ups on the stream that no worker has read yet',
    labelNames: ['pool'],
    registers,
    collect: orNothing(async (gauge) => {
      for (const pool of POOLS) gauge.set({ pool }, (await streamLag(redis, sql, pool)) ?? 0)
    }),
  })
}

/** If a server does not answer, only its gauge is missing; all other metrics remain. */
function orNothing<T extends string>(ask: (gauge: Gauge<T>) => Promise<void>) {
  return async function collect(this: Gauge<T>): Promise<void> {
    this.reset()
    this.remove({})
    await ask(this).catch(() => {})
  }
}
