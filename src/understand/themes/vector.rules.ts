/**
 * Vectors of quotations and of themes. Pure.
 *
 * A vector is 256 signed bytes. A sum of vectors is in integers, so a member that leaves takes away exactly what it brought. Stored are vectors and
 * sums as they are: what all texts of an organization have in common is subtracted when they are compared, because it changes.
 */
import { DIMENSIONS } from '../../analysis/analyze/builtin/vectors/format.rules.ts'
import FIXED from '../../analysis/analyze/builtin/vectors/mean.json'

export { DIMENSIONS }
/** Of the vectors that texts get now. It rises with every change that gives them others. */
export const VECTOR_VERSION = 2
/** A vector of length 1 has this length in bytes. */
export const SCALE = 127
/** Items whose own mean weighs as much as the fixed one. */
const PRIOR = 50
/** A sum has one number more: how many vectors it has. */
const COUNT = DIMENSIONS
/** Numbers of a stored sum, of which the last ones are 0. Earlier versions use all, for vectors of 512 bytes. */
const STORED = 512

/** A vector as the text process packs it. */
export function unpacked(packed: string): Int8Array {
  const bytes = Buffer.from(packed, 'base64')
  if (bytes.length !== DIMENSIONS) throw new Error(`a vector of ${bytes.length} instead of ${DIMENSIONS}`)
  return vectorOf(bytes)
}

const isZero = (vector: Int8Array): boolean => vector.every((x) => x === 0)

export const emptySum = (): Int32Array => new Int32Array(DIMENSIONS + 1)

/** Adds a vector `times` times; takes it away with a negative number. */
export function addTo(sum: Int32Array, vector: Int8Array, times: number): void {
  if (isZero(vector)) return
  for (let place = 0; place < DIMENSIONS; place++) sum[place]! += times * vector[place]!
  sum[COUNT]! += times
}

/** What texts have in common. */
export interface Mean {
  readonly vector: Float32Array
  /** The length that a vector of length 1 has without it, as root mean square. */
  readonly rest: number
}

/** The mean of an organization's vectors. While it has few, the fixed mean of customers' texts counts as some of them. */
export function meanOf(sum: Int32Array): Mean {
  const weight = PRIOR + sum[COUNT]!
  const vector = Float32Array.from(FIXED, (x, place) => (PRIOR * x + sum[place]! / SCALE) / weight)
  return { vector, rest: Math.sqrt(Math.max(0.01, 1 - dot(vector, vector))) }
}

/** The direction of a vector from the mean, with length 1. Null: there is no vector. */
export function directionOf(vector: Int8Array, mean: Mean): Float32Array | null {
  if (isZero(vector)) return null
  const shifted = mean.vector.map((x, place) => vector[place]! / SCALE - x)
  const length = Math.sqrt(dot(shifted, shifted)) || 1
  return shifted.map((x) => x / length)
}

/** The mean of the directions of the vectors in a sum: shorter than 1 if they differ. Null: there is no vector. */
export function meanDirectionOf(sum: Int32Array, { vector, rest }: Mean): Float32Array | null {
  const count = sum[COUNT]!
  return count <= 0 ? null : vector.map((x, place) => (sum[place]! / (SCALE * count) - x) / rest)
}

export function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0
  for (let place = 0; place < DIMENSIONS; place++) sum += a[place]! * b[place]!
  return sum
}

/** As stored. */
export const vectorBytes = (vector: Int8Array): Buffer =>
  Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength)

/** A vector of an earlier version, which has another length, is none. */
export const vectorOf = (bytes: Uint8Array): Int8Array =>
  bytes.byteLength === DIMENSIONS
    ? Int8Array.from(new Int8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength))
    : new Int8Array(DIMENSIONS)

/** Little-endian, as stored. */
export function sumBytes(sum: Int32Array): Buffer {
  const bytes = Buffer.alloc(STORED * 4)
  for (const [place, x] of sum.entries()) bytes.writeInt32LE(x, place * 4)
  return bytes
}

/** Null: a process of an earlier version wrote it. */
export function sumOf(bytes: Uint8Array): Int32Array | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const stored = Int32Array.from({ length: STORED }, (_, place) => view.getInt32(place * 4, true))
  const sum = stored.slice(0, DIMENSIONS + 1)
  const isOwn = stored.subarray(DIMENSIONS + 1).every((x) => x === 0)
  return isOwn && (sum[COUNT]! > 0 || sum.every((x) => x === 0)) ? sum : null
}
