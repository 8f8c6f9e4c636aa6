/** How right the analyser is on sources that it has not seen, as data and as lines. */
import { toneOf } from '../../src/analysis/analyze/eval/tone.ts'
import { KINDS, SENTIMENTS, type Sentiment } from '../../src/analysis/analyze/insight.ts'
import { type Decided, MIN_POSITIVES } from './calibrate.ts'
import { isOwn } from './folds.ts'
import { areaUnderCurve, averagePrecision } from './measure.ts'

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
  /** Of those called resolved or unresolved, the part that is labelled so. */
  readonly rightOfGiven: number
}

interface SentimentFigures {
  readonly items: number
  /** Of all; the others got no answer, which counts as missed. */
  readonly told: number
  /** Of those that are told. */
  readonly right: number
  readonly macroF1: number
  /** Of a public list of words (AFINN-165). */
  readonly macroF1OfWords: number
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

export function accuracyOf(decided: readonly Decided[]): Accuracy {
  const places = Map.groupBy(decided, ({ source, item }) =>
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
            kinds: kindsOf(items),
            outcome: outcomesOf(items),
            sentiment: sentimentsOf(items),
          },
        ]),
    ),
  }
}

function kindsOf(items: readonly Decided[]): Record<string, KindFigures> {
  return Object.fromEntries(
    KINDS.flatMap((kind, at) => {
      const known = items.filter((one) => one.known.includes(kind))
      const positives = known.filter(({ item }) => item.kinds.includes(kind)).length
      if (positives === 0) return []
      const found = known.filter((one) => one.found.includes(kind))
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

function outcomesOf(items: readonly Decided[]): OutcomeFigures | null {
  const ended = items.flatMap(({ item, outcomes, outcome: given }) =>
    item.outcome === null || outcomes === null ? [] : [{ label: item.outcome, outcomes, given }],
  )
  if (ended.length === 0) return null
  const clear = ended.filter(({ label }) => label !== 'unclear')
  const told = ended.filter(({ given }) => given !== 'unclear')
  const count = (label: string) => ended.filter((one) => one.label === label).length
  const share = (some: readonly unknown[], all: number) => short(some.length / Math.max(1, all))
  const area = areaUnderCurve(
    clear.map(
      ({ label, outcomes: [resolved = 0, unresolved = 0] }) =>
        [resolved - unresolved, label === 'resolved'] as const,
    ),
  )
  const called = (label: string, as: string) => clear.filter((one) => one.label === label && one.given === as)
  const isRight = ({ label, given }: (typeof ended)[number]) => label === given
  return {
    resolved: count('resolved'),
    unresolved: count('unresolved'),
    unclear: count('unclear'),
    areaUnderCurve: area === null ? null : short(area),
    right: share(clear.filter(isRight), clear.length),
    givenUnclear: share(
      clear.filter(({ given }) => given === 'unclear'),
      clear.length,
    ),
    solvedCalledUnresolved: share(called('resolved', 'unresolved'), count('resolved')),
    failedCalledResolved: share(called('unresolved', 'resolved'), count('unresolved')),
    rightOfGiven: share(told.filter(isRight), told.length),
  }
}

function sentimentsOf(items: readonly Decided[]): SentimentFigures {
  const labelled = items.flatMap(({ item, sentiment }) =>
    item.sentiment === null
      ? []
      : [
          {
            label: item.sentiment,
            given: sentiment,
            byWords: toneOf(
              item.said.flatMap(({ own, text }) => (own ? [] : [text])).join('\n'),
              item.language,
            ),
          },
        ],
  )
  const macroF1 = (givenBy: (one: (typeof labelled)[number]) => Sentiment | null) => {
    const scores = SENTIMENTS.flatMap((name) => {
      const right = labelled.filter((one) => one.label === name && givenBy(one) === name).length
      const all = labelled.filter(({ label }) => label === name).length
      const found = labelled.filter((one) => givenBy(one) === name).length
      return all + found === 0 ? [] : [(2 * right) / (all + found)]
    })
    return short(scores.reduce((sum, score) => sum + score, 0) / Math.max(1, scores.length))
  }
  const told = labelled.filter(({ given }) => given !== null)
  const negative = labelled.filter(({ label }) => label === 'negative')
  return {
    items: labelled.length,
    told: short(told.length / Math.max(1, labelled.length)),
    right: short(told.filter(({ label, given }) => label === given).length / Math.max(1, told.length)),
    macroF1: macroF1(({ given }) => given),
    macroF1OfWords: macroF1(({ byWords }) => byWords),
    positiveOfNegative: short(
      negative.filter(({ given }) => given === 'positive').length / Math.max(1, negative.length),
    ),
  }
}

export function linesOf({ places }: Accuracy): readonly string[] {
  return Object.entries(places).flatMap(([place, { items, kinds, outcome, sentiment }]) => [
    '',
    `${place}: ${items} items; sentiment macro F1 ${sentiment.macroF1.toFixed(2)} of ${sentiment.items} (list of words ${sentiment.macroF1OfWords.toFixed(2)})`,
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
