/**
 * Limits the requests of a worker to the recorder, so that a recorder that hangs costs other work of its pool next to nothing.
 *
 * One request is under way at a time; others wait for it briefly. After a slow one no request is made for a while. A request that is
 * refused is tried again later.
 */

/** The recorder does not answer. `seconds`: when to try again. */
export class CircuitOpen extends Error {
  override readonly name = 'CircuitOpen'

  constructor(readonly seconds: number) {
    super('the recorder answers too slowly')
  }
}

/** The request waited too long for others. `seconds`: when to try again. */
export class Busy extends Error {
  override readonly name = 'Busy'

  constructor(readonly seconds: number) {
    super('other requests to the recorder are under way')
  }
}

export interface CircuitBreaker {
  /** Settles as `work` does. @throws CircuitOpen, Busy */
  run<T>(work: () => Promise<T>): Promise<T>
}

export interface CircuitBreakerTimes {
  /** How long a request waits for its turn. */
  readonly timeoutMs: number
  /** A request that takes longer counts as slow. */
  readonly slowMs: number
  /** How long no request is made after a slow one. */
  readonly pauseMs: number
}

const TIMES: CircuitBreakerTimes = { timeoutMs: 1_000, slowMs: 5_000, pauseMs: 10_000 }

export function createCircuitBreaker({
  timeoutMs,
  slowMs,
  pauseMs,
}: CircuitBreakerTimes = TIMES): CircuitBreaker {
  const waiting: (() => void)[] = []
  let startedAt: number | null = null
  let pausedUntil = 0

  /** Takes the place if it is free. @returns otherwise a promise for it. @throws CircuitOpen */
  function enter(): Promise<void> | null {
    const now = performance.now()
    if (now < pausedUntil) throw new CircuitOpen((pausedUntil - now) / 1_000)
    if (startedAt === null) {
      startedAt = now
      return null
    }
    if (now - startedAt > slowMs) throw new CircuitOpen(pauseMs / 1_000)
    return turn()
  }

  /** Waits for the place. @throws Busy */
  function turn(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const go = () => {
      clearTimeout(timer)
      resolve()
    }
    const timer = setTimeout(() => {
      waiting.splice(waiting.indexOf(go), 1)
      reject(new Busy(1))
    }, timeoutMs)
    waiting.push(go)
    return promise
  }

  return {
    async run(work) {
      // Without a wait in between, so that no other one takes the place as well.
      const place = enter()
      if (place !== null) await place
      const began = performance.now()
      startedAt = began
      try {
        return await work()
      } finally {
        const ended = performance.now()
        if (ended - began > slowMs) pausedUntil = ended + pauseMs
        // Whoever waits takes the place over, without letting another one in between.
        const next = waiting.shift()
        startedAt = next === undefined ? null : ended
        next?.()
      }
    },
  }
}
