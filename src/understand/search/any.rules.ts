/**
 * Searches for any of the words, where no passage has all of them. Pure.
 *
 * A query is a list of units: words and phrases that a passage may have one by one. A unit weighs by its rarity among the
 * passages of the organization. The score of a passage is the weight of the units that it has, over that of all units.
 */
import { excludedText, type ParsedQuery, unitText } from './query.rules.ts'

/** Units of one configuration. The rest of a longer query is left out. */
const MAX_UNITS = 24
/** Passages with a unit that are counted. A unit with more is as common as any. */
export const MAX_COUNTED = 4_000
/** Candidates are the passages with the rarest units, as many units as have this many passages together. */
const MAX_CANDIDATES = 1_000

export interface Units {
  readonly configuration: string
  readonly wanted: readonly string[]
  /** What no passage may have. */
  readonly excluded: readonly string[]
}

export interface Unit {
  readonly configuration: string
  readonly query: string
}

export interface Weighted extends Unit {
  /** The weights of all units of a configuration have the sum 1. */
  readonly weight: number
}

/** Without marks. */
export function unitsOf({ configuration, parts, excluded }: ParsedQuery): Units {
  return {
    configuration,
    wanted: [...new Set(parts.map(unitText))].slice(0, MAX_UNITS),
    excluded: excludedText(excluded),
  }
}

/** How much a unit that so many passages have says about a passage. */
const rarityOf = (passages: number): number => Math.log(1 + MAX_COUNTED / (passages + 0.5))

/** @param counts the passages of each unit */
export function weighed(units: readonly Unit[], counts: readonly number[]): readonly Weighted[] {
  const rarities = counts.map(rarityOf)
  const sums = new Map<string, number>()
  for (const [n, { configuration }] of units.entries())
    sums.set(configuration, (sums.get(configuration) ?? 0) + (rarities[n] ?? 0))
  return units.map((unit, n) => ({
    ...unit,
    weight: (rarities[n] ?? 0) / (sums.get(unit.configuration) ?? 1),
  }))
}

/**
 * The queries that find candidates: passages with one of the rarest units of their configuration, and with nothing that is excluded. A
 * configuration of which no passage has a unit has none.
 */
export function candidateQueries(
  all: readonly Units[],
  units: readonly Unit[],
  counts: readonly number[],
): readonly Unit[] {
  const rarest = units
    .map((unit, n) => ({ ...unit, count: counts[n] ?? 0 }))
    .filter(({ count }) => count > 0)
    .toSorted((a, b) => a.count - b.count)
  const chosen: Unit[] = []
  let candidates = 0
  for (const { count, ...unit } of rarest) {
    if (candidates > 0 && candidates + count > MAX_CANDIDATES) break
    chosen.push(unit)
    candidates += count
  }
  return all.flatMap(({ configuration, excluded }) => {
    const own = chosen.filter((unit) => unit.configuration === configuration)
    const one = own.map(({ query }) => `( ${query} )`).join(' | ')
    return own.length === 0 ? [] : [{ configuration, query: [`( ${one} )`, ...excluded].join(' & ') }]
  })
}
