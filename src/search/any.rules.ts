/**
 * Searches for any of the words, where no passage has all of them. Pure.
 *
 * A query is a list of units: words, phrases and alternatives that a passage may have one by one. A unit weighs by its rarity among the
 * passages of the organization. The score of a passage is the weight of the units that it has, over that of all units.
 */

/** Units of one configuration. The rest of a longer query is left out. */
const MAX_UNITS = 24
/** Passages with a unit that are counted. A unit with more is as common as any. */
export const MAX_COUNTED = 4_000
/** Candidates are the passages with the rarest units, as many units as have this many passages together. */
const MAX_CANDIDATES = 1_000

/** What a query of PostgreSQL is made of. */
const PART = /'(?:[^']|'')*'(?::\*)?|<(?:-|\d+)>|[()&|!]/g

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

/** The units of a query without marks. */
export function unitsOf({ configuration, query }: Unit): Units {
  const all = [...new Set(split(query, ['&', '|']).flatMap(partsOf))]
  const excludes = (one: string) => one.startsWith('!')
  return {
    configuration,
    wanted: all.filter((one) => !excludes(one)).slice(0, MAX_UNITS),
    excluded: all.filter(excludes),
  }
}

/** A word with a hyphen, which PostgreSQL writes as the whole and its parts one behind the other: `'top-up' <-> 'top' <-> 'up'`. */
const HYPHENATED = /^'[^'-]*-[^']*' <-> '/

/** The parts of a word with a hyphen, because others write it in one word or in two. */
const partsOf = (unit: string): readonly string[] =>
  HYPHENATED.test(unit) ? unit.split(' <-> ').filter((part, n) => n > 0 || !part.includes('-')) : [unit]

/** The parts between these operators that are in no parentheses. */
function split(query: string, operators: readonly string[]): readonly string[] {
  const parts: string[][] = [[]]
  let depth = 0
  for (const [part] of query.matchAll(PART)) {
    if (part === '(') depth++
    if (part === ')') depth--
    if (depth === 0 && operators.includes(part)) parts.push([])
    else parts.at(-1)?.push(part)
  }
  return parts.map((part) => part.join(' ')).filter((part) => part !== '')
}

/** Sizes of counts, so that each is a digit of base 36. */
const SIZES = 35
const STEP = Math.log(MAX_COUNTED + 1) / SIZES

/** The counts by their sizes, one character each. Later pages weigh by the text of the first. */
export const sizesOf = (counts: readonly number[]): string =>
  counts.map((count) => Math.min(SIZES, Math.round(Math.log(count + 1) / STEP)).toString(36)).join('')

/** About the counts of which `sizesOf` has made the text. */
export const countsOf = (sizes: string): readonly number[] =>
  [...sizes].map((size) => Math.expm1(Number.parseInt(size, 36) * STEP))

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
