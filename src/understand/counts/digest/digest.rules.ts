/** What grew and what fell between two periods of the same length. Pure. */

export interface Change {
  readonly name: string
  readonly count: number
  /** In the period before. */
  readonly before: number
}

export interface Changes {
  /** The largest growth first. */
  readonly grew: readonly Change[]
  /** The largest loss first. */
  readonly fell: readonly Change[]
}

const MAX_CHANGES = 5
const LEAST_CHANGE = 2

/** The counts of two periods by name. Nothing that has no name. */
export function pairsOf(
  now: ReadonlyMap<string | null, number>,
  before: ReadonlyMap<string | null, number>,
): readonly Change[] {
  const names = new Set([...now.keys(), ...before.keys()])
  return [...names]
    .filter((name) => name !== null)
    .toSorted()
    .map((name) => ({ name, count: now.get(name) ?? 0, before: before.get(name) ?? 0 }))
}

/**
 * At most five that grew and five that fell, by more than chance: two random counts differ by their standard deviation, the square root
 * of their sum (Poisson), in one of three cases.
 */
export function changesOf(pairs: readonly Change[]): Changes {
  const differing = pairs.filter(({ count, before }) => {
    const difference = Math.abs(count - before)
    return difference >= LEAST_CHANGE && difference > Math.sqrt(count + before)
  })
  const largest = (sign: 1 | -1) =>
    differing
      .filter(({ count, before }) => sign * (count - before) > 0)
      .toSorted((a, b) => sign * (b.count - b.before - (a.count - a.before)) || (a.name < b.name ? -1 : 1))
      .slice(0, MAX_CHANGES)
  return { grew: largest(1), fell: largest(-1) }
}
