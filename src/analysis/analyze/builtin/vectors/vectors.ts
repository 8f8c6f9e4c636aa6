/**
 * Vectors of texts in 16 languages. Each piece of a word has a vector; that of a text is their sum with length 1. The table was distilled from Universal
 * Sentence Encoder Multilingual (docs/decisions/0011-static-vectors.md). A text costs some microseconds. Loading takes some tenths of a second and 40 MB,
 * so only the text process does it, with the first job that needs it.
 */
import { DIMENSIONS, readVectors } from './format.rules.ts'
import { createTokenizer } from './tokenizer.rules.ts'
import file from './vectors.zst' with { type: 'file' }

/** UTF-16 code units. Longer texts are cut. */
const MAX_TEXT = 1_000

/** @returns a vector of length 1; of a text without known words all zeros */
export type Embed = (text: string) => Float32Array

export async function loadEmbed(): Promise<Embed> {
  const packed = await Bun.zstdDecompress(await Bun.file(file).arrayBuffer())
  const { pieces, scales, vectors } = readVectors(packed)
  const tokenize = createTokenizer(pieces)
  return (text) => {
    const sum = new Float32Array(DIMENSIONS)
    for (const id of tokenize(cut(text))) {
      const scale = scales[id] as number
      const row = id * DIMENSIONS
      for (let at = 0; at < DIMENSIONS; at++) {
        sum[at] = (sum[at] as number) + scale * (vectors[row + at] as number)
      }
    }
    return unit(sum)
  }
}

/** Cut, and without long runs that repeat a few characters. */
function cut(text: string): string {
  return text
    .slice(0, MAX_TEXT)
    .toWellFormed()
    .replace(/(.{1,8}?)\1{3,}/gu, '$1$1')
    .replace(/\s+/g, ' ')
    .trim()
}

/** A vector of length 1 as 256 signed bytes (×127), in base64. */
export function packVector(vector: Float32Array): string {
  return Buffer.from(Int8Array.from(vector, (x) => Math.round(x * 127)).buffer).toString('base64')
}

function unit(vector: Float32Array): Float32Array {
  let square = 0
  for (const value of vector) square += value * value
  const length = Math.sqrt(square) || 1
  return vector.map((value) => value / length)
}
