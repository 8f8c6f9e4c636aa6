/**
 * The part that all doorbells share: `ring` returns at once, rings of one moment travel together, one write is on
 * its way at a time, and an actor that rings twice meanwhile is carried once.
 */
import type { Metrics } from '../platform/metrics.ts'
import type { ActorKey, Doorbell, Envelope } from './types.ts'

/** Actors that wait for the write on its way; a bell that is this far behind drops rings and leaves them to the sweep. */
const MAX_WAITING = 50_000

/** `write` may fail: its rings are counted as lost. */
export function createRinger(
  name: Doorbell['name'],
  metrics: Pick<Metrics, 'lostRings'>,
  write: (envelopes: readonly Envelope[]) => Promise<void>,
): Doorbell {
  const waiting = new Map<ActorKey, Envelope>()
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

  return {
    name,
    ring(envelopes) {
      for (const { key, seq, type } of envelopes) {
        const known = waiting.get(key)
        if (known === undefined && waiting.size >= MAX_WAITING) metrics.lostRings.inc()
        else if (known === undefined || known.seq < seq) waiting.set(key, { key, seq, type })
      }
      writing ??= flush()
    },
    async close() {
      while (writing !== null) await writing
    },
  }
}
