/** Response times of concurrent callers that each send requests in sequence. */

export interface Percentiles {
  readonly p50: number
  readonly p99: number
  readonly p999: number
  /** Requests a second. */
  readonly rate: number
}

/** The least number of requests, so that p99.9 is meaningful. */
const AT_LEAST = 2_000

/**
 * Milliseconds of `send` with this many callers, for `ms` or until `AT_LEAST` requests are done, but for at most five
 * times `ms`. The first tenth of the time is a warm-up and does not count.
 */
export async function percentilesOf(
  callers: number,
  ms: number,
  send: () => Promise<void>,
): Promise<Percentiles> {
  const times: number[] = []
  const warmUntil = performance.now() + ms / 10
  const started = warmUntil
  const goesOn = (now: number) => now < started + ms || (times.length < AT_LEAST && now < started + 5 * ms)
  const caller = async () => {
    for (let now = performance.now(); goesOn(now); ) {
      await send()
      const end = performance.now()
      if (now >= warmUntil) times.push(end - now)
      now = end
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  const seconds = (performance.now() - started) / 1_000
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
  return { p50: at(0.5), p99: at(0.99), p999: at(0.999), rate: times.length / seconds }
}
