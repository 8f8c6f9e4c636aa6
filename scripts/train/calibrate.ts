/** Turns votes into likelihoods, and chooses from which one on a kind is found, an outcome given or a sentiment told. All by items of sources that were left out. */
import { soberly } from '../../src/analysis/analyze/builtin/analyze.ts'
import {
  type Calibration,
  type Classifier,
  certaintyOfOutcome,
  likelihood,
  outcomeOfShares,
  sentimentOf,
} from '../../src/analysis/analyze/builtin/classifier.rules.ts'
import { type Measured, passesGate, requiredPrecision } from '../../src/analysis/analyze/gate.rules.ts'
import {
  KINDS,
  type Kind,
  type Outcome,
  ratingOf,
  SENTIMENTS,
  type Sentiment,
} from '../../src/analysis/analyze/insight.ts'
import { CHANNELS, type Channel } from '../../src/kernel/channel.ts'
import { foldsOf, isOwn, type Unseen } from './folds.ts'
import type { Scored } from './measure.ts'
import { sourcesWithoutCustomers } from './public.ts'

/** So much more than the gate asks for, since other texts are a little harder: of strangers' text, of the repository's own, and of wishes, which are few. */
const RESERVE = 0.03
const RESERVE_OF_OWN = 0.02
const RESERVE_OF_WISHES = 0.07
/** On the repository's own text, which was written to be difficult and has what public text lacks. */
const PRECISION_OF_OWN = 0.72
/** A source with so many positives counts by itself. A kind is calibrated on public text if one such source is there, else on all text. */
export const MIN_POSITIVES = 30
/** A threshold that is chosen without a source needs so many in the others. */
const ENOUGH = 100
/** The precision of a source in which less was found says nothing. */
const MIN_FOUND = 5
const NEVER = 2

export type Decisions = Pick<Classifier, 'calibration' | 'certainty'>

/** What is said of an item by thresholds that were chosen without its source. */
export interface Decided extends Unseen {
  readonly found: readonly Kind[]
  readonly outcome: Outcome | null
  readonly sentiment: Sentiment | null
}

export function decideUnseen(unseen: readonly Unseen[]): readonly Decided[] {
  const items = wholeOnes(unseen)
  const foldOf = foldsOf(unseen)
  return [...Map.groupBy(items, foldOf)].flatMap(([fold, left]) => {
    const others = items.filter((one) => foldOf(one) !== fold)
    const [calibration, certainty] = [calibrationOf(others, items), certaintyOf(others)]
    return left.map((one) => {
      const { channel } = one.item
      const found = KINDS.filter((kind, at) => {
        const vote = one.votes[at]
        const of = calibration[channel][kind]
        return vote != null && likelihood(vote, of) >= of.threshold
      })
      const ratings = found.map((kind) => ({ rating: ratingOf(kind) }))
      return {
        ...{ ...one, found },
        outcome: one.outcomes === null ? null : outcomeOfShares(one.outcomes, certainty),
        sentiment: soberly(sentimentOf(one.sentiments, certainty.sentiment[channel]), one.mocks, ratings),
      }
    })
  })
}

export function decisionsOf(unseen: readonly Unseen[]): Decisions {
  const items = wholeOnes(unseen)
  return { calibration: calibrationOf(items), certainty: certaintyOf(items) }
}

/** Single clauses are no items. */
const wholeOnes = (unseen: readonly Unseen[]) => unseen.filter(({ source }) => !source.endsWith('.tsv'))

const byChannel = <T>(of: (channel: Channel) => T): Readonly<Record<Channel, T>> =>
  Object.fromEntries(CHANNELS.map((channel) => [channel, of(channel)])) as Record<Channel, T>

/** A vote, and where it stands. */
interface Vote {
  readonly source: string
  readonly vote: number
  readonly isRight: boolean
}

const votesFor = (unseen: readonly Unseen[], kind: Kind): readonly Vote[] =>
  unseen.flatMap(({ item, source, known, votes }) => {
    const vote = votes[KINDS.indexOf(kind)]
    return known.includes(kind) && vote != null ? [{ source, vote, isRight: item.kinds.includes(kind) }] : []
  })

const positives = (votes: readonly Vote[]) => votes.filter(({ isRight }) => isRight).length

/** @param all used for a kind that no public source of the items has often enough, but one of these */
function calibrationOf(items: readonly Unseen[], all = items): Classifier['calibration'] {
  const strangers = sourcesWithoutCustomers()
  return byChannel((channel) => {
    const votesIn = (some: readonly Unseen[], kind: Kind, least: number) => {
      const here = some.filter(({ item, source }) => item.channel === channel && !strangers.has(source))
      const ofPublic = votesFor(
        here.filter(({ source }) => !isOwn(source)),
        kind,
      )
      const ofOwn = votesFor(
        here.filter(({ source }) => isOwn(source)),
        kind,
      )
      return {
        ofPublic,
        ofOwn,
        isPublic: countedSources(ofPublic).length > 0 && positives(ofPublic) >= least,
      }
    }
    const ofKind = (kind: Kind) => {
      const [few, many] = [
        votesIn(items, kind, all === items ? MIN_POSITIVES : ENOUGH),
        votesIn(all, kind, MIN_POSITIVES),
      ]
      const { ofPublic, ofOwn, isPublic } = few.isPublic || !many.isPublic ? few : many
      const votes = isPublic ? ofPublic : [...ofPublic, ...ofOwn]
      const required = requiredPrecision(kind, channel)
      const reserve = kind === 'feature_request' ? RESERVE_OF_WISHES : RESERVE
      const enough = required + (isPublic ? reserve : RESERVE_OF_OWN)
      const lowest = strictest(
        lowestVote(votes, (counts, mean) => passesGate(counts, enough) && mean >= required),
        positives(ofOwn) >= MIN_POSITIVES
          ? lowestVote(ofOwn, ([right, wrong]) => right / (right + wrong) >= PRECISION_OF_OWN)
          : undefined,
      )
      return calibrationFor(
        votes.map(({ vote, isRight }) => [vote, isRight]),
        lowest,
      )
    }
    return Object.fromEntries(KINDS.map((kind) => [kind, ofKind(kind)])) as Record<Kind, Calibration>
  })
}

/**
 * The lowest vote from which on the findings are good enough. Null if there is none.
 * @param isEnough by what was found right and wrong, and by the mean of the precisions of the sources that count
 */
function lowestVote(
  votes: readonly Vote[],
  isEnough: (counts: Measured, mean: number) => boolean,
): number | null {
  const counts = new Map(countedSources(votes).map((source) => [source, { right: 0, found: 0 }]))
  let right = 0
  const steps = votes
    .toSorted((a, b) => b.vote - a.vote)
    .map(({ source, vote, isRight }, index) => {
      if (isRight) right++
      const count = counts.get(source)
      if (count !== undefined) {
        count.found++
        if (isRight) count.right++
      }
      return { vote, counts: [right, index + 1 - right] as const, mean: meanPrecision([...counts.values()]) }
    })
  return steps.findLast((step) => isEnough(step.counts, step.mean))?.vote ?? null
}

/** Of the sources in which enough was found. */
function meanPrecision(counts: readonly { readonly right: number; readonly found: number }[]): number {
  const telling = counts.filter(({ found }) => found >= MIN_FOUND)
  const sum = telling.reduce((total, { right, found }) => total + right / found, 0)
  return telling.length === 0 ? 1 : sum / telling.length
}

/** Null: nothing reaches the precision. Undefined: not asked for. */
function strictest(a: number | null, b: number | null | undefined): number | null {
  if (b === undefined) return a
  return a === null || b === null ? null : Math.max(a, b)
}

/** Those that have the kind often enough. */
const countedSources = (votes: readonly Vote[]): readonly string[] =>
  [...Map.groupBy(votes, ({ source }) => source)]
    .filter(([, some]) => positives(some) >= MIN_POSITIVES)
    .map(([source]) => source)

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

/** Which part of the sentiments that are told must be right. */
const RIGHT_SENTIMENTS = 0.75

/** From which shares on an outcome is given, so that the opposite is given seldom enough, and a sentiment told, so that enough of them are right. */
function certaintyOf(items: readonly Unseen[]): Classifier['certainty'] {
  const ended = items.filter(({ item, outcomes }) => item.outcome !== null && outcomes !== null)
  const real = ended.filter(({ source }) => !isOwn(source))
  const judged = real.length >= MIN_POSITIVES ? real : ended
  const lowest = (outcome: 'resolved' | 'unresolved', label: Outcome, most: number) => {
    const given = judged
      .filter(({ item }) => item.outcome === label)
      .map(({ outcomes }) => certaintyOfOutcome(outcomes ?? []))
      .map(([likelier, certainty]) => (likelier === outcome ? certainty : 0))
    for (let from = 0.34; from < 1; from += 0.01)
      if (given.filter((certainty) => certainty >= from).length <= most * given.length)
        return Number(from.toFixed(2))
    return NEVER
  }
  return {
    resolved: lowest('resolved', 'unresolved', MAX_FAILED_CALLED_RESOLVED),
    unresolved: lowest('unresolved', 'resolved', MAX_SOLVED_CALLED_UNRESOLVED),
    sentiment: byChannel((channel) => sentimentCertainty(items, channel)),
  }
}

/** The lowest share from which on enough sentiments are right, in the mean over public places and languages; over all items where there are too few. */
function sentimentCertainty(items: readonly Unseen[], channel: Channel): number {
  const here = items.filter(({ item }) => item.channel === channel && item.sentiment !== null)
  const told = here.map(({ source, item, sentiments }) => {
    const share = Math.max(...sentiments)
    return {
      place: isOwn(source) ? 'own' : `${source}/${item.language}`,
      share,
      isRight: SENTIMENTS[sentiments.indexOf(share)] === item.sentiment,
    }
  })
  const places = [...Map.groupBy(told, ({ place }) => place).values()].filter(
    (some) => some.length >= MIN_POSITIVES,
  )
  for (let from = 0.34; from < 1; from += 0.01) {
    const parts = places.flatMap((some) => {
      const sure = some.filter(({ share }) => share >= from)
      return sure.length < MIN_FOUND ? [] : [sure.filter(({ isRight }) => isRight).length / sure.length]
    })
    if (parts.length === 0) return NEVER
    if (parts.reduce((sum, part) => sum + part, 0) / parts.length >= RIGHT_SENTIMENTS)
      return Number(from.toFixed(2))
  }
  return NEVER
}
