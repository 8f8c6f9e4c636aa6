/** Whether a theme rises: the last seven full days against the mean of the four weeks before. Pure. */

export const RECENT_DAYS = 7
export const EARLIER_WEEKS = 4
const LEAST = 5
/** How improbable so many items must be if nothing had changed. */
const IMPROBABLE = 0.01
/** Without an earlier item, as if there had been one in this many weeks. */
const WEEKS_WITHOUT = 8

export interface Trend {
  /** Items of the last seven full days. */
  readonly recent: number
  /** Items a week in the four weeks before. */
  readonly before: number
  readonly rising: boolean
}

/** `earlier`: items of the four weeks before the last seven days. */
export function trendOf(recent: number, earlier: number): Trend {
  const before = earlier / EARLIER_WEEKS
  const expected = Math.max(before, 1 / WEEKS_WITHOUT)
  return { recent, before, rising: recent >= LEAST && tail(recent, expected) < IMPROBABLE }
}

/** The probability of `count` or more where `mean` are expected (Poisson). */
export function tail(count: number, mean: number): number {
  let term = Math.exp(-mean)
  let below = 0
  for (let k = 0; k < count; k++) {
    below += term
    term *= mean / (k + 1)
  }
  return Math.max(0, 1 - below)
}

/** The order of rising themes: how far beyond what is expected, in standard deviations. Ones that do not rise come last. */
export function riseOf({ recent, before, rising }: Trend): number {
  const excess = (recent - before) / Math.sqrt(Math.max(before, 1 / WEEKS_WITHOUT))
  return rising ? 1_000_000 + excess : excess
}
