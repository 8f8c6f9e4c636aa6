/** The file of the word vectors: how it is packed and read. Pure. */

/** Numbers of a vector. */
export const DIMENSIONS = 256

/** Pieces of words with the logarithm of their likelihood, and a vector for each. */
export interface Table {
  readonly pieces: readonly (readonly [piece: string, score: number])[]
  /** Of each piece the value of the number 1 in its vector. */
  readonly scales: Float32Array
  /** A row of `DIMENSIONS` for each piece. */
  readonly vectors: Int8Array
}

const HEADER = 8

/** Number of pieces and of bytes of their names; scores, scales, vectors; the names, each on a line. */
export function packVectors({ pieces, scales, vectors }: Table): Uint8Array {
  const names = new TextEncoder().encode(pieces.map(([piece]) => piece).join('\n'))
  const header = new Uint8Array(Uint32Array.of(pieces.length, names.length).buffer)
  const scores = Float32Array.from(pieces, ([, score]) => score)
  return Buffer.concat([header, bytesOf(scores), bytesOf(scales), bytesOf(vectors), names])
}

const bytesOf = (array: Float32Array | Int8Array) =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength)

/** @throws Error if the file has another size than it says */
export function readVectors(packed: Uint8Array): Table {
  // Numbers must be aligned. A copy element by element (`Uint8Array.from`) would take 16 times the memory of the file.
  const bytes = packed.byteOffset % 4 === 0 ? packed : new Uint8Array(packed)
  const [count = 0, length = 0] = new Uint32Array(bytes.buffer, bytes.byteOffset, 2)
  const scales = HEADER + count * 4
  const vectors = scales + count * 4
  const names = vectors + count * DIMENSIONS
  if (bytes.length !== names + length) throw new Error('the file of the word vectors is damaged')
  const at = (offset: number) => bytes.byteOffset + offset
  const scores = new Float32Array(bytes.buffer, at(HEADER), count)
  return {
    pieces: new TextDecoder()
      .decode(bytes.subarray(names))
      .split('\n')
      .map((piece, index) => [piece, scores[index] ?? 0] as const),
    scales: new Float32Array(bytes.buffer, at(scales), count),
    vectors: new Int8Array(bytes.buffer, at(vectors), count * DIMENSIONS),
  }
}
