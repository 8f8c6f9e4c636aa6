/** Trains the head: one hidden layer with dropout, one output for each answer, cross-entropy. The same input gives the same weights. */
import type { Layers } from '../../src/analyze/builtin/head.rules.ts'
import { createRandom, type Random } from '../../src/platform/random.ts'
import { type Trained, trained } from './adam.ts'
import type { Example } from './examples.ts'
import { normal, shuffled } from './random.ts'

export interface Training {
  readonly hidden: number
  readonly epochs: number
  readonly batch: number
  /** Learning rate at the beginning. It falls to zero. */
  readonly rate: number
  readonly decay: number
  /** Part of the hidden units that is left out; of the inputs half of it. */
  readonly dropout: number
  /** How much more an example counts for a kind that it has. */
  readonly weightOfKind: number
  readonly seed: number
}

export const TRAINING: Training = {
  hidden: 128,
  epochs: 30,
  batch: 64,
  rate: 2e-3,
  decay: 1e-2,
  dropout: 0.4,
  weightOfKind: 2,
  seed: 1,
}

/** Few pieces have a kind. */
const FIRST_BIAS = -2

export function trainNetwork(examples: readonly Example[], training: Training): Layers {
  const random = createRandom(training.seed)
  const { hidden } = training
  const inputs = examples[0]?.input.length ?? 0
  const outputs = examples[0]?.labels.length ?? 0
  const layers: Layers = {
    inputs,
    hidden,
    first: Float32Array.from({ length: inputs * hidden }, () => normal(random) * Math.sqrt(2 / inputs)),
    firstBias: new Float32Array(hidden),
    second: Float32Array.from({ length: hidden * outputs }, () => normal(random) * 0.1),
    secondBias: new Float32Array(outputs).fill(FIRST_BIAS),
  }
  const parts = [layers.first, layers.firstBias, layers.second, layers.secondBias].map(trained)
  const pass = createPass(layers, parts, training, random)
  for (let epoch = 0; epoch < training.epochs; epoch++) {
    const rate = training.rate * (1 - epoch / training.epochs)
    const order = shuffled(examples.length, random)
    for (let start = 0; start < order.length; start += training.batch) {
      const batch = order.subarray(start, start + training.batch)
      for (const index of batch) pass(examples[index] as Example, batch.length)
      for (const part of parts) part.step(rate, training.decay)
    }
  }
  return layers
}

/** Adds the gradient of one example. */
function createPass(layers: Layers, parts: readonly Trained[], training: Training, random: Random) {
  const { inputs, hidden, first, firstBias, second, secondBias } = layers
  const outputs = secondBias.length
  const [dFirst, dFirstBias, dSecond, dSecondBias] = parts.map(({ gradient }) => gradient) as [
    Float32Array,
    Float32Array,
    Float32Array,
    Float32Array,
  ]
  const { dropout, weightOfKind } = training
  const seen = new Float32Array(inputs)
  const units = new Float32Array(hidden)
  const slopes = new Float32Array(hidden)
  const masks = new Float32Array(hidden)
  return ({ input, labels, weights }: Example, batch: number) => {
    for (let at = 0; at < inputs; at++) {
      const value = input[at] as number
      seen[at] = value === 0 || random() < dropout / 2 ? 0 : value / (1 - dropout / 2)
    }
    units.set(firstBias)
    for (let at = 0; at < inputs; at++) {
      const value = seen[at] as number
      if (value === 0) continue
      const row = at * hidden
      for (let unit = 0; unit < hidden; unit++) {
        units[unit] = (units[unit] as number) + value * (first[row + unit] as number)
      }
    }
    for (let unit = 0; unit < hidden; unit++) {
      const isActive = (units[unit] as number) > 0 && random() >= dropout
      masks[unit] = isActive ? 1 / (1 - dropout) : 0
      units[unit] = (units[unit] as number) * (masks[unit] as number)
      slopes[unit] = 0
    }
    for (let kind = 0; kind < outputs; kind++) {
      let sum = secondBias[kind] as number
      for (let unit = 0; unit < hidden; unit++) {
        sum += (units[unit] as number) * (second[unit * outputs + kind] as number)
      }
      const label = labels[kind] as number
      const counts = (weights?.[kind] ?? 1) * (label > 0 ? weightOfKind : 1)
      const slope = ((1 / (1 + Math.exp(-sum)) - label) * counts) / batch
      dSecondBias[kind] = (dSecondBias[kind] as number) + slope
      for (let unit = 0; unit < hidden; unit++) {
        const weight = unit * outputs + kind
        dSecond[weight] = (dSecond[weight] as number) + slope * (units[unit] as number)
        slopes[unit] = (slopes[unit] as number) + slope * (second[weight] as number)
      }
    }
    for (let unit = 0; unit < hidden; unit++) {
      slopes[unit] = (slopes[unit] as number) * (masks[unit] as number)
      dFirstBias[unit] = (dFirstBias[unit] as number) + (slopes[unit] as number)
    }
    for (let at = 0; at < inputs; at++) {
      const value = seen[at] as number
      if (value === 0) continue
      const row = at * hidden
      for (let unit = 0; unit < hidden; unit++) {
        dFirst[row + unit] = (dFirst[row + unit] as number) + value * (slopes[unit] as number)
      }
    }
  }
}
