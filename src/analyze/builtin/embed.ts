/**
 * Sentence embeddings of English text. Need no network. Loading takes about 0.15 s and 50 MB, so only the text process does it, with the first job
 * that needs them.
 */
import { loadEncoder } from './encoder/encoder.ts'
import { DIMENSIONS } from './features.rules.ts'

/** UTF-16 code units. Longer texts are cut. */
const MAX_TEXT = 300

/** @returns a vector of length 1 for each text; of a text without words all zeros */
export type Embed = (texts: readonly string[]) => Promise<readonly Float32Array[]>

export async function loadEmbed(): Promise<Embed> {
  const encode = await loadEncoder()
  return async (texts) => {
    const vectors: Float32Array[] = texts.map(() => new Float32Array(DIMENSIONS))
    const told = differentTexts(texts)
    for (const [place, vector] of encode([...told.keys()]).entries()) {
      const normal = unit(vector)
      for (const index of [...told.values()][place] ?? []) vectors[index] = normal
    }
    return vectors
  }
}

/** The places of each text that has words. */
function differentTexts(texts: readonly string[]): ReadonlyMap<string, readonly number[]> {
  const told = new Map<string, number[]>()
  for (const [index, text] of texts.entries()) {
    const short = cut(text)
    if (!/[\p{L}\p{N}]/u.test(short)) continue
    const places = told.get(short)
    if (places === undefined) told.set(short, [index])
    else places.push(index)
  }
  return told
}
/** Cut, and without long runs that repeat a few characters: the model has never seen such, and each of them would be a token. */
function cut(text: string): string {
  return text
    .slice(0, MAX_TEXT)
    .toWellFormed()
    .replace(/(.{1,8}?)\1{3,}/gu, '$1$1')
    .trim()
}

function unit(vector: Float32Array): Float32Array {
  const unit = Float32Array.from(vector)
  const length = Math.sqrt(unit.reduce((sum, x) => sum + x * x, 0)) || 1
  for (let index = 0; index < unit.length; index++) unit[index] = (unit[index] ?? 0) / length
  return unit
}

/** A vector of length 1 as 512 signed bytes (×127), in base64. */
export function packVector(vector: Float32Array): string {
  return Buffer.from(Int8Array.from(vector, (x) => Math.round(x * 127)).buffer).toString('base64')
}
