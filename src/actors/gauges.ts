/** What operators alert on: how long work has been waiting, how far the bell is behind, and what was given up. */
import { Gauge } from 'prom-client'
import type { Sql } from '../platform/db/pool.ts'
import type { Metrics } from '../platform/observability/metrics.ts'
import type { Redis } from '../platform/redis.ts'
import { streamLag } from './doorbell-redis.ts'
import { DEFAULT_OPTIONS } from './options.ts'
import { POOLS } from './types.ts'

/** Counting costs time with every row: beyond this it is a large backlog anyway. */
const MOST_COUNTED = 100_000

/**
 * Adds the gauges of the mailbox to the registry; they ask the servers whenever metrics are read. To be called once a
 * process, on the main thread, since the answers are the whole service's.
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
    help: 'Seconds for which the oldest due message has been waiting whose actor no worker has in hand; 0 where none waits',
    registers,
    collect: orNothing(async (gauge) => gauge.set(await oldestDueSeconds(sql))),
  })
  new Gauge({
    name: 'earshot_actor_due_messages',
    help: `Due messages, in hand or not, counted up to ${MOST_COUNTED}`,
    registers,
    collect: orNothing(async (gauge) => {
      const [row] = await sql<{ count: number }[]>`
        select count(*) from (select from actor_message where available_at <= now() limit ${MOST_COUNTED}) as due`
      gauge.set(row?.count ?? 0)
    }),
  })
  new Gauge({
    name: 'earshot_actor_dead_letters',
    help: 'Messages that were given up',
    registers,
    collect: orNothing(async (gauge) => {
      const [row] = await sql<{ count: number }[]>`select count(*) from actor_dead_letter`
      gauge.set(row?.count ?? 0)
    }),
  })
  if (redis === null) return
  new Gauge({
    name: 'earshot_stream_lag',
    help: 'Envelopes on the stream that no worker has read yet',
    labelNames: ['pool'],
    registers,
    collect: orNothing(async (gauge) => {
      for (const pool of POOLS) gauge.set({ pool }, (await streamLag(redis, sql, pool)) ?? 0)
    }),
  })
}

/**
 * What waits, not what is worked at: an encode takes hours, and so does what is behind it in its mailbox. An actor whose worker has
 * died is in nobody's hand. The first row by time is nearly always the answer: few actors are in hand.
 */
async function oldestDueSeconds(sql: Sql): Promise<number> {
  const [row] = await sql<{ seconds: number }[]>`
    select extract(epoch from now() - m.available_at)::float8 as seconds
    from actor_message m
    where m.available_at <= now()
      and not exists (
        select 1
        from actor a
        join worker w on w.id = a.owner
        where a.key = m.key
          and not w.is_accounted_for
          and w.heartbeat_at > now() - ${DEFAULT_OPTIONS.leaseMs}::int * interval '1 millisecond'
      )
    order by m.available_at
    limit 1`
  return row?.seconds ?? 0
}

/** A server that does not answer must not take the other metrics with it: the gauge is left out then. */
function orNothing<T extends string>(ask: (gauge: Gauge<T>) => Promise<void>) {
  return async function collect(this: Gauge<T>): Promise<void> {
    this.reset()
    this.remove({})
    await ask(this).catch(() => {})
  }
}
