/** k-means over TF-IDF (cosine), which a grouping of texts should beat. */
import { stemsOf } from '../../src/understand/themes/words.rules.ts'
import { shuffled } from './theme-set.ts'

type Weights = ReadonlyMap<string, number>

const ROUNDS = 30

/** The group of each text. The best of some starts, by the likeness of the texts to the middles of their groups. */
export function kMeans(texts: readonly string[], groups: number, starts = 10): readonly string[] {
  const points = tfIdf(texts)
  const runs = Array.from({ length: starts }, (_, start) => run(points, groups, start + 1))
  const best = runs.reduce((most, one) => (one.likeness > most.likeness ? one : most))
  return best.places.map(String)
}

function tfIdf(texts: readonly string[]): readonly Weights[] {
  const stems = texts.map((text) => stemsOf(text))
  const counts = new Map<string, number>()
  for (const stem of stems.flatMap((some) => [...new Set(some)]))
    counts.set(stem, (counts.get(stem) ?? 0) + 1)
  return stems.map((some) => {
    const weights = [...Map.groupBy(some, (stem) => stem)].map(
      ([stem, all]) => [stem, all.length * Math.log(1 + texts.length / (counts.get(stem) ?? 1))] as const,
    )
    return unit(new Map(weights))
  })
}

function unit(weights: Weights): Weights {
  const length = Math.hypot(...weights.values()) || 1
  return new Map([...weights].map(([stem, weight]) => [stem, weight / length]))
}

const likenessOf = (a: Weights, b: Weights) =>
  [...a].reduce((sum, [stem, weight]) => sum + weight * (b.get(stem) ?? 0), 0)

function run(points: readonly Weights[], groups: number, seed: number) {
  let middles = shuffled(points, seed).slice(0, groups)
  let places: readonly number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    places = points.map((point) => {
      const likeness = middles.map((middle) => likenessOf(point, middle))
      return likeness.indexOf(Math.max(...likeness))
    })
    middles = middles.map((middle, group) => {
      const members = points.filter((_, at) => places[at] === group)
      return members.length === 0 ? middle : unit(sumOf(members))
    })
  }
  const likeness = points.reduce(
    (sum, point, at) => sum + likenessOf(point, middles[places[at] ?? 0] ?? new Map()),
    0,
  )
  return { places, likeness }
}

function sumOf(points: readonly Weights[]): Weights {
  const sum = new Map<string, number>()
  for (const point of points) for (const [stem, weight] of point) sum.set(stem, (sum.get(stem) ?? 0) + weight)
  return sum
}
