/** How far a measured precision can be trusted. Pure. */

/** One-sided: in 9 of 10 such measurements the true value is above the bound. */
const CONFIDENCE = 0.9
const STEPS = 40

/**
 * The lower bound of a part that was measured as `right` of `all` (Clopper and Pearson, one-sided, 90 %). 0 without a measurement.
 * 15 of 15 give 0.86, 19 of 20 give 0.82.
 */
export function lowerBound(right: number, all: number): number {
  if (right === 0) return 0
  let low = 0
  let high = 1
  for (let step = 0; step < STEPS; step++) {
    const middle = (low + high) / 2
    if (atLeast(right, all, middle) < 1 - CONFIDENCE) low = middle
    else high = middle
  }
  return low
}

/** The probability of `right` or more successes in `all` trials with probability `p`. */
function atLeast(right: number, all: number, p: number): number {
  let logChoose = 0
  let sum = 0
  for (let k = 0; k <= all; k++) {
    if (k > 0) logChoose += Math.log((all - k + 1) / k)
    if (k >= right) sum += Math.exp(logChoose + k * Math.log(p) + (all - k) * Math.log1p(-p))
  }
  return sum
}
