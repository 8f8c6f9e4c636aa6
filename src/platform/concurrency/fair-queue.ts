/**
 * The fair queue: callers (organizations) share what is limited, such as connections, threads, open calls or bytes.
 *
 *     const queue = createFairQueue({ places: 10, share: 'asMuchAsItLeaves', maxOfCaller: 200, maxWaitMs: 10_000 })
 *     await queue.run(organizationId, () => transaction(sql, work))           // waits for a place
 *     await queue.run(organizationId, work, { key: id })                     // and for earlier work with the same key
 *     const leave = queue.enter(organizationId, { weight: bytes })           // a place now, or null
 *
 * - A free place goes to the caller that holds least. Among equals, it goes to the one that waited longest since its last turn.
 * - No caller holds more than its share, so others always find a place. The first work of a caller needs only room.
 * - Work with the same key runs one at a time, in the order of its arrival. It takes a place only when it is its turn.
 * - Work has a weight (default 1), and a place is one unit of it. Work that weighs more than there are places runs alone.
 * - What waits is bounded by number and by time. It is refused with the error of `refusal`.
 * - Work runs in the async context of its caller, whoever has made room for it.
 *
 * It is linear: an entry costs one step for each caller that waits, and none for each waiting entry.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { AppError } from '../errors.ts'
import { FairLine } from './fair-line.ts'

export interface FairQueueOptions {
  /** What can be held at a time. */
  readonly places: number
  /**
   * Most that one caller holds, by default all places but one (one if there is only one). With `asMuchAsItLeaves` a caller may hold
   * as much as stays free for others: alone half of all, two a third each.
   */
  readonly share?: number | 'asMuchAsItLeaves'
  /**
   * Most that one caller holds, while others come, of work that began lately: what takes longer mostly waits for a lock. For work that
   * uses processors, of which there are fewer than places: more at a time is not quicker, and slows what others do. Only for work of `run`.
   * Default: its share.
   */
  readonly shareBesideOthers?: number
  /** Most entries of one caller, inside and waiting. Default: no limit. */
  readonly maxOfCaller?: number
  /** Longest wait of an entry. Default: no limit. */
  readonly maxWaitMs?: number
  /** The error of an entry that exceeds a limit. Default: 503 `unavailable`. */
  readonly refusal?: () => Error
  /** Milliseconds of a clock that is never set. For tests. */
  readonly now?: () => number
}

export interface Entry {
  readonly weight?: number
  /** What the work locks. The same key is never used by two callers. */
  readonly key?: string | undefined
}

export interface FairQueue {
  /** Runs `work` in the caller's turn. Settles as `work` does. @throws the error of `refusal` */
  run<T>(caller: string, work: () => Promise<T>, entry?: Entry): Promise<T>
  /** Takes a place at once. @returns how to leave it; null if there is no room, or the caller has its share */
  enter(caller: string, entry?: Pick<Entry, 'weight'>): (() => void) | null
}

/** Others come while the last entry of another caller is at most so many milliseconds old. */
const OTHERS_MS = 1_000
/** Work began lately. */
const LATELY_MS = 500

interface Waiting {
  readonly caller: string
  readonly weight: number
  readonly key: string | undefined
  readonly begin: () => Promise<void>
  /** In the line, not behind others with its key. */
  isInLine: boolean
  /** It was refused while it waited. */
  isGone: boolean
}

export function createFairQueue(options: FairQueueOptions): FairQueue {
  const { places, maxOfCaller = Number.POSITIVE_INFINITY, maxWaitMs, refusal = unavailable } = options
  const {
    share = Math.max(1, places - 1),
    shareBesideOthers = Number.POSITIVE_INFINITY,
    now = () => performance.now(),
  } = options
  const isShareSmaller = shareBesideOthers < Number.POSITIVE_INFINITY
  const held = new Amounts()
  /** Of what is held, what began lately. */
  const young = new Amounts()
  const entries = new Amounts()
  const line = new FairLine<Waiting>((caller) => held.of(caller))
  /** By key that is in the line or inside: what waits behind it. */
  const behind = new Map<string, Waiting[]>()
  let taken = 0
  /** The two callers that came last, and when. */
  let newest = NOBODY
  let other = NOBODY

  function arrive(caller: string): void {
    if (caller !== newest.caller) other = newest
    newest = { caller, at: now() }
  }

  const hasOthers = (caller: string) => now() - (newest.caller === caller ? other : newest).at < OTHERS_MS
  const hasRoom = (weight: number) => taken === 0 || taken + weight <= places
  const isWithinShare = (caller: string, weight: number) => {
    const own = held.of(caller)
    if (own === 0) return true
    if (young.of(caller) + weight > shareBesideOthers && hasOthers(caller)) return false
    return own + weight <= (share === 'asMuchAsItLeaves' ? places - taken - weight : share)
  }

  function hold(caller: string, weight: number): void {
    taken += weight
    held.add(caller, weight)
  }

  function start(): void {
    for (;;) {
      const next = line.next((caller, [first]) =>
        first !== undefined && (first.isGone || isWithinShare(caller, first.weight)) ? 0 : -1,
      )
      // Heavy work that needs more room keeps its turn. Otherwise lighter work could always come first.
      if (next === null || !(next.item.isGone || hasRoom(next.item.weight))) return
      line.remove(next)
      if (!next.item.isGone) void follow(next.item)
    }
  }

  async function follow(waiting: Waiting): Promise<void> {
    const { caller, weight } = waiting
    hold(caller, weight)
    young.add(caller, weight)
    let isYoung = true
    const age = () => {
      if (isYoung) young.add(caller, -weight)
      isYoung = false
    }
    const timer = isShareSmaller
      ? setTimeout(() => {
          age()
          start()
        }, LATELY_MS)
      : undefined
    await waiting.begin()
    clearTimeout(timer)
    age()
    hold(caller, -weight)
    entries.add(caller, -1)
    passKey(waiting)
    start()
  }

  function join(waiting: Waiting): void {
    const { key } = waiting
    const others = key === undefined ? undefined : behind.get(key)
    if (others !== undefined) {
      others.push(waiting)
      return
    }
    if (key !== undefined) behind.set(key, [])
    waiting.isInLine = true
    line.add(waiting.caller, waiting)
  }

  /** The next work with the same key joins the line. */
  function passKey({ key }: Waiting): void {
    if (key === undefined) return
    const others = behind.get(key) ?? []
    let next = others.shift()
    while (next?.isGone) next = others.shift()
    if (next === undefined) {
      behind.delete(key)
      return
    }
    next.isInLine = true
    line.add(next.caller, next)
  }

  function refuse(waiting: Waiting): void {
    waiting.isGone = true
    entries.add(waiting.caller, -1)
    if (waiting.isInLine) passKey(waiting)
    start()
  }

  return {
    run<T>(caller: string, work: () => Promise<T>, { weight = 1, key }: Entry = {}): Promise<T> {
      if (entries.of(caller) >= maxOfCaller) return Promise.reject(refusal())
      const { promise, resolve, reject } = Promise.withResolvers<T>()
      const inContext = AsyncLocalStorage.snapshot()
      let timer: Timer | undefined
      let hasBegun = false
      const begin = () => {
        hasBegun = true
        clearTimeout(timer)
        return inContext(() => Promise.try(work).then(resolve, reject))
      }
      const waiting: Waiting = { caller, weight, key, begin, isInLine: false, isGone: false }
      arrive(caller)
      entries.add(caller, 1)
      join(waiting)
      start()
      if (maxWaitMs !== undefined && !hasBegun)
        timer = setTimeout(() => {
          refuse(waiting)
          reject(refusal())
        }, maxWaitMs)
      return promise
    },

    enter(caller, { weight = 1 } = {}) {
      if (entries.of(caller) >= maxOfCaller) return null
      if (!hasRoom(weight) || !isWithinShare(caller, weight)) return null
      hold(caller, weight)
      entries.add(caller, 1)
      let isInside = true
      return () => {
        if (!isInside) return
        isInside = false
        hold(caller, -weight)
        entries.add(caller, -1)
        start()
      }
    },
  }
}

interface Arrival {
  readonly caller: string | null
  readonly at: number
}

const NOBODY: Arrival = { caller: null, at: Number.NEGATIVE_INFINITY }

export interface FairPool<P> {
  /** Runs `work` with the first free place when it is the caller's turn. Settles as `work` does. */
  run<T>(caller: string, work: (place: P) => Promise<T>): Promise<T>
}

/** A fair queue whose places are things, such as threads. The last ones stay idle longest. */
export function createFairPool<P>(places: readonly P[]): FairPool<P> {
  const queue = createFairQueue({ places: places.length })
  const busy = new Set<P>()
  return {
    run: (caller, work) =>
      queue.run(caller, async () => {
        const place = places.find((one) => !busy.has(one)) as P
        busy.add(place)
        try {
          return await work(place)
        } finally {
          busy.delete(place)
        }
      }),
  }
}

/** Amounts by caller. */
class Amounts {
  readonly #amounts = new Map<string, number>()

  of(caller: string): number {
    return this.#amounts.get(caller) ?? 0
  }

  add(caller: string, amount: number): void {
    const sum = this.of(caller) + amount
    if (sum === 0) this.#amounts.delete(caller)
    else this.#amounts.set(caller, sum)
  }
}

function unavailable(): AppError {
  return new AppError(
    'unavailable',
    'Too many requests of this caller wait for each other. Try again shortly.',
    { headers: { 'retry-after': '1' } },
  )
}
