/**
 * Counts in fixed windows, shared through Redis, or in this process without Redis.
 *
 * The count is exact. One key has at most one round trip to Redis in progress. Requests that arrive meanwhile share the
 * next one and are admitted in order, so a busy caller costs one round trip per batch. While Redis does not answer, the
 * process counts alone.
 */
import {
  type RateLimiterAbstract,
  RateLimiterMemory,
  RateLimiterRedis,
  RateLimiterRes,
} from 'rate-limiter-flexible'
import type { Log } from '../platform/observability/log.ts'
import type { Redis } from '../platform/redis.ts'

export interface Window {
  /** Names the counters of this window in Redis. */
  readonly policy: string
  readonly limit: number
  readonly windowSeconds: number
}

export interface Consumed {
  readonly allowed: boolean
  readonly remaining: number
  /** Milliseconds until the window ends. */
  readonly resetMs: number
}

/** One counter; never rejects. */
export interface WindowCounter {
  /** Counts one request of a key. */
  consume(key: string): Promise<Consumed>
  /** State of the key without counting; `allowed` applies to a request at this moment. */
  peek(key: string): Promise<Consumed>
}

/**
 * Redis is not used for this time after it failed to answer, because a hanging one would delay every request by its
 * time-out.
 */
const REDIS_PAUSE_MS = 2_000

export function createWindow(
  { redis, log }: { readonly redis: Redis | null; readonly log: Log },
  { policy, limit, windowSeconds }: Window,
): WindowCounter {
  const options = { keyPrefix: `earshot:limit:${policy}`, points: limit, duration: windowSeconds }
  const local = counting(new RateLimiterMemory(options))
  if (redis === null) return local
  const shared = counting(
    new RateLimiterRedis({ ...options, storeClient: redis, rejectIfRedisNotReady: true }),
  )
  let pausedUntil = 0
  const ask = async (question: keyof WindowCounter, key: string) => {
    if (performance.now() < pausedUntil) return local[question](key)
    try {
      return await shared[question](key)
    } catch (error) {
      // Only one of the concurrent requests logs the failure.
      const alreadyKnown = performance.now() < pausedUntil
      pausedUntil = performance.now() + REDIS_PAUSE_MS
      if (!alreadyKnown)
        log.warn(
          { err: error, policy },
          'this process counts rate limits alone because Redis does not answer',
        )
      return local[question](key)
    }
  }
  return { consume: (key) => ask('consume', key), peek: (key) => ask('peek', key) }
}

/** Both operations of one library limiter. They reject if its store fails. */
function counting(limiter: RateLimiterAbstract): WindowCounter {
  return {
    consume: inBatches(limiter),
    async peek(key) {
      const result = await limiter.get(key)
      const remaining = Math.max(0, limiter.points - (result?.consumedPoints ?? 0))
      const resetMs = result === null ? limiter.msDuration : withinWindow(limiter, result)
      return { allowed: remaining > 0, remaining, resetMs }
    },
  }
}

/** Requests of one key that are counted together. */
interface Batch {
  size: number
  readonly counted: Promise<Counted>
}

interface Counted {
  /** Requests of the window before those of the batch. */
  readonly before: number
  readonly resetMs: number
}

/** Rejects if the store of the limiter fails. */
function inBatches(limiter: RateLimiterAbstract): WindowCounter['consume'] {
  const forming = new Map<string, Batch>()
  const underWay = new Map<string, Promise<unknown>>()

  /**
   * Waits for the current round trip. Requests that joined until then are counted in the next one, or fail with the
   * current one.
   */
  async function count(key: string): Promise<Counted> {
    let batch: Batch | undefined
    try {
      await underWay.get(key)
    } finally {
      batch = forming.get(key)
      forming.delete(key)
    }
    const trip = take(limiter, key, batch?.size ?? 0)
    underWay.set(key, trip)
    try {
      return await trip
    } finally {
      if (underWay.get(key) === trip) underWay.delete(key)
    }
  }

  return async (key) => {
    let batch = forming.get(key)
    if (batch === undefined) {
      batch = { size: 0, counted: Promise.resolve(key).then(count) }
      forming.set(key, batch)
    }
    const position = ++batch.size
    const { before, resetMs } = await batch.counted
    const remaining = limiter.points - before - position
    return { allowed: remaining >= 0, remaining: Math.max(0, remaining), resetMs }
  }
}

/** The library rejects with a result if the limit is exceeded, and with an error if the store failed. */
async function take(limiter: RateLimiterAbstract, key: string, size: number): Promise<Counted> {
  const result = await limiter.consume(key, size).catch((reason: unknown) => {
    if (reason instanceof RateLimiterRes) return reason
    throw reason
  })
  return { before: result.consumedPoints - size, resetMs: withinWindow(limiter, result) }
}

/** The library tells it by the clock of the machine, which may have been set. */
const withinWindow = (limiter: RateLimiterAbstract, { msBeforeNext }: RateLimiterRes): number =>
  Math.min(msBeforeNext, limiter.msDuration)
