/**
 * Spreads what is ready at the same moment over rounds of the event loop, so that network I/O goes on in between. Callers take turns.
 */
import { FairLine } from './fair-line.ts'

/** Returns undefined if the work may start in this round, else a promise that resolves in a later round. */
export type Turns = (caller: string, units: number) => Promise<void> | undefined

/** In one round starts as much work as begins within `unitsPerRound`. */
export function createTurns(unitsPerRound: number): Turns {
  let left = unitsPerRound
  let isScheduled = false
  const waiting = new FairLine<{ readonly units: number; readonly resolve: () => void }>()

  function scheduleRound(): void {
    if (isScheduled) return
    isScheduled = true
    setImmediate(() => {
      isScheduled = false
      left = unitsPerRound
      for (let next = waiting.take(); next !== null; next = left > 0 ? waiting.take() : null) {
        left -= next.units
        next.resolve()
      }
      if (!waiting.isEmpty) scheduleRound()
    })
  }

  return (caller, units) => {
    scheduleRound()
    if (left > 0 && waiting.isEmpty) {
      left -= units
      return undefined
    }
    return new Promise((resolve) => waiting.add(caller, { units, resolve }))
  }
}
