/**
 * The notifier on Redis Streams: one stream and one consumer group per pool, shared by all workers of one database.
 *
 * Entries are hints, so the group reads with NOACK. There is no pending list, no acknowledgement and no repair of dead
 * consumers, and trimming the stream loses no message. COUNT is the number of free places: entries that do not fit stay in
 * Redis, where an idle machine takes them.
 */
import type { Sql } from '../platform/db/pool.ts'
import type { Log } from '../platform/observability/log.ts'
import type { Metrics } from '../platform/observability/metrics.ts'
import { openBlockingRedis, type Redis } from '../platform/redis.ts'
import { createBatchedNotifier } from './batched-notifier.ts'
import {
  type ActorKey,
  type Hint,
  type Kinds,
  kindOf,
  NO_ORGANIZATION,
  type Notifier,
  type Pool,
  type WakeUp,
  type WakeUpSource,
} from './types.ts'

const GROUP = 'workers'
const MAX_LENGTH = 100_000
const BLOCK_MS = 2_000
/** The most wake-ups in one transaction: a long one delays the commands of all other clients. */
const ADDED_TOGETHER = 500
/** Longer than any answer takes: after this the connection counts as half-open. */
const SILENCE_MS = 10_000
/** A consumer that has not read for this long belongs to a killed worker. */
const LOST_CONSUMER_MS = 60 * 60_000

/** Named after the database, so that services that share a Redis do not wake each other: `earshot:actors:short`. */
export function streamName(sql: Sql, pool: Pool): string {
  return `${sql.options.database}:actors:${pool}`
}

/** Entries that Redis refuses count as lost wake-ups: the sweep finds their messages. */
export function createRedisNotifier(deps: {
  readonly sql: Sql
  readonly redis: Redis
  readonly metrics: Metrics
  readonly kinds: Kinds
}): Notifier {
  const { sql, redis, metrics, kinds } = deps
  /** Undefined for a kind that this version does not know: a sweep of a newer worker finds its message. */
  const poolOf = ({ key }: WakeUp) => kinds.get(kindOf(key))
  /**
   * Adds the wake-ups in one transaction, so that the reader finds all of them at once and not only the first. A transaction
   * uses one stream, because a Redis Cluster refuses transactions with several keys.
   */
  async function add(stream: string, wakeUps: readonly WakeUp[]): Promise<void> {
    const additions = redis.multi()
    for (const { key, seq, type, organization = '' } of wakeUps) {
      const fields = ['key', key, 'seq', seq, 'type', type, 'organization', organization] as const
      additions.xadd(stream, 'MAXLEN', '~', MAX_LENGTH, '*', ...fields)
    }
    const results = (await additions.exec()) ?? []
    const lost = results.filter(([error]) => error !== null).length
    metrics.lostWakeUps.inc(lost)
  }

  return createBatchedNotifier('redis', metrics, async (wakeUps) => {
    for (const [pool, ofPool] of Map.groupBy(wakeUps, poolOf)) {
      if (pool === undefined) continue
      for (let from = 0; from < ofPool.length; from += ADDED_TOGETHER)
        await add(streamName(sql, pool), ofPool.slice(from, from + ADDED_TOGETHER))
    }
  })
}

export interface RedisSourceDeps {
  readonly sql: Sql
  readonly redis: Redis
  readonly log: Log
  readonly url: string
}

/** Opens a connection of its own, because a blocking read would hold up other commands. */
export function createRedisSource(deps: RedisSourceDeps, pool: Pool, worker: string): WakeUpSource {
  const stream = streamName(deps.sql, pool)
  const blocking = openBlockingRedis(deps.url, deps.log)
  const closing = Promise.withResolvers<readonly Hint[]>()
  let closed = false

  async function read(count: number): Promise<readonly Hint[]> {
    const silence = setTimeout(() => blocking.disconnect(true), SILENCE_MS)
    try {
      const answer = await blocking.xreadgroup(
        ...(['GROUP', GROUP, worker, 'COUNT', count, 'BLOCK', BLOCK_MS, 'NOACK'] as const),
        ...(['STREAMS', stream, '>'] as const),
      )
      return toWakeUps(answer)
    } finally {
      clearTimeout(silence)
    }
  }

  return {
    async take(count) {
      try {
        // A client that is closed while it reconnects leaves its commands unanswered.
        return closed ? [] : await Promise.race([read(count), closing.promise])
      } catch (error) {
        if (closed) return []
        // The first worker ever, or the stream was flushed away.
        if (error instanceof Error && /NOGROUP|no longer exists/.test(error.message)) {
          await createGroup(blocking, stream).catch(() => {})
        } else {
          deps.log.debug({ err: error }, 'reading wake-ups failed')
          await Bun.sleep(200)
        }
        return []
      }
    },
    async close() {
      closed = true
      closing.resolve([])
      blocking.disconnect()
      await deps.redis.xgroup('DELCONSUMER', stream, GROUP, worker).catch(() => {})
      await forgetLostConsumers(deps.redis, stream).catch(() => {})
    },
  }
}

async function createGroup(redis: Redis, stream: string): Promise<void> {
  // From 0, so that the group also reads entries that were added before it existed.
  await redis.xgroup('CREATE', stream, GROUP, '0', 'MKSTREAM')
}

async function forgetLostConsumers(redis: Redis, stream: string): Promise<void> {
  for (const consumer of infoRows(await redis.xinfo('CONSUMERS', stream, GROUP))) {
    if (Number(consumer.idle) > LOST_CONSUMER_MS) {
      await redis.xgroup('DELCONSUMER', stream, GROUP, String(consumer.name))
    }
  }
}

/** How many wake-ups no worker has read yet. Null if the stream does not exist or the server does not know. */
export async function streamLag(redis: Redis, sql: Sql, pool: Pool): Promise<number | null> {
  const groups = infoRows(await redis.xinfo('GROUPS', streamName(sql, pool)).catch(() => []))
  const lag = groups.find((group) => group.name === GROUP)?.lag
  return typeof lag === 'number' ? lag : null
}

/** XINFO returns each row as a flat list of names and values. */
function infoRows(answer: unknown): Record<string, unknown>[] {
  if (!Array.isArray(answer)) return []
  return answer.filter(Array.isArray).map((row: unknown[]) => {
    const pairs = Array.from({ length: row.length / 2 }, (_, i) => [String(row[2 * i]), row[2 * i + 1]])
    return Object.fromEntries(pairs) as Record<string, unknown>
  })
}

/** Reads `[[stream, [[id, [name, value, …]], …]]]`, or null if nothing arrived. */
function toWakeUps(answer: unknown): readonly Hint[] {
  if (!Array.isArray(answer)) return []
  const wakeUps: Hint[] = []
  for (const [, entries] of answer as [string, [string, string[]][]][]) {
    for (const [, fields] of entries) {
      const fieldOf = (name: string) => fields[fields.indexOf(name) + 1] ?? ''
      const key = fieldOf('key')
      if (key === '') continue
      const seq = Number(fieldOf('seq'))
      const organization = (fields.includes('organization') && fieldOf('organization')) || NO_ORGANIZATION
      wakeUps.push({ key: key as ActorKey, seq: Number.isSafeInteger(seq) ? seq : 0, organization })
    }
  }
  return wakeUps
}
