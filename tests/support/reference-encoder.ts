/** The sentence encoder as its package runs it, in TensorFlow.js. */
import { join } from 'node:path'
import * as core from '@energetic-ai/core'
import { initModel } from '@energetic-ai/embeddings'
import { ENCODER_FILES } from '../../src/analyze/builtin/encoder/files.ts'

const FOLDER = join(import.meta.dir, '../../node_modules/@energetic-ai/core/dist')

/** It takes the one for SIMD without threads, but wants to know all. */
const BINARIES = ['', '-simd', '-threaded-simd'].map((sort) => `tfjs-backend-wasm${sort}.wasm`)

export interface ReferenceEncoder {
  /** @returns for each text a vector of 512 numbers, of length 1 */
  embed(texts: readonly string[]): Promise<readonly (readonly number[])[]>
}

export async function loadReferenceEncoder(): Promise<ReferenceEncoder> {
  core.setWasmPaths(Object.fromEntries(BINARIES.map((name) => [name, join(FOLDER, name)])))
  if (!(await core.setBackend('wasm'))) throw new Error('WebAssembly did not start')
  return initModel(async () => {
    const { modelTopology, weightsManifest } = await Bun.file(ENCODER_FILES.model).json()
    const files = ENCODER_FILES.weights.map((path) => Bun.file(path).arrayBuffer())
    const weightData = Bun.concatArrayBuffers(await Promise.all(files))
    const weightSpecs = weightsManifest[0].weights
    return {
      model: await core.loadGraphModel(core.io.fromMemory({ modelTopology, weightSpecs, weightData })),
      vocabulary: await Bun.file(ENCODER_FILES.vocabulary).json(),
    }
  })
}
