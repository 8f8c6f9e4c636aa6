/**
 * The trained judge: out of the facts of a whole subject how likely it has each kind, and its sentiment. Pure.
 * `scripts/train.ts` makes the weights out of `data/insight/items`.
 */
import { type Kind, SENTIMENTS, type Sentiment } from '../insight.ts'

/** For each of several answers a weight for each fact, then the bias. */
export type Linear = readonly Float32Array[]

/** From which likelihood on a kind is found. */
export type Thresholds = Readonly<Record<Kind, number>>

export interface Judge {
  readonly kinds: Linear
  readonly sentiments: Linear
  /** From which likelihood on a kind is found. */
  readonly thresholds: Thresholds
}

/** How likely each kind is, in the order of `KINDS`. A subject may have several or none. */
export function likelyKinds({ kinds }: Pick<Judge, 'kinds'>, facts: Float32Array): Float32Array {
  return applyLinear(kinds, facts).map((vote) => 1 / (1 + Math.exp(-vote)))
}

export function likelySentiment({ sentiments }: Pick<Judge, 'sentiments'>, facts: Float32Array): Sentiment {
  const likely = shares(applyLinear(sentiments, facts))
  return SENTIMENTS[likely.indexOf(Math.max(...likely))] ?? 'neutral'
}

export function applyLinear(linear: Linear, facts: Float32Array): Float32Array {
  return Float32Array.from(linear, (weights) => {
    let sum = weights[facts.length] ?? 0
    for (let at = 0; at < facts.length; at++) sum += (weights[at] ?? 0) * (facts[at] ?? 0)
    return sum
  })
}

/** How likely each answer is, if exactly one is right (softmax). */
export function shares(votes: Float32Array): Float32Array {
  const most = Math.max(...votes)
  const powers = votes.map((vote) => Math.exp(vote - most))
  const sum = powers.reduce((total, power) => total + power, 0)
  return powers.map((power) => power / sum)
}
