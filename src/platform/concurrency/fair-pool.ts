/**
 * A few places (threads, processes) that callers share fairly.
 *
 * Callers take turns. One caller never occupies all places, unless there is only one. So a caller whose work hangs delays only
 * itself.
 */
import { createRoundRobinQueue } from './round-robin-queue.ts'

export interface FairPool<P> {
  /** Runs `work` in the first free place when it is the caller's turn. Settles as `work` does. */
  run<T>(caller: string, work: (place: P) => Promise<T>): Promise<T>
}

interface Waiting<P> {
  readonly caller: string
  /** Never rejects. */
  readonly work: (place: P) => Promise<void>
}

/** Work begins in the first free place of `places`, so the last ones stay idle longest. */
export function createFairPool<P>(places: readonly P[]): FairPool<P> {
  const free = new Set(places)
  const queue = createRoundRobinQueue<Waiting<P>>()
  const running = new Map<string, number>()
  const mostOfOneCaller = Math.max(1, places.length - 1)

  const firstOrNone = (caller: string) => ((running.get(caller) ?? 0) < mostOfOneCaller ? 0 : -1)

  function start(): void {
    for (const place of places) {
      if (!free.has(place)) continue
      const waiting = queue.take(firstOrNone)
      if (waiting === null) return
      void follow(place, waiting)
    }
  }

  async function follow(place: P, { caller, work }: Waiting<P>): Promise<void> {
    free.delete(place)
    running.set(caller, (running.get(caller) ?? 0) + 1)
    await work(place)
    free.add(place)
    const left = (running.get(caller) ?? 0) - 1
    if (left === 0) running.delete(caller)
    else running.set(caller, left)
    start()
  }

  return {
    run<T>(caller: string, work: (place: P) => Promise<T>): Promise<T> {
      const settled = Promise.withResolvers<T>()
      queue.add(caller, { caller, work: (place) => work(place).then(settled.resolve, settled.reject) })
      start()
      return settled.promise
    },
  }
}
