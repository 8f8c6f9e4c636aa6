/** Waits for something that happens by itself. Tests never sleep for a fixed time. */

export interface EventuallyOptions {
  readonly deadlineMs?: number
  readonly everyMs?: number
}

/**
 * Calls `attempt` until it neither throws nor returns `false`. Returns the result.
 * @throws the error of the last attempt after the deadline (20 s)
 */
export async function eventually<T>(
  attempt: () => T | Promise<T>,
  { deadlineMs = 20_000, everyMs = 20 }: EventuallyOptions = {},
): Promise<Exclude<T, false>> {
  const deadline = performance.now() + deadlineMs
  for (;;) {
    try {
      const value = await attempt()
      if (value !== false) return value as Exclude<T, false>
      if (performance.now() > deadline) throw new Error(`still false after ${deadlineMs} ms: ${attempt}`)
    } catch (error) {
      if (performance.now() > deadline) throw error
    }
    await Bun.sleep(everyMs)
  }
}
