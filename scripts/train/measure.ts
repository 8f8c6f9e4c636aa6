/** How well scores order what is right before what is wrong. */

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

/** How often a right one has the higher score than a wrong one (area under the ROC curve); ties count half. Null without both. */
export function areaUnderCurve(scored: readonly Scored[]): number | null {
  const sorted = scored.toSorted(([a], [b]) => a - b)
  let [ranks, right, start] = [0, 0, 0]
  while (start < sorted.length) {
    let end = start
    while (end < sorted.length && sorted[end]?.[0] === sorted[start]?.[0]) end++
    const here = sorted.slice(start, end).filter(([, isRight]) => isRight).length
    ranks += here * ((start + 1 + end) / 2)
    right += here
    start = end
  }
  const wrong = sorted.length - right
  return right === 0 || wrong === 0 ? null : (ranks - (right * (right + 1)) / 2) / (right * wrong)
}
