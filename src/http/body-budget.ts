/**
 * The memory that JSON request bodies may take in one process, and the time that one may take to arrive.
 *
 * Each body has a size limit of its own, but many at once would still take all memory. So the bytes of all bodies are counted
 * from their arrival until the request is answered, and a request that does not fit is refused with 503. Three rules keep one
 * client from locking out the others:
 *
 * - Only bytes that have arrived are counted, never announced ones.
 * - A caller may hold as much as it leaves free for others ("dynamic threshold" of shared buffers: Choudhury and Hahne, 1998).
 *   One caller gets half of the budget at most, two get a third each, and a quiet caller always finds room.
 * - A body that has not arrived as a whole by the deadline is refused with 408. A small body is counted only once it is complete,
 *   because the runtime does not show its parts; if it is slow, its announced length is counted for its caller instead.
 */
import { AppError } from '../platform/errors.ts'

export interface BodyBudgetOptions {
  /** Bytes of all bodies together. */
  readonly maxBytes: number
  /** From the first look at a body until its last byte. */
  readonly deadlineMs: number
}

/** What one request holds of the budget. */
export interface BodyLease {
  /** Counts bytes that are in memory. @throws AppError 503 `unavailable` where they do not fit */
  take(bytes: number): void
  /** @throws AppError 503 `unavailable` where so many more bytes would not fit at present */
  check(bytes: number): void
  /**
   * Waits for a part of the body, which the caller counts, or for a whole one of `wholeBytes`, which is counted here. The
   * deadline runs from the first call of a request.
   * @throws AppError 408 `body_too_slow` at the deadline; 503 where a whole body does not fit; what `arrival` rejects with
   */
  arrived<T>(arrival: Promise<T>, wholeBytes?: number): Promise<T>
}

export interface BodyBudget {
  /** Runs `work`; what it took is free again when it has settled. `caller` names who shares with whom. */
  lease<T>(caller: string, work: (lease: BodyLease) => Promise<T>): Promise<T>
}

/** A body that takes longer is slow. Also the precision of the deadline. */
const SLOW_MS = 1_000

/** A budget for one process. A request that is alone fits, however large its body is. */
export function createBodyBudget({ maxBytes, deadlineMs }: BodyBudgetOptions): BodyBudget {
  const account = createAccount(maxBytes)
  const watch = createWatch(deadlineMs)
  return {
    async lease(caller, work) {
      const { take, check, close } = account.open(caller)
      let arrival: Arrival | null = null
      try {
        return await work({
          take,
          check,
          arrived(promise, wholeBytes = 0) {
            arrival ??= newArrival(take)
            return watch(arrival, promise, wholeBytes)
          },
        })
      } finally {
        close()
      }
    },
  }
}

/** Counts bytes by caller. */
function createAccount(maxBytes: number) {
  const held = new Map<string, number>()
  let taken = 0
  const add = (caller: string, bytes: number) => {
    taken += bytes
    const rest = (held.get(caller) ?? 0) + bytes
    if (rest === 0) held.delete(caller)
    else held.set(caller, rest)
  }
  return {
    open(caller: string) {
      let mine = 0
      const check = (bytes: number) => {
        if (taken === mine) return
        if (taken + bytes > maxBytes) throw unavailable('Too many large requests are under way.')
        const ours = held.get(caller) ?? 0
        if (ours > mine && ours + bytes > maxBytes - taken - bytes)
          throw unavailable('Too many large requests of this caller are under way.')
      }
      return {
        check,
        take(bytes: number) {
          check(bytes)
          mine += bytes
          add(caller, bytes)
        },
        close: () => add(caller, -mine),
      }
    },
  }
}

/** A body on its way. */
interface Arrival {
  readonly since: number
  readonly count: (bytes: number) => void
  readonly refused: PromiseWithResolvers<never>
  /** Of a whole body that shows only its end; 0 where there is none, or it is counted. */
  uncounted: number
}

function newArrival(count: Arrival['count']): Arrival {
  const refused = Promise.withResolvers<never>()
  // The body may arrive in the same moment, so that nobody waits for the refusal.
  refused.promise.catch(() => {})
  return { since: performance.now(), count, refused, uncounted: 0 }
}

/** Waits for bodies, with one timer for all of them: a timer for each request would cost more than reading it. */
function createWatch(deadlineMs: number) {
  const waiting = new Set<Arrival>()
  let timer: Timer | null = null

  function look(): void {
    const now = performance.now()
    for (const arrival of waiting) judge(arrival, now - arrival.since)
    if (waiting.size > 0 || timer === null) return
    clearInterval(timer)
    timer = null
  }

  function judge(arrival: Arrival, ageMs: number): void {
    try {
      if (ageMs >= deadlineMs) throw tooSlow(deadlineMs)
      if (ageMs >= SLOW_MS) countWhole(arrival)
    } catch (error) {
      arrival.refused.reject(error)
    }
  }

  return async <T>(arrival: Arrival, promise: Promise<T>, wholeBytes: number): Promise<T> => {
    arrival.uncounted = wholeBytes
    waiting.add(arrival)
    timer ??= setInterval(look, Math.min(SLOW_MS, deadlineMs))
    timer.unref()
    try {
      const value = await Promise.race([promise, arrival.refused.promise])
      countWhole(arrival)
      return value
    } finally {
      waiting.delete(arrival)
    }
  }
}

function countWhole(arrival: Arrival): void {
  const bytes = arrival.uncounted
  arrival.uncounted = 0
  if (bytes > 0) arrival.count(bytes)
}

function unavailable(message: string): AppError {
  return new AppError('unavailable', `${message} Try again shortly.`, { headers: { 'retry-after': '1' } })
}

function tooSlow(deadlineMs: number): AppError {
  return new AppError(
    'body_too_slow',
    `The request body did not arrive as a whole within ${Math.ceil(deadlineMs / 1000)} s.`,
    { headers: { connection: 'close' } },
  )
}
