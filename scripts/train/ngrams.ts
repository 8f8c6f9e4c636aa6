/** Trains the n-gram part of the head: one logistic regression for each answer, with AdaGrad. The same input gives the same weights. */
import { NGRAM_SIZE } from '../../src/analyze/builtin/features.rules.ts'
import { createRandom } from '../../src/platform/random.ts'
import type { Example } from './examples.ts'
import { shuffled } from './random.ts'

const TRAINING = { epochs: 12, rate: 0.5, rateOfBias: 0.02, decay: 1e-5, seed: 1 } as const
/** Keeps the first steps small. */
const FIRST_SQUARE = 1e-2
const FIRST_BIAS = -2

export interface NgramTraining {
  /** Hash values are below this. */
  readonly size: number
  /** What an answer that is right counts beside one that is not. */
  readonly weightOfKind: number
}

export const OF_KINDS: NgramTraining = { size: NGRAM_SIZE, weightOfKind: 2 }

/** @returns `size` × number of answers, then the biases */
export function trainNgrams(examples: readonly Example[], training = OF_KINDS): Float32Array {
  const { size } = training
  const outputs = examples[0]?.labels.length ?? 0
  const weights = new Float32Array((size + 1) * outputs).fill(FIRST_BIAS, size * outputs)
  const squares = new Float32Array(size * outputs).fill(FIRST_SQUARE)
  const random = createRandom(TRAINING.seed)
  for (let epoch = 0; epoch < TRAINING.epochs; epoch++) {
    for (const index of shuffled(examples.length, random)) {
      learn(weights, squares, examples[index] as Example, training)
    }
  }
  return weights
}

function learn(
  weights: Float32Array,
  squares: Float32Array,
  { ngrams, labels, weights: counts }: Example,
  { size, weightOfKind }: NgramTraining,
): void {
  const norm = 1 / Math.sqrt(ngrams.length || 1)
  const outputs = labels.length
  const slopes = new Float64Array(outputs)
  for (let kind = 0; kind < outputs; kind++) {
    let sum = 0
    for (const ngram of ngrams) sum += weights[ngram * outputs + kind] as number
    const bias = size * outputs + kind
    const label = labels[kind] as number
    const score = 1 / (1 + Math.exp(-(sum * norm + (weights[bias] as number))))
    const slope = (score - label) * (counts?.[kind] ?? 1) * (label > 0 ? weightOfKind : 1)
    weights[bias] = (weights[bias] as number) - TRAINING.rateOfBias * slope
    slopes[kind] = slope * norm
  }
  for (const ngram of ngrams) {
    for (let kind = 0; kind < outputs; kind++) {
      const at = ngram * outputs + kind
      const slope = (slopes[kind] as number) + TRAINING.decay * (weights[at] as number)
      const square = (squares[at] as number) + slope * slope
      squares[at] = square
      weights[at] = (weights[at] as number) - (TRAINING.rate * slope) / Math.sqrt(square)
    }
  }
}
