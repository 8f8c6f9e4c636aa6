/**
 * The part that all notifiers share: `wake-up` returns at once, wake-ups of one moment travel together, one write is on
 * its way at a time, and an actor that wake-ups twice meanwhile is carried once. Wake-ups for messages that are not due yet are
 * kept back until they are; those that a closing process keeps are left to the sweep.
 */
import type { Metrics } from '../platform/observability/metrics.ts'
import type { ActorKey, Notifier, WakeUp } from './types.ts'

/** Actors that wait for the write on its way; a notifier that is this far behind drops wake-ups and leaves them to the sweep. */
const MAX_WAITING = 50_000

/** A notifier that wake-ups before its message is due is lost: the clocks of the two run alike, but start apart. */
const LATE_MS = 20

/** `write` may fail: its wake-ups are counted as lost. */
export function createBatchedNotifier(
  name: Notifier['name'],
  metrics: Pick<Metrics, 'lostWakeUps'>,
  write: (wakeUps: readonly WakeUp[]) => Promise<void>,
): Notifier {
  const waiting = new Map<ActorKey, WakeUp>()
  const later = new Set<Timer>()
  let writing: Promise<void> | null = null

  async function flush(): Promise<void> {
    await Promise.resolve() // wake-ups of this moment
    while (waiting.size > 0) {
      const wakeUps = [...waiting.values()]
      waiting.clear()
      await write(wakeUps).catch(() => metrics.lostWakeUps.inc(wakeUps.length))
    }
    writing = null
  }

  function notifyNow(wakeUps: readonly WakeUp[]): void {
    for (const { key, seq, type, organization } of wakeUps) {
      const known = waiting.get(key)
      if (known === undefined && waiting.size >= MAX_WAITING) metrics.lostWakeUps.inc()
      else if (known === undefined || known.seq < seq) waiting.set(key, { key, seq, type, organization })
    }
    writing ??= flush()
  }

  function notifyLater(wakeUp: WakeUp, delayMs: number): void {
    if (later.size >= MAX_WAITING) {
      metrics.lostWakeUps.inc()
      return
    }
    const timer = setTimeout(() => {
      later.delete(timer)
      notifyNow([wakeUp])
    }, delayMs)
    timer.unref()
    later.add(timer)
  }

  return {
    name,
    notify(wakeUps) {
      const now = wakeUps.filter(({ delayMs = 0 }) => delayMs === 0)
      if (now.length > 0) notifyNow(now)
      for (const wakeUp of wakeUps) {
        if (wakeUp.delayMs) notifyLater(wakeUp, wakeUp.delayMs + LATE_MS)
      }
    },
    async close() {
      for (const timer of later) clearTimeout(timer)
      later.clear()
      while (writing !== null) await writing
    },
  }
}
