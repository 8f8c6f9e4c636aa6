/** Trains linear votes by gradient descent with momentum on all examples at once. The same input gives the same weights. */
import type { Linear } from '../../src/analyze/builtin/judge.rules.ts'

interface Fit {
  readonly facts: readonly Float32Array[]
  /** For each example the part of each answer that is right. */
  readonly answers: readonly Float32Array[]
  /** `each`: any number of answers is right (logistic). `one`: exactly one is (softmax). */
  readonly sort: 'each' | 'one'
}

/** L2 penalty. Chosen by cross-validation. */
const PENALTY = 0.03
const STEPS = 400
const RATE = 0.15
const MOMENTUM = 0.9
/** Keeps facts that hardly vary from counting much. */
const LEAST_DEVIATION = 0.15
/** Digits behind the point that are stored. */
const DIGITS = 4

/** @returns for each answer a weight for each fact, then the bias */
export function trainLinear({ facts, answers, sort }: Fit): Linear {
  const scaled = scale(facts)
  const inputs = scaled.means.length
  const outputs = answers[0]?.length ?? 0
  const width = inputs + 1
  const weights = new Float64Array(width * outputs)
  const speed = new Float64Array(width * outputs)
  for (let step = 0; step < STEPS; step++) {
    const slopes = new Float64Array(width * outputs)
    for (const [at, row] of scaled.rows.entries()) {
      const wrong = errorsOf(weights, row, answers[at] as Float32Array, sort)
      for (let answer = 0; answer < outputs; answer++) {
        const by = (wrong[answer] as number) / scaled.rows.length
        const start = answer * width
        for (let fact = 0; fact < inputs; fact++)
          slopes[start + fact] = (slopes[start + fact] as number) + by * (row[fact] as number)
        slopes[start + inputs] = (slopes[start + inputs] as number) + by
      }
    }
    for (let at = 0; at < weights.length; at++) {
      const penalty = at % width === inputs ? 0 : PENALTY * (weights[at] as number)
      speed[at] = MOMENTUM * (speed[at] as number) - RATE * ((slopes[at] as number) + penalty)
      weights[at] = (weights[at] as number) + (speed[at] as number)
    }
  }
  return Array.from({ length: outputs }, (_, answer) =>
    unscaled(weights.subarray(answer * width, (answer + 1) * width), scaled),
  )
}

interface Scaled {
  readonly rows: readonly Float64Array[]
  readonly means: Float64Array
  readonly deviations: Float64Array
}

function scale(facts: readonly Float32Array[]): Scaled {
  const count = facts[0]?.length ?? 0
  const means = new Float64Array(count)
  const deviations = new Float64Array(count)
  for (let fact = 0; fact < count; fact++) {
    const values = facts.map((row) => row[fact] as number)
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length
    const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length
    means[fact] = mean
    deviations[fact] = Math.sqrt(variance) + LEAST_DEVIATION
  }
  const rows = facts.map((row) =>
    Float64Array.from(row, (value, fact) => (value - (means[fact] as number)) / (deviations[fact] as number)),
  )
  return { rows, means, deviations }
}

/** Votes of one example, less what is right. */
function errorsOf(
  weights: Float64Array,
  row: Float64Array,
  right: Float32Array,
  sort: Fit['sort'],
): Float64Array {
  const width = row.length + 1
  const votes = Float64Array.from(right, (_, answer) => {
    let sum = weights[answer * width + row.length] as number
    for (let fact = 0; fact < row.length; fact++)
      sum += (weights[answer * width + fact] as number) * (row[fact] as number)
    return sum
  })
  const most = Math.max(...votes)
  const total = votes.reduce((sum, vote) => sum + Math.exp(vote - most), 0)
  return votes.map((vote, answer) => {
    const likely = sort === 'each' ? 1 / (1 + Math.exp(-vote)) : Math.exp(vote - most) / total
    return likely - (right[answer] as number)
  })
}

/** The weights for facts as they are. */
function unscaled(weights: Float64Array, { means, deviations }: Scaled): Float32Array {
  const plain = Float32Array.from(weights)
  let bias = weights[means.length] as number
  for (let fact = 0; fact < means.length; fact++) {
    const weight = (weights[fact] as number) / (deviations[fact] as number)
    bias -= weight * (means[fact] as number)
    plain[fact] = Number(weight.toFixed(DIGITS))
  }
  plain[means.length] = Number(bias.toFixed(DIGITS))
  return plain
}
