/** The rules of the search by meaning. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { directionFromMean, nearestCells } from '../../src/analysis/analyze/builtin/vectors/cells.rules.ts'
import { loadCentroids } from '../../src/analysis/analyze/builtin/vectors/cells.ts'
import { DIMENSIONS } from '../../src/analysis/analyze/builtin/vectors/format.rules.ts'
import { fused, meaningText, nearOf, packIds, unpackIds } from '../../src/understand/search/meaning.rules.ts'

test.each([
  ['where is my parcel', 'where is my parcel'],
  ['parcel', ''],
  ['parcel "not here" x81', ''],
  ['late parcel -paid -"by card"', 'late parcel'],
  ['order 4711 is late', 'order is late'],
  ['返金してほしい', '返金してほしい'],
  ['返金', ''],
])('of %j, %j has a meaning', (query, text) => {
  expect(meaningText(query)).toBe(text)
})

test('near are vectors with a large cosine', () => {
  const vector = (x: number, y: number) => Int8Array.from({ length: DIMENSIONS }, (_, n) => [x, y][n] ?? 0)
  const bytes = (one: Int8Array) => new Uint8Array(one.buffer)
  const near = nearOf(vector(127, 0), [
    { id: 1, vector: bytes(vector(127, 0)) },
    { id: 2, vector: bytes(vector(-127, 0)) },
    { id: 3, vector: bytes(vector(76, 101)) },
    { id: 4, vector: bytes(vector(0, 127)) },
  ])
  expect(near.map(({ id, nearness }) => [id, Math.round(nearness * 10) / 10])).toEqual([
    [1, 1],
    [3, 0.6],
  ])
})

describe('two lists', () => {
  const placed = (...ids: number[]) => ids.map((id) => ({ id, subject: `s${id % 100}` }))

  test('are one by reciprocal rank, each subject once with the passage of the first', () => {
    expect(fused([placed(1, 2, 3), placed(102, 4)])).toEqual([2, 1, 4, 3])
    expect(fused([[], placed(5, 6)])).toEqual([5, 6])
  })

  test('ids survive the cursor, and nothing else is one', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 2 ** 50 }), { minLength: 1, maxLength: 100 }), (ids) => {
        expect(unpackIds(packIds(ids), 100)).toEqual(ids)
      }),
    )
    for (const text of ['', '0.5;a', 'a..b', "1'", 'z'.repeat(20)]) expect(unpackIds(text, 100)).toBeNull()
    expect(unpackIds(packIds(Array(101).fill(1)), 100)).toBeNull()
  })
})

test('a vector is in the cell of its nearest centroid, and the nearest cells come first', async () => {
  const centroids = await loadCentroids()
  expect(centroids.length).toBe(512 * DIMENSIONS)
  for (const cell of [0, 17, 511]) {
    const row = Float32Array.from(centroids.slice(cell * DIMENSIONS, (cell + 1) * DIMENSIONS), (x) => x / 127)
    expect(nearestCells(row, centroids, 1)).toEqual([cell])
    const cells = nearestCells(row, centroids, 512)
    expect(cells[0]).toBe(cell)
    expect(new Set(cells).size).toBe(512)
  }
  expect(directionFromMean(new Float32Array(DIMENSIONS))).toBeNull()
})
