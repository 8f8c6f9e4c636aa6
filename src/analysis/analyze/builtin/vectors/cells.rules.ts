/**
 * Cells of the space of vectors: a vector is in the cell of its nearest centroid. An index of cells finds near vectors without comparing all
 * (an inverted file; Jégou, Douze, Schmid 2011). Pure.
 */
import { DIMENSIONS } from './format.rules.ts'
import MEAN from './mean.json'

/** The direction of a vector from the mean of customers' texts, with length 1. Null: the text has no known words. */
export function directionFromMean(vector: Float32Array): Float32Array | null {
  if (vector.every((x) => x === 0)) return null
  const shifted = vector.map((x, place) => x - MEAN[place]!)
  const length = Math.hypot(...shifted) || 1
  return shifted.map((x) => x / length)
}

/** @param centroids a row of `DIMENSIONS` signed bytes for each cell @returns the nearest cells, nearest first */
export function nearestCells(
  direction: Float32Array,
  centroids: Int8Array,
  count: number,
): readonly number[] {
  const cells = centroids.length / DIMENSIONS
  const scores = Float32Array.from({ length: cells }, (_, cell) => {
    let score = 0
    for (let place = 0; place < DIMENSIONS; place++)
      score += direction[place]! * centroids[cell * DIMENSIONS + place]!
    return score
  })
  if (count === 1) return [scores.indexOf(scores.reduce((best, score) => Math.max(best, score)))]
  return [...scores.keys()].toSorted((a, b) => scores[b]! - scores[a]!).slice(0, count)
}
