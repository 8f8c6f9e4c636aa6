/**
 * The part that all notifiers share. `notify` returns at once, and wake-ups of one moment travel together. Only one write
 * runs at a time; several wake-ups for one actor meanwhile become one. A wake-up for a message that is not due yet is
 * kept until it is due. When the process closes, it drops these, and the sweep finds their messages.
 */
import type { Metrics } from '../platform/observability/metrics.ts'
import type { ActorKey, Notifier, WakeUp } from './types.ts'

/** The most actors that may wait for the running write. A notifier that is further behind drops wake-ups; the sweep finds their messages. */
const MAX_WAITING = 50_000

/** A wake-up that arrives before its message is due has no effect. This margin covers the offset between the two clocks. */
const LATE_MS = 20

/** If `write` fails, its wake-ups are counted as lost. */
export function createBatchedNotifier(
  name: Notifier['name'],
  metrics: Pick<Metrics, 'lostWakeUps'>,
  write: (wakeUps: readonly WakeUp[]) => Promise<void>,
): Notifier {
  const waiting = new Map<ActorKey, WakeUp>()
  const later = new Set<Timer>()
  let writing: Promise<void> | null = null

  async function flush(): Promise<void> {
    await Promise.resolve() // collects all wake-ups of this moment
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
