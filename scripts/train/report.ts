/** How right the analyser is on sources that it has not seen, as data and as lines. */
import { type Classifier, likelihood, outcomeOfShares } from '../../src/analyze/builtin/classifier.rules.ts'
import { KINDS, OUTCOMES, SENTIMENTS } from '../../src/analyze/insight.ts'
import { isOwn, type Unseen } from './folds.ts'
import { areaUnderCurve, averagePrecision } from './measure.ts'

type Decisions = Pick<Classifier, 'calibration' | 'certainty'>

interface KindFigures {
  readonly positives: number
  readonly right: number
  readonly wrong: number
  readonly averagePrecision: number
}

interface OutcomeFigures {
  readonly resolved: number
  readonly unresolved: number
  readonly unclear: number
  /** By resolved minus unresolved, of those labelled clear. */
  readonly areaUnderCurve: number | null
  /** Of those labelled clear. */
  readonly right: number
  readonly givenUnclear: number
  readonly solvedCalledUnresolved: number
  readonly failedCalledResolved: number
}

interface SentimentFigures {
  readonly items: number
  readonly macroF1: number
  /** Which part of the negative items is called positive. */
  readonly positiveOfNegative: number
}

export interface Accuracy {
  /** By `source/language/channel`. The authors of the repository are one source, `own`. */
  readonly places: Readonly<
    Record<
      string,
      {
        readonly items: number
        readonly kinds: Readonly<Record<string, KindFigures>>
        readonly outcome: OutcomeFigures | null
        readonly sentiment: SentimentFigures
      }
    >
  >
}

export function accuracyOf(unseen: readonly Unseen[], decisions: Decisions): Accuracy {
  const whole = unseen.filter(({ source }) => !source.endsWith('.tsv'))
  const places = Map.groupBy(whole, ({ source, item }) =>
    [isOwn(source) ? 'own' : source, item.language, item.channel].join('/'),
  )
  return {
    places: Object.fromEntries(
      [...places]
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([place, items]) => [
          place,
          {
            items: items.length,
            kinds: kindsOf(items, decisions),
            outcome: outcomesOf(items, decisions),
            sentiment: sentimentsOf(items),
          },
        ]),
    ),
  }
}

function kindsOf(items: readonly Unseen[], { calibration }: Decisions): Record<string, KindFigures> {
  return Object.fromEntries(
    KINDS.flatMap((kind, at) => {
      const known = items.filter((one) => one.known.includes(kind))
      const positives = known.filter(({ item }) => item.kinds.includes(kind)).length
      if (positives === 0) return []
      const found = known.filter(({ item, votes }) => {
        const vote = votes[at]
        const one = calibration[item.channel][kind]
        return vote != null && likelihood(vote, one) >= one.threshold
      })
      const right = found.filter(({ item }) => item.kinds.includes(kind)).length
      const scored = known.map(
        ({ item, votes }) => [votes[at] ?? Number.NEGATIVE_INFINITY, item.kinds.includes(kind)] as const,
      )
      return [
        [
          kind,
          {
            positives,
            right,
            wrong: found.length - right,
            averagePrecision: short(averagePrecision(scored)),
          },
        ],
      ]
    }),
  )
}

const short = (value: number) => Number(value.toFixed(3))

function outcomesOf(items: readonly Unseen[], { certainty }: Decisions): OutcomeFigures | null {
  const ended = items.flatMap(({ item, outcomes }) =>
    item.outcome === null || outcomes === null ? [] : [{ label: item.outcome, outcomes }],
  )
  if (ended.length === 0) return null
  const given = ended.map((one) => ({ ...one, given: outcomeOfShares(one.outcomes, certainty) }))
  const clear = given.filter(({ label }) => label !== 'unclear')
  const count = (label: string) => given.filter((one) => one.label === label).length
  const share = (some: readonly unknown[], all: number) => short(some.length / Math.max(1, all))
  const place = (name: 'resolved' | 'unresolved') => OUTCOMES.indexOf(name)
  const area = areaUnderCurve(
    clear.map(
      ({ label, outcomes }) =>
        [
          (outcomes[place('resolved')] ?? 0) - (outcomes[place('unresolved')] ?? 0),
          label === 'resolved',
        ] as const,
    ),
  )
  const called = (label: string, as: string) => clear.filter((one) => one.label === label && one.given === as)
  return {
    resolved: count('resolved'),
    unresolved: count('unresolved'),
    unclear: count('unclear'),
    areaUnderCurve: area === null ? null : short(area),
    right: share(
      clear.filter((one) => one.label === one.given),
      clear.length,
    ),
    givenUnclear: share(
      clear.filter((one) => one.given === 'unclear'),
      clear.length,
    ),
    solvedCalledUnresolved: share(called('resolved', 'unresolved'), count('resolved')),
    failedCalledResolved: share(called('unresolved', 'resolved'), count('unresolved')),
  }
}

function sentimentsOf(items: readonly Unseen[]): SentimentFigures {
  const labelled = items.flatMap(({ item, sentiments }) =>
    item.sentiment === null
      ? []
      : [{ label: item.sentiment, given: SENTIMENTS[sentiments.indexOf(Math.max(...sentiments))] }],
  )
  const scores = SENTIMENTS.map((name) => {
    const right = labelled.filter(({ label, given }) => label === name && given === name).length
    const all = labelled.filter(({ label }) => label === name).length
    const found = labelled.filter(({ given }) => given === name).length
    return all + found === 0 ? null : (2 * right) / (all + found)
  }).filter((score) => score !== null)
  const negative = labelled.filter(({ label }) => label === 'negative')
  return {
    items: labelled.length,
    macroF1: short(scores.reduce((sum, score) => sum + score, 0) / Math.max(1, scores.length)),
    positiveOfNegative: short(
      negative.filter(({ given }) => given === 'positive').length / Math.max(1, negative.length),
    ),
  }
}

/** The least positives with which a source counts for a kind. */
export const MIN_POSITIVES = 30

export function linesOf({ places }: Accuracy): readonly string[] {
  return Object.entries(places).flatMap(([place, { items, kinds, outcome, sentiment }]) => [
    '',
    `${place}: ${items} items; sentiment macro F1 ${sentiment.macroF1.toFixed(2)} of ${sentiment.items}`,
    ...Object.entries(kinds).map(([kind, { positives, right, wrong, averagePrecision: average }]) => {
      if (positives < MIN_POSITIVES) return `  ${kind.padEnd(22)} ${positives} positives: too few`
      const precision = right + wrong === 0 ? '   -' : (right / (right + wrong)).toFixed(2)
      return `  ${kind.padEnd(22)} precision ${precision} recall ${(right / positives).toFixed(2)} average precision ${average.toFixed(2)} of ${positives}`
    }),
    ...(outcome === null
      ? []
      : [
          `  outcome: ${outcome.resolved} resolved, ${outcome.unresolved} unresolved, ${outcome.unclear} unclear; area under curve ${outcome.areaUnderCurve ?? '-'}; of the clear ones right ${outcome.right}, unclear ${outcome.givenUnclear}; solved called unresolved ${outcome.solvedCalledUnresolved}, failed called resolved ${outcome.failedCalledResolved}`,
        ]),
  ])
}
