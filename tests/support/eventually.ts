/** Waits for something that happens by itself. Tests never sleep for a fixed time. */

export interface EventuallyOptions {
  readonly deadlineMs?: number
  /** The pause between two attempts. Default: it grows with the time that has passed, and with what an attempt takes. */
  readonly everyMs?: number
}

const [SHORTEST_PAUSE_MS, LONGEST_PAUSE_MS] = [20, 250]
/** The pause is at least this part of the time that has passed. */
const PART_OF_ELAPSED = 1 / 20
/** The pause is at least so many times as long as an attempt, so that waiting leaves the processor to what is awaited. */
const TIMES_AN_ATTEMPT = 4

const pauseMs = (elapsedMs: number, attemptMs: number) =>
  Math.min(
    LONGEST_PAUSE_MS,
    Math.max(SHORTEST_PAUSE_MS, elapsedMs * PART_OF_ELAPSED, attemptMs * TIMES_AN_ATTEMPT),
  )

/**
 * Calls `attempt` until it neither throws nor returns `false`. Returns the result.
 * @throws the error of the last attempt after the deadline (100 s, for machines with much else to do)
 */
export async function eventually<T>(
  attempt: () => T | Promise<T>,
  { deadlineMs = 100_000, everyMs }: EventuallyOptions = {},
): Promise<Exclude<T, false>> {
  const started = performance.now()
  const deadline = started + deadlineMs
  for (;;) {
    const begun = performance.now()
    try {
      const value = await attempt()
      if (value !== false) return value as Exclude<T, false>
      if (performance.now() > deadline) throw new Error(`still false after ${deadlineMs} ms: ${attempt}`)
    } catch (error) {
      if (performance.now() > deadline) throw error
    }
    const now = performance.now()
    await Bun.sleep(everyMs ?? pauseMs(now - started, now - begun))
  }
}
