/**
 * How near quotations and themes are to each other: the cosine of their vectors, and a part of the overlap of their words. Pure.
 *
 * To a theme, it is the mean over the theme's members. Words count by their rarity in the organization (tf-idf), and vectors by how they differ from
 * the mean of the organization: where everybody speaks of cards, two texts are not alike because both do.
 */
import { directionOf, dot, type Mean, meanDirectionOf } from './vector.rules.ts'

/** Weight of the words beside the vectors. */
const WORDS = 0.7
/** Weight of the words where one of the two has no vector. */
const WORDS_ALONE = 1

/** In how many items of an organization a stem occurs. */
export interface Frequencies {
  readonly items: number
  countOf(term: string): number
}

/** What items are compared against. */
export interface Surroundings extends Frequencies {
  readonly mean: Mean
}

export interface Point {
  /** Null: the text has no vector. */
  readonly vector: Float32Array | null
  /** Stem → weight; the weights have length 1. */
  readonly words: ReadonlyMap<string, number>
}

const rarity = ({ items, countOf }: Frequencies, term: string) =>
  Math.log(1 + items / Math.max(1, countOf(term)))

function normalised(weights: readonly (readonly [string, number])[], length: number): Point['words'] {
  return new Map(weights.map(([term, weight]) => [term, weight / (length || 1)]))
}

export function pointOfItem(vector: Int8Array, terms: readonly string[], surroundings: Surroundings): Point {
  const weights = terms.map((term) => [term, rarity(surroundings, term)] as const)
  const length = Math.sqrt(weights.reduce((sum, [, weight]) => sum + weight * weight, 0))
  return { vector: directionOf(vector, surroundings.mean), words: normalised(weights, length) }
}

/** `terms`: how many of the theme's items have a stem. `weight`: its items. */
export function pointOfTheme(
  sum: Int32Array,
  terms: Readonly<Record<string, number>>,
  weight: number,
  surroundings: Surroundings,
): Point {
  const shares = Object.entries(terms).map(
    ([term, count]) => [term, count / Math.max(1, weight), rarity(surroundings, term)] as const,
  )
  // The root mean square of the lengths that the items' weights have.
  const length = Math.sqrt(shares.reduce((all, [, share, rare]) => all + share * rare * rare, 0))
  return {
    vector: meanDirectionOf(sum, surroundings.mean),
    words: normalised(
      shares.map(([term, share, rare]) => [term, share * rare]),
      length,
    ),
  }
}

export function nearness(a: Point, b: Point): number {
  return together(a, b, overlap(a.words, b.words))
}

/** How alike two texts are in what they mean, whatever words they share; by their words where one has no vector. */
export const likeness = (a: Point, b: Point): number =>
  a.vector === null || b.vector === null ? overlap(a.words, b.words) : dot(a.vector, b.vector)

function together(a: Point, b: Point, words: number): number {
  if (a.vector === null || b.vector === null) return WORDS_ALONE * words
  return dot(a.vector, b.vector) + WORDS * words
}

/** Points by their words, to compare one with many: themes have many words each, and most of them are in few themes. */
export function createIndex(points: readonly Point[]) {
  const places = new Map<string, (readonly [index: number, weight: number])[]>()
  for (const [index, { words }] of points.entries())
    for (const [term, weight] of words) {
      const known = places.get(term)
      if (known === undefined) places.set(term, [[index, weight]])
      else known.push([index, weight])
    }
  return {
    /** How near the point is to each point of the index. */
    nearnesses(point: Point): Float64Array {
      const scores = new Float64Array(points.length)
      for (const [term, weight] of point.words)
        for (const [index, other] of places.get(term) ?? []) scores[index]! += weight * other
      for (const [index, other] of points.entries()) scores[index] = together(point, other, scores[index]!)
      return scores
    },
  }
}

function overlap(a: Point['words'], b: Point['words']): number {
  const [small, large] = a.size < b.size ? [a, b] : [b, a]
  let sum = 0
  for (const [term, weight] of small) sum += weight * (large.get(term) ?? 0)
  return sum
}

export interface Nearest<T> {
  readonly theme: T
  readonly score: number
}

/** The nearest theme above the floor; null: none. Of two as near, the first. */
export function nearest<T extends { readonly point: Point }>(
  item: Point,
  themes: Iterable<T>,
  floor: number,
): Nearest<T> | null {
  let best: Nearest<T> | null = null
  for (const theme of themes) {
    const score = nearness(item, theme.point)
    if (score > (best?.score ?? floor)) best = { theme, score }
  }
  return best
}
