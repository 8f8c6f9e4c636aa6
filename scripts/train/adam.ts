/** Adam with decoupled weight decay (Loshchilov and Hutter, 2019) for one array of weights. */
const BETA1 = 0.9
const BETA2 = 0.999
const EPSILON = 1e-8

export interface Trained {
  readonly weights: Float32Array
  /** Sums of the current batch. `step` sets them to zero. */
  readonly gradient: Float32Array
  step(rate: number, decay: number): void
}

export function trained(weights: Float32Array): Trained {
  const gradient = new Float32Array(weights.length)
  const mean = new Float32Array(weights.length)
  const square = new Float32Array(weights.length)
  let correction1 = 1
  let correction2 = 1
  return {
    weights,
    gradient,
    step(rate, decay) {
      correction1 *= BETA1
      correction2 *= BETA2
      const scale = rate / (1 - correction1)
      for (let at = 0; at < weights.length; at++) {
        const slope = gradient[at] as number
        const m = BETA1 * (mean[at] as number) + (1 - BETA1) * slope
        const v = BETA2 * (square[at] as number) + (1 - BETA2) * slope * slope
        mean[at] = m
        square[at] = v
        const weight = weights[at] as number
        weights[at] =
          weight - (scale * m) / (Math.sqrt(v / (1 - correction2)) + EPSILON) - rate * decay * weight
        gradient[at] = 0
      }
    },
  }
}
