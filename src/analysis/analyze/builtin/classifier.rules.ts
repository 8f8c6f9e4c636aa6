/**
 * The trained classifier: linear votes over vectors and n-grams. A kind is as likely as its best piece and the whole text together say; the best
 * piece is the quotation. Pure. `scripts/train.ts` makes the weights.
 */
import type { Channel } from '../../../kernel/channel.ts'
import { KINDS, type Kind, type Outcome, SENTIMENTS, type Sentiment } from '../insight.ts'
import { GRAMS } from './grams.rules.ts'
import type { Input } from './inputs.rules.ts'

/** Weights of several answers. Those of one input stand together. */
export interface Linear {
  readonly answers: number
  readonly dense: Float32Array
  readonly grams: Float32Array
  readonly biases: Float32Array
}

/** Turns votes into a likelihood, and says from which one on a kind is found. */
export interface Calibration {
  readonly slope: number
  readonly offset: number
  /** Above 1: the kind is never found. */
  readonly threshold: number
}

/** From which certainty on something is said. */
export interface Certainty extends Readonly<Record<Exclude<Outcome, 'unclear'>, number>> {
  readonly sentiment: Readonly<Record<Channel, number>>
}

export interface Classifier {
  readonly pieces: Linear
  readonly whole: Linear
  readonly outcome: Linear
  readonly sentiment: Linear
  readonly calibration: Readonly<Record<Channel, Readonly<Record<Kind, Calibration>>>>
  readonly certainty: Certainty
}

export const emptyLinear = (dense: number, answers: number): Linear => ({
  answers,
  dense: new Float32Array(dense * answers),
  grams: new Float32Array(GRAMS * answers),
  biases: new Float32Array(answers),
})

/** The vote for each answer. */
export function votesOf({ answers, dense, grams, biases }: Linear, input: Input): Float64Array {
  const votes = new Float64Array(answers)
  for (const gram of input.grams) {
    const row = gram * answers
    for (let answer = 0; answer < answers; answer++)
      votes[answer] = (votes[answer] as number) + (grams[row + answer] as number)
  }
  const norm = 1 / Math.sqrt(input.grams.length || 1)
  for (let answer = 0; answer < answers; answer++)
    votes[answer] = (votes[answer] as number) * norm + (biases[answer] as number)
  for (let at = 0; at < input.dense.length; at++) {
    const value = input.dense[at] as number
    if (value === 0) continue
    const row = at * answers
    for (let answer = 0; answer < answers; answer++)
      votes[answer] = (votes[answer] as number) + value * (dense[row + answer] as number)
  }
  return votes
}

/** What a subject without pieces has in place of the best piece. */
const NO_PIECE = -3

/** The vote for each kind, and the piece with the highest one; -1 if no piece may have the kind. */
export interface KindVotes {
  readonly votes: Float64Array
  readonly best: Int32Array
}

/** @param mayHave whether a piece may have a kind */
export function kindVotes(
  { pieces, whole }: Pick<Classifier, 'pieces' | 'whole'>,
  inputs: { readonly pieces: readonly Input[]; readonly whole: Input },
  mayHave: (kind: number, piece: number) => boolean,
): KindVotes {
  const most = new Float64Array(KINDS.length).fill(Number.NEGATIVE_INFINITY)
  const best = new Int32Array(KINDS.length).fill(-1)
  for (const [place, input] of inputs.pieces.entries()) {
    for (const [kind, vote] of votesOf(pieces, input).entries()) {
      if (vote <= (most[kind] as number) || !mayHave(kind, place)) continue
      most[kind] = vote
      best[kind] = place
    }
  }
  const votes = votesOf(whole, inputs.whole).map(
    (vote, kind) => vote + ((best[kind] as number) < 0 ? NO_PIECE : (most[kind] as number)),
  )
  return { votes, best }
}

export const likelihood = (vote: number, { slope, offset }: Calibration): number =>
  1 / (1 + Math.exp(-(slope * vote + offset)))

/** How likely each answer is, if exactly one is right (softmax). */
export function shares(votes: Float64Array): Float64Array {
  const most = Math.max(...votes)
  const powers = votes.map((vote) => Math.exp(vote - most))
  const sum = powers.reduce((total, power) => total + power, 0)
  return powers.map((power) => power / sum)
}

/**
 * How certain the more likely one of resolved and unresolved is: the geometric mean of its share of all three outcomes, and of its share of these two. The first
 * alone would say too seldom what is clear, and the second alone too often what is not. `likely`: shares of `OUTCOMES`
 */
export function certaintyOfOutcome(
  likely: ArrayLike<number>,
): readonly [outcome: Exclude<Outcome, 'unclear'>, certainty: number] {
  const [resolved, unresolved] = [likely[0] ?? 0, likely[1] ?? 0]
  const share = Math.max(resolved, unresolved)
  return [resolved > unresolved ? 'resolved' : 'unresolved', share / Math.sqrt(resolved + unresolved || 1)]
}

/** An outcome that is certain enough, else `unclear`: never the next best. `likely`: shares of `OUTCOMES` */
export function outcomeOfShares(
  likely: ArrayLike<number>,
  from: Pick<Certainty, 'resolved' | 'unresolved'>,
): Outcome {
  const [outcome, certainty] = certaintyOfOutcome(likely)
  return certainty >= from[outcome] ? outcome : 'unclear'
}

/** The most likely sentiment if it is certain enough, else null. `likely`: shares of `SENTIMENTS` */
export function sentimentOf(likely: readonly number[], certainty: number): Sentiment | null {
  const most = Math.max(...likely)
  return most >= certainty ? (SENTIMENTS[likely.indexOf(most)] ?? null) : null
}
