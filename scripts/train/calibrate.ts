/** Turns votes into likelihoods, and chooses from which one on a kind is found or an outcome given. All by items of sources that were left out. */
import type { Calibration, Classifier } from '../../src/analyze/builtin/classifier.rules.ts'
import { type Measured, passesGate, requiredPrecision } from '../../src/analyze/gate.rules.ts'
import { KINDS, type Kind, OUTCOMES } from '../../src/analyze/insight.ts'
import { CHANNELS } from '../../src/insight/model.ts'
import { isOwn, type Unseen } from './folds.ts'
import type { Scored } from './measure.ts'

/** So much more than the gate asks for, since other texts are a little harder. */
const RESERVE = 0.01
/** On the repository's own text, which was written to be difficult and has what public text lacks. */
const PRECISION_OF_OWN = 0.72
/** A kind is calibrated on public text where it has so many positives there, else on the repository's own. */
const MIN_POSITIVES = 30
const NEVER = 2

const scoredOf = (unseen: readonly Unseen[], kind: Kind): readonly Scored[] =>
  unseen.flatMap(({ item, known, votes }) => {
    const vote = votes[KINDS.indexOf(kind)]
    return known.includes(kind) && vote != null ? [[vote, item.kinds.includes(kind)] as const] : []
  })

const positives = (scored: readonly Scored[]) => scored.filter(([, isRight]) => isRight).length

export function calibrationOf(unseen: readonly Unseen[]): Classifier['calibration'] {
  return Object.fromEntries(
    CHANNELS.map((channel) => {
      // Single clauses are no items.
      const all = unseen.filter(({ item, source }) => item.channel === channel && !source.endsWith('.tsv'))
      const publicOnes = all.filter(({ source }) => !isOwn(source))
      const ownOnes = all.filter(({ source }) => isOwn(source))
      const kinds = KINDS.map((kind) => {
        const ofPublic = scoredOf(publicOnes, kind)
        const ofOwn = scoredOf(ownOnes, kind)
        const scored = positives(ofPublic) >= MIN_POSITIVES ? ofPublic : scoredOf(all, kind)
        const vote = strictest(
          lowestVote(scored, (counts) => passesGate(counts, requiredPrecision(kind, channel) + RESERVE)),
          positives(ofOwn) >= MIN_POSITIVES
            ? lowestVote(ofOwn, ([right, wrong]) => right / (right + wrong) >= PRECISION_OF_OWN)
            : undefined,
        )
        return [kind, calibrationFor(scored, vote)]
      })
      return [channel, Object.fromEntries(kinds)]
    }),
  ) as Classifier['calibration']
}

/** The lowest vote from which on the findings are good enough. Null if there is none. */
function lowestVote(scored: readonly Scored[], isEnough: (counts: Measured) => boolean): number | null {
  let [right, lowest] = [0, null as number | null]
  for (const [index, [vote, isRight]] of scored.toSorted(([a], [b]) => b - a).entries()) {
    if (isRight) right++
    if (isEnough([right, index + 1 - right])) lowest = vote
  }
  return lowest
}

/** Null: nothing reaches the precision. Undefined: not asked for. */
function strictest(a: number | null, b: number | null | undefined): number | null {
  if (b === undefined) return a
  return a === null || b === null ? null : Math.max(a, b)
}

function calibrationFor(scored: readonly Scored[], vote: number | null): Calibration {
  const { slope, offset } = plattOf(scored)
  const likely = vote === null ? NEVER : 1 / (1 + Math.exp(-(slope * vote + offset)))
  const digits = (value: number) => Number(value.toFixed(4))
  return { slope: digits(slope), offset: digits(offset), threshold: digits(likely) }
}

/** Logistic regression of the label on the vote (Platt 1999), by Newton's method. */
function plattOf(scored: readonly Scored[]): { readonly slope: number; readonly offset: number } {
  let [slope, offset] = [1, 0]
  for (let step = 0; step < 50; step++) {
    let [gs, go, hss, hso, hoo] = [1e-3 * (slope - 1), 0, 1e-3, 0, 1e-6]
    for (const [vote, isRight] of scored) {
      const likely = 1 / (1 + Math.exp(-(slope * vote + offset)))
      const [error, weight] = [likely - (isRight ? 1 : 0), likely * (1 - likely)]
      gs += error * vote
      go += error
      hss += weight * vote * vote
      hso += weight * vote
      hoo += weight
    }
    const determinant = hss * hoo - hso * hso
    if (!(Math.abs(determinant) > 1e-12)) break
    slope -= (hoo * gs - hso * go) / determinant
    offset -= (hss * go - hso * gs) / determinant
  }
  return { slope: Math.min(5, Math.max(0.05, slope)), offset }
}

/** The largest parts of conversations whose outcome may be called the opposite. */
const MAX_SOLVED_CALLED_UNRESOLVED = 0.1
const MAX_FAILED_CALLED_RESOLVED = 0.05

/** From which shares on an outcome is given, so that the opposite is given seldom enough. */
export function certaintyOf(unseen: readonly Unseen[]): Classifier['certainty'] {
  const real = unseen.filter(
    ({ source, item, outcomes }) => !isOwn(source) && item.outcome !== null && outcomes !== null,
  )
  const ended =
    real.length >= MIN_POSITIVES
      ? real
      : unseen.filter(({ item, outcomes }) => item.outcome !== null && outcomes !== null)
  const given = (outcome: 'resolved' | 'unresolved', label: 'resolved' | 'unresolved', from: number) => {
    const labelled = ended.filter(({ item }) => item.outcome === label)
    const place = OUTCOMES.indexOf(outcome)
    const called = labelled.filter(({ outcomes }) => {
      const share = outcomes?.[place] ?? 0
      return share >= from && share === Math.max(...(outcomes ?? []))
    })
    return called.length / Math.max(1, labelled.length)
  }
  const lowest = (outcome: 'resolved' | 'unresolved', label: 'resolved' | 'unresolved', most: number) => {
    for (let from = 0.34; from < 1; from += 0.01)
      if (given(outcome, label, from) <= most) return Number(from.toFixed(2))
    return NEVER
  }
  return {
    resolved: lowest('resolved', 'unresolved', MAX_FAILED_CALLED_RESOLVED),
    unresolved: lowest('unresolved', 'resolved', MAX_SOLVED_CALLED_UNRESOLVED),
  }
}
