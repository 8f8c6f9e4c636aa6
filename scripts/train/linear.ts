/**
 * Trains the classifier with AdaGrad (Duchi et al. 2011). Of an item only the whole has labels, so the piece that has most of a kind at the moment learns it
 * (multiple-instance learning). The same input gives the same weights.
 */

import { mayHave } from '../../src/analysis/analyze/builtin/analyze.ts'
import {
  emptyLinear,
  kindVotes,
  type Linear,
  shares,
  votesOf,
} from '../../src/analysis/analyze/builtin/classifier.rules.ts'
import type { Input } from '../../src/analysis/analyze/builtin/inputs.rules.ts'
import type { Piece } from '../../src/analysis/analyze/builtin/pieces.rules.ts'
import { KINDS } from '../../src/analysis/analyze/insight.ts'
import type { Channel } from '../../src/kernel/channel.ts'
import { createRandom } from '../../src/platform/random.ts'
import { shuffled } from './random.ts'

/** Chosen by leaving out sources. */
const TRAINING = {
  epochs: 8,
  rateOfDense: 0.05,
  rateOfGrams: 0.1,
  rateOfBias: 0.02,
  decay: 1e-5,
  /** Few items have a kind, so these count more. */
  weightOfKind: 1.5,
  seed: 1,
} as const
/** Keeps the first steps small. */
const FIRST_SQUARE = 0.02
/** What is almost right already teaches nothing, and takes most of the time. */
const SMALL = 5e-3
/** Few pieces have a kind. */
const FIRST_BIAS = -1.5

export interface KindExample {
  readonly channel: Channel
  readonly pieces: readonly Piece[]
  readonly ofPieces: readonly Input[]
  readonly ofWhole: Input
  /** For each kind 1 or 0. */
  readonly labels: Float32Array
  /** For each kind how much the label counts; 0 if it is not known. */
  readonly weights: Float32Array
}

export interface OneExample {
  readonly input: Input
  /** Number of the right answer. */
  readonly answer: number
  readonly weight: number
}

/** Weights, and the squares of their slopes so far. */
function learner(linear: Linear) {
  const { answers, dense, grams, biases } = linear
  const denseSquares = new Float32Array(dense.length).fill(FIRST_SQUARE)
  const gramSquares = new Float32Array(grams.length).fill(FIRST_SQUARE)
  const move = (weights: Float32Array, squares: Float32Array, at: number, slope: number, rate: number) => {
    const full = slope + TRAINING.decay * (weights[at] as number)
    const square = (squares[at] as number) + full * full
    squares[at] = square
    weights[at] = (weights[at] as number) - (rate * full) / Math.sqrt(square)
  }
  return (input: Input, slopes: Float64Array) => {
    const norm = 1 / Math.sqrt(input.grams.length || 1)
    for (let answer = 0; answer < answers; answer++) {
      const slope = slopes[answer] as number
      if (Math.abs(slope) < SMALL) continue
      biases[answer] = (biases[answer] as number) - TRAINING.rateOfBias * slope
      for (const gram of input.grams)
        move(grams, gramSquares, gram * answers + answer, slope * norm, TRAINING.rateOfGrams)
      for (let at = 0; at < input.dense.length; at++) {
        const value = input.dense[at] as number
        if (value !== 0) move(dense, denseSquares, at * answers + answer, slope * value, TRAINING.rateOfDense)
      }
    }
  }
}

export function trainKinds(examples: readonly KindExample[]): {
  readonly pieces: Linear
  readonly whole: Linear
} {
  const inputs = examples.find(({ ofPieces }) => ofPieces.length > 0)?.ofPieces[0]?.dense.length ?? 0
  const pieces = emptyLinear(inputs, KINDS.length)
  const whole = emptyLinear(examples[0]?.ofWhole.dense.length ?? 0, KINDS.length)
  pieces.biases.fill(FIRST_BIAS)
  const [learnPiece, learnWhole] = [learner(pieces), learner(whole)]
  eachInTurn(examples, (example) => {
    const { channel, ofPieces, ofWhole, labels, weights } = example
    const { votes, best } = kindVotes(
      { pieces, whole },
      { pieces: ofPieces, whole: ofWhole },
      (kind, place) => mayHave(kind, example.pieces[place] as Piece, channel),
    )
    const slopes = votes.map((vote, kind) => {
      const label = labels[kind] as number
      const weight = (weights[kind] as number) * (label > 0 ? TRAINING.weightOfKind : 1)
      return (1 / (1 + Math.exp(-vote)) - label) * weight
    })
    learnWhole(ofWhole, slopes)
    for (const place of new Set(best)) {
      const input = ofPieces[place]
      if (input !== undefined)
        learnPiece(
          input,
          slopes.map((slope, kind) => (best[kind] === place ? slope : 0)),
        )
    }
  })
  return { pieces, whole }
}

/** One answer of several is right. */
export function trainOne(examples: readonly OneExample[], answers: number): Linear {
  const linear = emptyLinear(examples[0]?.input.dense.length ?? 0, answers)
  const learn = learner(linear)
  eachInTurn(examples, ({ input, answer, weight }) => {
    const likely = shares(votesOf(linear, input))
    learn(
      input,
      likely.map((share, at) => (share - (at === answer ? 1 : 0)) * weight),
    )
  })
  return linear
}

function eachInTurn<T>(examples: readonly T[], learn: (example: T) => void): void {
  const random = createRandom(TRAINING.seed)
  for (let epoch = 0; epoch < TRAINING.epochs; epoch++) {
    for (const index of shuffled(examples.length, random)) learn(examples[index] as T)
  }
}
