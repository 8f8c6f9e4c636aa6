/**
 * Limits the memory of JSON request bodies in one process, and the time that a body may take to arrive.
 *
 * Each body has its own size limit, but many at once would still use all memory. The bytes of all bodies are therefore
 * counted from their arrival until their request is answered, and a request that does not fit is refused with 503.
 * Four rules prevent one client from locking out the others:
 *
 * - Only bytes that have arrived are counted, never announced ones.
 * - A caller may use as much as it leaves free for others ("dynamic threshold" of shared buffers: Choudhury and Hahne,
 * 1998). One caller can use half of the budget, two a third each, and a caller with few requests always finds room.
 * - A compressed body is decompressed when it is its caller's turn, and counts what it becomes before it becomes so.
 * - A body that has not arrived completely by the deadline is refused with 408. A small body is counted only when
 * complete, because the runtime does not expose its parts. If it is slow, its announced length is counted instead.
 */
import { createFairQueue } from '../platform/concurrency/fair-queue.ts'
import { createTurns } from '../platform/concurrency/turns.ts'
import { AppError } from '../platform/errors.ts'

export interface BodyBudgetOptions {
  /** Bytes of all bodies together. */
  readonly maxBytes: number
  /** Time from the start of reading a body to its last byte. */
  readonly deadlineMs: number
}

/** The part of the budget that one request uses. */
export interface BodyLease {
  /** Counts bytes in memory. @throws AppError 503 `unavailable` if they do not fit */
  take(bytes: number): void
  /** @throws AppError 503 `unavailable` if this many more bytes would not fit now */
  check(bytes: number): void
  /** Releases bytes that are no longer in memory. */
  give(bytes: number): void
  /** Decompresses the body when it is the caller's turn. Settles as `work` does. @throws AppError 503 `unavailable` */
  inTurn<T>(work: () => Promise<T>): Promise<T>
  /**
   * Waits for a part of the body, which the caller counts, or for a whole one of `wholeBytes`, which is counted here.
   * The deadline starts with the first call of a request.
   * @throws AppError 408 `body_too_slow` at the deadline; 503 if a whole body does not fit; the rejection of `arrival`
   */
  arrived<T>(arrival: Promise<T>, wholeBytes?: number): Promise<T>
}

export interface BodyBudget {
  /**
   * Runs `work` and releases its bytes when it has settled. Requests with the same `caller` share one part of the
   * budget.
   */
  lease<T>(caller: string, work: (lease: BodyLease) => Promise<T>): Promise<T>
}

/** Bodies that are decompressed at a time: of one caller one. Each takes a thread for some milliseconds. */
const DECOMPRESSED_TOGETHER = 2
/** Those that wait, too. */
const MAX_DECOMPRESSED_OF_CALLER = 1_000
/** A body that takes longer counts as slow. Also the precision of the deadline. */
const SLOW_MS = 1_000
/** Thousands may be slow at the same moment. Each costs an error and an answer. */
const REFUSALS_PER_ROUND = 50

/** A budget for one process. A single request always fits, however large its body is. */
export function createBodyBudget({ maxBytes, deadlineMs }: BodyBudgetOptions): BodyBudget {
  const account = createAccount(maxBytes)
  const watch = createWatch(deadlineMs)
  const turns = createFairQueue({
    places: DECOMPRESSED_TOGETHER,
    maxOfCaller: MAX_DECOMPRESSED_OF_CALLER,
    maxWaitMs: deadlineMs,
  })
  return {
    async lease(caller, work) {
      const { take, check, give, close } = account.open(caller)
      let arrival: Arrival | null = null
      try {
        return await work({
          take,
          check,
          give,
          inTurn: (decompress) => turns.run(caller, decompress),
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
        if (taken + bytes > maxBytes) throw unavailable('Too many large requests are in progress.')
        const ours = held.get(caller) ?? 0
        if (ours > mine && ours + bytes > maxBytes - taken - bytes)
          throw unavailable('Too many large requests of this caller are in progress.')
      }
      return {
        check,
        take(bytes: number) {
          check(bytes)
          mine += bytes
          add(caller, bytes)
        },
        give(bytes: number) {
          mine -= bytes
          add(caller, -bytes)
        },
        close: () => add(caller, -mine),
      }
    },
  }
}

/** A body that is arriving. */
interface Arrival {
  readonly since: number
  readonly count: (bytes: number) => void
  readonly refused: PromiseWithResolvers<never>
  /** Bytes of a body that arrives in one piece; 0 if there is none, or it is counted. */
  uncounted: number
}

function newArrival(count: Arrival['count']): Arrival {
  const refused = Promise.withResolvers<never>()
  // If the body arrives at the same moment, the refusal has no other handler.
  refused.promise.catch(() => {})
  return { since: performance.now(), count, refused, uncounted: 0 }
}

/** Waits for bodies with a single timer, because a timer for each request would cost more than reading it. */
function createWatch(deadlineMs: number) {
  const waiting = new Set<Arrival>()
  const turn = createTurns(REFUSALS_PER_ROUND)
  let timer: Timer | null = null
  let isChecking = false

  async function checkAll(): Promise<void> {
    if (isChecking) return
    isChecking = true
    for (const arrival of waiting) if (isRefused(arrival)) await turn('', 1)
    isChecking = false
    if (waiting.size > 0 || timer === null) return
    clearInterval(timer)
    timer = null
  }

  function isRefused(arrival: Arrival): boolean {
    const ageMs = performance.now() - arrival.since
    try {
      if (ageMs >= deadlineMs) throw tooSlow(deadlineMs)
      if (ageMs >= SLOW_MS) countWhole(arrival)
      return false
    } catch (error) {
      arrival.refused.reject(error)
      return true
    }
  }

  return async <T>(arrival: Arrival, promise: Promise<T>, wholeBytes: number): Promise<T> => {
    arrival.uncounted = wholeBytes
    waiting.add(arrival)
    timer ??= setInterval(checkAll, Math.min(SLOW_MS, deadlineMs))
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
    `The request body did not arrive completely within ${Math.ceil(deadlineMs / 1000)} s.`,
    { headers: { connection: 'close' } },
  )
}
