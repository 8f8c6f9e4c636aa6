/**
 * Universal Sentence Encoder Lite (Cer et al. 2018, https://arxiv.org/abs/1803.11175): a transformer of two layers over the pieces of a text,
 * whose mean becomes a vector of 512 numbers. The weights are those that Google published; TensorFlow.js computes the same vectors, up to
 * rounding, with four times the CPU (`bun run bench insight`).
 */
import { ENCODER_FILES } from './files.ts'
import { type Address, type Kernel, loadKernel, type StoredDense, type StoredNorm } from './kernel.ts'
import { createTokenizer } from './tokenizer.rules.ts'
import { type Layer, readWeights, type Weights } from './weights.ts'

/** Tokens of a text that are read. */
const MAX_TOKENS = 128
/** Tokens of one run, of several texts. More would not fit into the cache of a core. */
const MAX_RUN = 256
const HEADS = 4
const FLOAT = 4

/** @returns for each text a vector of 512 numbers between -1 and 1 */
export type Encode = (texts: readonly string[]) => readonly Float32Array[]

interface StoredLayer {
  readonly attentionNorm: StoredNorm
  readonly queriesKeysValues: StoredDense
  readonly attentionOutput: StoredDense
  readonly innerNorm: StoredNorm
  readonly inner: StoredDense
  readonly innerOutput: StoredDense
}

interface Model {
  readonly kernel: Kernel
  readonly weights: Pick<Weights, 'embeddings' | 'frequencies'>
  readonly widening: StoredDense
  readonly layers: readonly StoredLayer[]
  readonly output: StoredDense
  /** Room for the numbers of one run. */
  readonly room: Room
}

/** Each has a row of floats for each token, but `integers`, which has 16-bit integers, and `scales`. */
interface Room {
  readonly state: Address
  readonly normal: Address
  readonly wide: Address
  readonly change: Address
  readonly integers: Address
  readonly scales: Address
}

/** Takes about 0.1 s. */
export async function loadEncoder(): Promise<Encode> {
  const [weights, code] = await Promise.all([readWeights(), Bun.file(ENCODER_FILES.kernel).arrayBuffer()])
  const kernel = await loadKernel(code)
  const model = store(kernel, weights)
  const tokenize = createTokenizer(weights.vocabulary)
  return (texts) => {
    const tokens = texts.map((text) => tokenize(text).slice(0, MAX_TOKENS))
    return runsOf(tokens).flatMap((run) => encodeRun(model, run))
  }
}

function store(kernel: Kernel, { embeddings, frequencies, widening, layers, output }: Weights): Model {
  const storeLayer = (layer: Layer): StoredLayer => ({
    attentionNorm: kernel.storeNorm(layer.attentionNorm),
    queriesKeysValues: kernel.storeDense(layer.queriesKeysValues),
    attentionOutput: kernel.storeDense(layer.attentionOutput),
    innerNorm: kernel.storeNorm(layer.innerNorm),
    inner: kernel.storeDense(layer.inner),
    innerOutput: kernel.storeDense(layer.innerOutput),
  })
  const stored = {
    widening: kernel.storeDense(widening),
    layers: layers.map(storeLayer),
    output: kernel.storeDense(output),
  }
  const narrow = stored.widening.columns
  const wide = Math.max(
    ...stored.layers.flatMap(({ inner, queriesKeysValues }) => [inner.columns, queriesKeysValues.columns]),
  )
  const rows = (width: number, bytes = FLOAT) => kernel.reserve(MAX_RUN * width * bytes)
  return {
    kernel,
    // Copies, because the other weights are not needed any more.
    weights: { embeddings: embeddings.slice(), frequencies: frequencies.slice() },
    ...stored,
    room: {
      state: rows(narrow),
      normal: rows(narrow),
      wide: rows(wide),
      change: rows(narrow),
      integers: rows(wide, 2),
      scales: rows(1),
    },
  }
}

/** Texts in their order, in runs of at most `MAX_RUN` tokens. */
function runsOf(texts: readonly (readonly number[])[]): readonly (readonly (readonly number[])[])[] {
  const runs: (readonly number[])[][] = []
  let room = 0
  for (const text of texts) {
    if (text.length > room) {
      runs.push([])
      room = MAX_RUN
    }
    runs.at(-1)?.push(text)
    room -= text.length
  }
  return runs
}

type Run = readonly (readonly number[])[]

const rowsOf = (run: Run): number => run.reduce((sum, { length }) => sum + length, 0)

function encodeRun(model: Model, run: Run): readonly Float32Array[] {
  const { kernel, room, layers, widening } = model
  const rows = rowsOf(run)
  embed(model, run)
  for (const [index, { attentionOutput, innerNorm, inner, innerOutput, ...layer }] of layers.entries()) {
    attend(model, layer, run)
    if (index === 0) apply(model, widening, room.state, room.state, rows)
    addTo(model, attentionOutput, room.normal, rows)
    kernel.normalize(room.state, innerNorm.gain, innerNorm.bias, room.normal, rows, inner.inner)
    apply(model, inner, room.normal, room.wide, rows, true)
    // `meansOf` adds the last.
    if (index < layers.length - 1) addTo(model, innerOutput, room.wide, rows)
  }
  return meansOf(model, run)
}

/** Twice the embedding of each token, as in the published graph, plus sines and cosines of its place. */
function embed({ kernel, room, weights }: Model, run: Run): void {
  const { embeddings, frequencies } = weights
  const half = frequencies.length
  const state = kernel.floats(room.state, rowsOf(run) * half * 2)
  let offset = 0
  for (const text of run) {
    for (const [place, id] of text.entries()) {
      const from = id * half * 2
      for (let at = 0; at < half; at++) {
        const angle = place * (frequencies[at] as number)
        state[offset + at] = 2 * (embeddings[from + at] as number) + Math.sin(angle)
        state[offset + half + at] = 2 * (embeddings[from + half + at] as number) + Math.cos(angle)
      }
      offset += half * 2
    }
  }
}

/** What the tokens of each text have to do with each other: from `state` to `normal`. */
function attend(
  model: Model,
  { attentionNorm, queriesKeysValues }: Pick<StoredLayer, 'attentionNorm' | 'queriesKeysValues'>,
  run: Run,
): void {
  const { kernel, room } = model
  const width = queriesKeysValues.inner
  const { gain, bias } = attentionNorm
  kernel.normalize(room.state, gain, bias, room.normal, rowsOf(run), width)
  apply(model, queriesKeysValues, room.normal, room.wide, rowsOf(run))
  let row = 0
  for (const { length } of run) {
    const inputs = room.wide + row * width * 3 * FLOAT
    kernel.attend(inputs, room.normal + row * width * FLOAT, room.scales, length, HEADS, width / HEADS)
    row += length
  }
}

/** Multiplies rows of floats at `inputs` by a matrix. */
function apply(
  { kernel, room }: Model,
  { weights, scales, biases, inner, columns }: StoredDense,
  inputs: Address,
  outputs: Address,
  rows: number,
  relu = false,
): void {
  kernel.quantize(inputs, room.integers, room.scales, rows, inner)
  const even = rows + (rows % 2)
  kernel.multiply(room.integers, room.scales, weights, scales, biases, outputs, even, inner, columns, relu)
}

/** Adds the product to the state. */
function addTo(model: Model, dense: StoredDense, inputs: Address, rows: number): void {
  apply(model, dense, inputs, model.room.change, rows)
  model.kernel.add(model.room.state, model.room.change, rows * dense.columns)
}

/**
 * The vector of each text: the mean of its tokens, through the last matrix. The mean of what the last layer adds to the tokens is what it adds to
 * the mean, so that is computed once for each text and not for each token.
 */
function meansOf(model: Model, run: Run): readonly Float32Array[] {
  const { kernel, room, layers, output } = model
  const { inner, columns } = (layers.at(-1) as StoredLayer).innerOutput
  for (const [index, { length }] of run.entries()) {
    const row = rowsOf(run.slice(0, index))
    kernel.average(room.state + row * columns * FLOAT, room.state + index * columns * FLOAT, length, columns)
    kernel.average(room.wide + row * inner * FLOAT, room.wide + index * inner * FLOAT, length, inner)
  }
  addTo(model, (layers.at(-1) as StoredLayer).innerOutput, room.wide, run.length)
  apply(model, output, room.state, room.change, run.length)
  const values = kernel.floats(room.change, run.length * output.columns)
  return run.map((_, index) =>
    values.slice(index * output.columns, (index + 1) * output.columns).map(Math.tanh),
  )
}
