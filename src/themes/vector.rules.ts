/**
 * Vectors of quotations and of themes. Pure.
 *
 * A vector is 512 signed bytes. The vector of a theme is the sum of its members' vectors in integers, so a member that leaves takes away
 * exactly what it brought.
 */
import MEAN from './mean.json'

export const DIMENSIONS = 512
/** A vector of length 1 has this length in bytes. */
export const SCALE = 127

/** A vector as the text process packs it, without the mean of all texts and with length 1 again. Zeros stay zeros. */
export function centred(packed: string): Int8Array {
  const bytes = Buffer.from(packed, 'base64')
  const given = new Int8Array(bytes.buffer, bytes.byteOffset, bytes.length)
  if (given.length !== DIMENSIONS) throw new Error(`a vector of ${given.length} instead of ${DIMENSIONS}`)
  if (given.every((x) => x === 0)) return new Int8Array(DIMENSIONS)
  const shifted = Float32Array.from(given, (x, place) => x / SCALE - MEAN[place]!)
  const length = Math.sqrt(shifted.reduce((sum, x) => sum + x * x, 0)) || 1
  return Int8Array.from(shifted, (x) => Math.max(-SCALE, Math.min(SCALE, Math.round((x / length) * SCALE))))
}

export const isZero = (vector: Int8Array): boolean => vector.every((x) => x === 0)

export const emptySum = (): Int32Array => new Int32Array(DIMENSIONS)

/** Adds a vector `times` times; takes it away with a negative number. */
export function addTo(sum: Int32Array, vector: Int8Array | Int32Array, times: number): void {
  for (let place = 0; place < DIMENSIONS; place++) sum[place]! += times * vector[place]!
}

/** The vector as numbers whose products are between -1 and 1. `divisor`: how many vectors a sum has. */
export function scaled(vector: Int8Array | Int32Array, divisor = 1): Float32Array {
  return Float32Array.from(vector, (x) => x / (SCALE * Math.max(1, divisor)))
}

export function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0
  for (let place = 0; place < DIMENSIONS; place++) sum += a[place]! * b[place]!
  return sum
}

/** As stored. */
export const vectorBytes = (vector: Int8Array): Buffer =>
  Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength)
export const vectorOf = (bytes: Uint8Array): Int8Array =>
  Int8Array.from(new Int8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength))

/** Little-endian, as stored. */
export function sumBytes(sum: Int32Array): Buffer {
  const bytes = Buffer.alloc(DIMENSIONS * 4)
  for (const [place, x] of sum.entries()) bytes.writeInt32LE(x, place * 4)
  return bytes
}
export function sumOf(bytes: Uint8Array): Int32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return Int32Array.from({ length: DIMENSIONS }, (_, place) => view.getInt32(place * 4, true))
}
