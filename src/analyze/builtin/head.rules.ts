/**
 * The trained head. Two parts vote on each kind: a network with one hidden layer over the embedding and the form of a piece of text, and a
 * logistic regression over its n-grams. The first knows what words mean, the second how people put them. Pure. `scripts/train.ts` makes the
 * weights out of `data/insight/clauses`.
 */
import { NGRAM_SIZE } from './features.rules.ts'

/** Numbers of an embedding are about 0.04, those of the form 0 or 1. */
export const EMBEDDING_SCALE = 4

/** Weights in rows: those of one input stand together. */
export interface Layers {
  readonly inputs: number
  readonly hidden: number
  /** `inputs` × `hidden`. */
  readonly first: Float32Array
  readonly firstBias: Float32Array
  /** `hidden` × number of answers, which are kinds or outcomes. */
  readonly second: Float32Array
  /** One for each answer. */
  readonly secondBias: Float32Array
}

/** The input of the head. */
export function inputOf(embedding: Float32Array, form: Float32Array): Float32Array {
  const input = new Float32Array(embedding.length + form.length)
  for (let at = 0; at < embedding.length; at++) input[at] = (embedding[at] ?? 0) * EMBEDDING_SCALE
  input.set(form, embedding.length)
  return input
}

/** What the n-grams count beside the network. Chosen by cross-validation. */
const NGRAM_VOTE = 0.6

/** How likely each answer is, from 0 to 1: of a piece each kind, in the order of `KINDS`. */
export function applyHead(network: Float32Array, ngrams: Float32Array): Float32Array {
  return network.map((vote, answer) => {
    const votes = vote + NGRAM_VOTE * (ngrams[answer] ?? 0)
    return 1 / (1 + Math.exp(-votes / (1 + NGRAM_VOTE / 2)))
  })
}

/** The vote of the network for each answer. Zero is undecided. */
export function applyNetwork(layers: Layers, input: Float32Array): Float32Array {
  const hidden = hiddenOf(layers, input)
  const answers = layers.secondBias.length
  return layers.secondBias.map((bias, answer) => {
    let sum = bias
    for (let unit = 0; unit < layers.hidden; unit++) {
      sum += (hidden[unit] ?? 0) * (layers.second[unit * answers + answer] ?? 0)
    }
    return sum
  })
}

/** The vote of the n-grams for each answer. `weights`: for each n-gram one for each answer, then the biases. */
export function applyNgrams(weights: Float32Array, ngrams: Uint32Array, size = NGRAM_SIZE): Float32Array {
  const norm = 1 / Math.sqrt(ngrams.length || 1)
  const answers = weights.length / (size + 1)
  return Float32Array.from({ length: answers }, (_, answer) => {
    let sum = 0
    for (const ngram of ngrams) sum += weights[ngram * answers + answer] ?? 0
    return sum * norm + (weights[size * answers + answer] ?? 0)
  })
}

function hiddenOf({ inputs, hidden, first, firstBias }: Layers, input: Float32Array): Float64Array {
  const units = Float64Array.from(firstBias)
  for (let at = 0; at < inputs; at++) {
    const value = input[at] ?? 0
    if (value === 0) continue
    for (let unit = 0; unit < hidden; unit++) {
      units[unit] = (units[unit] ?? 0) + value * (first[at * hidden + unit] ?? 0)
    }
  }
  for (let unit = 0; unit < hidden; unit++) units[unit] = Math.max(0, units[unit] ?? 0)
  return units
}

/** A matrix as signed bytes or 16-bit numbers in base64, and the value of the number 1. */
export interface PackedMatrix {
  readonly unit: number
  readonly base64: string
}

const LARGEST = { 1: 127, 2: 32_767 } as const

/** @param bytes of a number */
export function packMatrix(matrix: Float32Array, bytes: 1 | 2): PackedMatrix {
  const largest = matrix.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
  const unit = largest / LARGEST[bytes] || 1
  const whole = Array.from(matrix, (value) => Math.round(value / unit))
  const packed = bytes === 1 ? Int8Array.from(whole) : Int16Array.from(whole)
  return { unit, base64: Buffer.from(packed.buffer).toString('base64') }
}

/** @param bytes of a number */
export function unpackMatrix({ unit, base64 }: PackedMatrix, bytes: 1 | 2): Float32Array {
  const packed = Uint8Array.from(Buffer.from(base64, 'base64')).buffer
  const whole = bytes === 1 ? new Int8Array(packed) : new Int16Array(packed)
  return Float32Array.from(whole, (value) => value * unit)
}
