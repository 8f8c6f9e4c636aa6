/** Average precision, and the threshold for a precision. */

/** A score, and whether the label has the kind. */
export type Scored = readonly [score: number, isRight: boolean]

/** The mean of the precisions at each right one, from the highest score down. */
export function averagePrecision(scored: readonly Scored[]): number {
  let right = 0
  let sum = 0
  for (const [index, [, isRight]] of scored.toSorted(([a], [b]) => b - a).entries()) {
    if (!isRight) continue
    right++
    sum += right / (index + 1)
  }
  return right === 0 ? 0 : sum / right
}

/** The lowest score above which at least this part is right. 2 if there is none. */
export function thresholdFor(precision: number, scored: readonly Scored[]): number {
  const MIN_RIGHT = 10
  let right = 0
  let threshold = 2
  for (const [index, [score, isRight]] of scored.toSorted(([a], [b]) => b - a).entries()) {
    if (isRight) right++
    if (right >= MIN_RIGHT && right / (index + 1) >= precision) threshold = score
  }
  return threshold
}
