/**
 * Average linkage: joins the two nearest groups until none are near enough. The result does not depend on the order of the items. Pure.
 *
 * Takes n² steps and n² numbers. It is a generator that stops after each small part, so that other work of the thread has its turn.
 */
import { nearness, type Point } from './nearness.rules.ts'

/** @returns the number of the group of each item */
export function* linkage(points: readonly Point[], cut: number): Generator<void, readonly number[]> {
  const size = points.length
  const near = new Float32Array(size * size)
  for (let a = 0; a < size; a++) {
    for (let b = a + 1; b < size; b++) {
      const value = nearness(points[a]!, points[b]!)
      near[a * size + b] = value
      near[b * size + a] = value
    }
    yield
  }
  return yield* join(near, size, cut)
}

/** Nearest-neighbour chain: two groups that are each other's nearest are joined. */
function* join(near: Float32Array, size: number, cut: number): Generator<void, readonly number[]> {
  const counts = new Int32Array(size).fill(1)
  const alive = new Uint8Array(size).fill(1)
  const parents = Array.from({ length: size }, (_, index) => index)
  const chain: number[] = []
  for (let left = size; left > 1; ) {
    if (chain.length === 0) chain.push(alive.indexOf(1))
    const last = chain.at(-1)!
    const before = chain.at(-2) ?? -1
    const next = nearestOf(near, alive, size, last, before)
    yield
    if (next !== before) {
      chain.push(next)
      continue
    }
    chain.length -= 2
    // Groups that are too far apart are joined here too, to go on, but keep their numbers.
    if (near[last * size + next]! >= cut) parents[rootOf(parents, next)] = rootOf(parents, last)
    merge(near, alive, counts, size, last, next)
    left--
  }
  return parents.map((_, index) => rootOf(parents, index))
}

function nearestOf(
  near: Float32Array,
  alive: Uint8Array,
  size: number,
  from: number,
  before: number,
): number {
  let best = -1
  let value = Number.NEGATIVE_INFINITY
  for (let other = 0; other < size; other++) {
    if (alive[other] === 0 || other === from) continue
    const score = near[from * size + other]!
    if (score > value || (score === value && other === before)) {
      best = other
      value = score
    }
  }
  return best
}

/** `b` becomes part of `a`. Its nearness to others is the mean over the items of both. */
function merge(
  near: Float32Array,
  alive: Uint8Array,
  counts: Int32Array,
  size: number,
  a: number,
  b: number,
): void {
  const [countA, countB] = [counts[a]!, counts[b]!]
  for (let other = 0; other < size; other++) {
    if (alive[other] === 0 || other === a || other === b) continue
    const mean = (near[a * size + other]! * countA + near[b * size + other]! * countB) / (countA + countB)
    near[a * size + other] = mean
    near[other * size + a] = mean
  }
  counts[a] = countA + countB
  alive[b] = 0
}

function rootOf(parents: number[], index: number): number {
  let root = index
  while (parents[root] !== root) root = parents[root]!
  return root
}

/**
 * The items that can be in a group with a new item: those that a chain of near pairs connects with one. A group of average linkage never
 * reaches beyond such a chain, so linking these alone makes the same groups as linking all.
 * @returns numbers of items, in ascending order
 */
export function* connected(
  points: readonly Point[],
  isNew: (index: number) => boolean,
  cut: number,
): Generator<void, readonly number[]> {
  const reached = points.map((_, index) => isNew(index))
  const queue = reached.flatMap((is, index) => (is ? [index] : []))
  for (let next = 0; next < queue.length; next++) {
    const from = points[queue[next]!]!
    for (const [index, point] of points.entries()) {
      if (reached[index] === true || nearness(from, point) < cut) continue
      reached[index] = true
      queue.push(index)
    }
    yield
  }
  return queue.sort((a, b) => a - b)
}
