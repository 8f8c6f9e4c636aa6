/**
 * Sentence embeddings of English text: Universal Sentence Encoder Lite, in WebAssembly (`@energetic-ai/*`, Apache-2.0). Needs no network.
 * Loading takes about 0.3 s and 150 MB, so only the text process loads it, with the first job that needs it.
 */
import { EMBED_FILES } from './embed-files.ts'
import { DIMENSIONS } from './features.rules.ts'

/** The tokenizer takes quadratic time within this length. Longer texts are cut. */
const MAX_TEXT = 300
/** UTF-16 code units of one run; every text takes as many as the longest. Larger runs need more memory and are no faster. */
const MAX_RUN = 600

/** @returns a vector of length 1 for each text; of a text without words all zeros */
export type Embed = (texts: readonly string[]) => Promise<readonly Float32Array[]>

export async function loadEmbed(): Promise<Embed> {
  const [core, { initModel }] = await Promise.all([
    import('@energetic-ai/core'),
    import('@energetic-ai/embeddings'),
  ])
  core.setWasmPaths(EMBED_FILES.wasm)
  if (!(await core.setBackend('wasm'))) throw new Error('WebAssembly did not start')
  const model = await initModel(async () => {
    const [manifest, vocabulary, weightData] = await Promise.all([
      Bun.file(EMBED_FILES.model).json(),
      Bun.file(EMBED_FILES.vocabulary).json(),
      readWeights(),
    ])
    const { modelTopology, weightsManifest } = manifest
    const weightSpecs = weightsManifest[0].weights
    return {
      model: await core.loadGraphModel(core.io.fromMemory({ modelTopology, weightSpecs, weightData })),
      vocabulary,
    }
  })
  return async (texts) => {
    const vectors: Float32Array[] = texts.map(() => new Float32Array(DIMENSIONS))
    for (const batch of batchesOf(texts)) {
      const embedded = await model.embed(batch.map(([text]) => text))
      for (const [place, [, indexes]] of batch.entries()) {
        const vector = unit(embedded[place] ?? [])
        for (const index of indexes) vectors[index] = vector
      }
    }
    return vectors
  }
}

async function readWeights(): Promise<ArrayBuffer> {
  const parts = await Promise.all(EMBED_FILES.weights.map((path) => Bun.file(path).bytes()))
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let offset = 0
  for (const part of parts) {
    whole.set(part, offset)
    offset += part.length
  }
  return whole.buffer
}

type Told = readonly [text: string, indexes: readonly number[]]

/** Different texts, the shortest first, in batches of at most `MAX_RUN`. */
function batchesOf(texts: readonly string[]): readonly (readonly Told[])[] {
  const told = new Map<string, number[]>()
  for (const [index, text] of texts.entries()) {
    const short = cut(text)
    if (/[\p{L}\p{N}]/u.test(short)) told.set(short, [...(told.get(short) ?? []), index])
  }
  const batches: Told[][] = []
  for (const one of [...told].sort(([a], [b]) => a.length - b.length)) {
    const batch = batches.at(-1)
    if (batch !== undefined && (batch.length + 1) * one[0].length <= MAX_RUN) batch.push(one)
    else batches.push([one])
  }
  return batches
}

/** Cut, and without long runs that repeat a few characters: the model has never seen such, and each of them would be a token. */
function cut(text: string): string {
  return text
    .slice(0, MAX_TEXT)
    .toWellFormed()
    .replace(/(.{1,8}?)\1{3,}/gu, '$1$1')
    .trim()
}

function unit(vector: readonly number[]): Float32Array {
  const unit = Float32Array.from(vector)
  const length = Math.sqrt(unit.reduce((sum, x) => sum + x * x, 0)) || 1
  for (let index = 0; index < unit.length; index++) unit[index] = (unit[index] ?? 0) / length
  return unit
}

/** A vector of length 1 as 512 signed bytes (×127), in base64. */
export function packVector(vector: Float32Array): string {
  return Buffer.from(Int8Array.from(vector, (x) => Math.round(x * 127)).buffer).toString('base64')
}
