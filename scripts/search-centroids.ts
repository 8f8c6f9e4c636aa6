/**
 * `bun run search-centroids`: computes the centroids of the search by meaning from the texts of data/insight, by k-means with cosines, and writes
 * src/analysis/analyze/builtin/vectors/centroids.zst. Vectors that are stored name the cells by number, so a change of this file needs all of them anew.
 */
import { join } from 'node:path'
import { directionFromMean } from '../src/analysis/analyze/builtin/vectors/cells.rules.ts'
import { DIMENSIONS } from '../src/analysis/analyze/builtin/vectors/format.rules.ts'
import { loadEmbed } from '../src/analysis/analyze/builtin/vectors/vectors.ts'
import { createRandom } from '../src/platform/random.ts'
import { ownClauses, ownItems } from './train/items.ts'
import { shuffled } from './train/random.ts'

const PATH = join(import.meta.dir, '../src/analysis/analyze/builtin/vectors/centroids.zst')
const CELLS = 512
const ROUNDS = 12
const SEED = 1

const labelled = [...ownClauses(), ...ownItems('items'), ...ownItems('endings'), ...ownItems('hard')]
const texts = [...new Set(labelled.flatMap(({ item }) => item.said.map(({ text }) => text)))].toSorted()
const embed = await loadEmbed()
const points = texts.flatMap((text) => directionFromMean(embed(text)) ?? [])

const unit = (vector: Float32Array): Float32Array => {
  const length = Math.hypot(...vector) || 1
  return vector.map((x) => x / length)
}
const dot = (a: Float32Array, b: Float32Array): number => {
  let sum = 0
  for (let place = 0; place < DIMENSIONS; place++) sum += a[place]! * b[place]!
  return sum
}

let centroids = [...shuffled(points.length, createRandom(SEED)).slice(0, CELLS)].map(
  (index) => points[index]!,
)
for (let round = 0; round < ROUNDS; round++) {
  const sums = centroids.map(() => new Float32Array(DIMENSIONS))
  for (const point of points) {
    let best = 0
    let nearest = Number.NEGATIVE_INFINITY
    for (const [cell, centroid] of centroids.entries()) {
      const score = dot(point, centroid)
      if (score > nearest) [best, nearest] = [cell, score]
    }
    for (let place = 0; place < DIMENSIONS; place++) sums[best]![place]! += point[place]!
  }
  // A cell that is empty keeps its centroid.
  centroids = sums.map((sum, cell) => (sum.every((x) => x === 0) ? centroids[cell]! : unit(sum)))
}
const packed = Int8Array.from(
  centroids.flatMap((centroid) => Array.from(centroid, (x) => Math.round(x * 127))),
)
await Bun.write(PATH, await Bun.zstdCompress(new Uint8Array(packed.buffer), { level: 19 }))
console.log(`${CELLS} cells from ${points.length} texts`)
