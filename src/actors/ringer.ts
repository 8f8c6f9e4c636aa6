/**
 * The part that all doorbells share: `ring` returns at once, rings of one moment travel together, one write is on
 * its way at a time, and an actor that rings twice meanwhile is carried once. Rings for letters that are not due yet are
 * kept back until they are; those that a closing process keeps are left to the sweep.
 */
import type { Metrics } from '../platform/observability/metrics.ts'
import type { ActorKey, Doorbell, Envelope } from './types.ts'

/** Actors that wait for the write on its way; a bell that is this far behind drops rings and leaves them to the sweep. */
const MAX_WAITING = 50_000

/** A bell that rings before its letter is due is lost: the clocks of the two run alike, but start apart. */
const LATE_MS = 20

/** `write` may fail: its rings are counted as lost. */
export function createRinger(
  name: Doorbell['name'],
  metrics: Pick<Metrics, 'lostRings'>,
  write: (envelopes: readonly Envelope[]) => Promise<void>,
): Doorbell {
  const waiting = new Map<ActorKey, Envelope>()
  const later = new Set<Timer>()
  let writing: Promise<void> | null = null

  async function flush(): Promise<void> {
    await Promise.resolve() // rings of this moment
    while (waiting.size > 0) {
      const envelopes = [...waiting.values()]
      waiting.clear()
      await write(envelopes).catch(() => metrics.lostRings.inc(envelopes.length))
    }
    writing = null
  }

  function ringNow(envelopes: readonly Envelope[]): void {
    for (const { key, seq, type, organization } of envelopes) {
      const known = waiting.get(key)
      if (known === undefined && waiting.size >= MAX_WAITING) metrics.lostRings.inc()
      else if (known === undefined || known.seq < seq) waiting.set(key, { key, seq, type, organization })
    }
    writing ??= flush()
  }

  function ringLater(envelope: Envelope, delayMs: number): void {
    if (later.size >= MAX_WAITING) {
      metrics.lostRings.inc()
      return
    }
    const timer = setTimeout(() => {
      later.delete(timer)
      ringNow([envelope])
    }, delayMs)
    timer.unref()
    later.add(timer)
  }

  return {
    name,
    ring(envelopes) {
      const now = envelopes.filter(({ delayMs = 0 }) => delayMs === 0)
      if (now.length > 0) ringNow(now)
      for (const envelope of envelopes) {
        if (envelope.delayMs) ringLater(envelope, envelope.delayMs + LATE_MS)
      }
    },
    async close() {
      for (const timer of later) clearTimeout(timer)
      later.clear()
      while (writing !== null) await writing
    },
  }
}
