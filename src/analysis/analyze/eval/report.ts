/** The report of an evaluation, for people and as JSON. */
import { KINDS } from '../insight.ts'
import { lowerBound } from './bound.rules.ts'
import {
  type Count,
  calibrationError,
  outcomeFigures,
  precisionOf,
  recallOf,
  type Scores,
  sentimentFigures,
} from './score.rules.ts'

/** What was found in some items, what of it is shown, and what two simple analysers find. */
export interface Comparison {
  readonly found: Scores
  readonly shown: Scores
  readonly majority: Scores
  readonly wordList: Scores
}

export interface Evaluation extends Comparison {
  readonly engine: string
  /** The same of a part of the items, by `channel`, `language` and `source`. Without what all items have in common. */
  readonly parts: Readonly<Record<string, Readonly<Record<string, Comparison>>>>
}

const digits = (value: number | null) => (value === null ? '-' : value.toFixed(2))

const figuresOf = (count: Count) => ({
  ...count,
  precision: precisionOf(count),
  lowerBound: lowerBound(count.right, count.right + count.wrong),
  recall: recallOf(count),
})

function jsonOfScores(scores: Scores) {
  const each = (counts: Iterable<readonly [string, Count]>) =>
    Object.fromEntries([...counts].map(([name, count]) => [name, figuresOf(count)]))
  return {
    all: figuresOf(scores.all),
    kinds: each(Object.entries(scores.kinds)),
    tiers: each(scores.tiers),
    calibrationErrors: Object.fromEntries(
      KINDS.map((kind) => [kind, calibrationError(scores.calibration[kind])]),
    ),
    confusion: scores.confusion,
    outcome: outcomeFigures(scores),
    outcomes: Object.fromEntries(scores.outcomes),
    sentiment: sentimentFigures(scores),
    sentiments: Object.fromEntries(scores.sentiments),
  }
}

const jsonOfComparison = ({ found, shown, majority, wordList }: Comparison) => ({
  items: found.items,
  unsupported: found.unsupported,
  found: jsonOfScores(found),
  shown: jsonOfScores(shown),
  majority: jsonOfScores(majority),
  wordList: jsonOfScores(wordList),
  falsePraise: Object.fromEntries(shown.falsePraise),
})

export const jsonOf = ({ engine, parts, ...all }: Evaluation): Readonly<Record<string, unknown>> => ({
  engine,
  ...jsonOfComparison(all),
  parts: Object.fromEntries(
    Object.entries(parts).map(([by, groups]) => [
      by,
      Object.fromEntries(Object.entries(groups).map(([name, group]) => [name, jsonOfComparison(group)])),
    ]),
  ),
})

const EXPLANATION = [
  'P: which part of the findings is right. R: which part of the labels is found. LOW: in 9 of 10 such measurements P is really above it.',
  'OFF: how far confidence and P lie apart. MAJORITY says of all items what most have; WORDS looks for words of a list.',
]

export const linesOf = ({ engine, parts, ...all }: Evaluation): readonly string[] => [
  `analyser ${engine}`,
  ...EXPLANATION,
  ...linesOfComparison('all items', all),
  ...Object.entries(parts).flatMap(([by, groups]) =>
    Object.entries(groups).flatMap(([name, group]) => linesOfComparison(`${by} ${name}`, group)),
  ),
]

const HEADER = [
  '                                 SHOWN              FOUND                MAJORITY    WORDS',
  '                        LABELLED    P  LOW    R     P    R  OFF          P    R     P    R',
]

function linesOfComparison(title: string, comparison: Comparison): readonly string[] {
  const { found, shown } = comparison
  return [
    '',
    `${title.toUpperCase()}: ${found.items}, of which ${found.unsupported} in languages that are not read`,
    ...HEADER,
    ...KINDS.filter((kind) => sum(found.kinds[kind]) > 0).map((kind) =>
      lineOfCounts(kind, comparison, ({ kinds }) => kinds[kind], calibrationError(found.calibration[kind])),
    ),
    lineOfCounts('all', comparison, ({ all }) => all, null),
    ...KINDS.filter((kind) => Object.keys(found.confusion[kind]).length > 0).map(
      (kind) => `  wrong ${kind}, by the kinds of the label: ${confusionOf(found.confusion[kind])}`,
    ),
    ...linesOfOutcome(comparison),
    ...linesOfSentiment(comparison),
    ...pairsOf('  false praise shown, by group: ', shown.falsePraise),
  ]
}

const sum = ({ right, wrong, missed }: Count) => right + wrong + missed

function lineOfCounts(
  name: string,
  { found, shown, majority, wordList }: Comparison,
  of: (scores: Scores) => Count,
  off: number | null,
): string {
  const both = (scores: Scores) => [precisionOf(of(scores)), recallOf(of(scores))]
  const bound = lowerBound(of(shown).right, of(shown).right + of(shown).wrong)
  const [precision = null, recall = null] = both(shown)
  const cells = (values: readonly (number | null)[]) =>
    values.map((value) => digits(value).padStart(5)).join('')
  return [
    name.padEnd(24),
    String(of(found).right + of(found).missed).padStart(8),
    cells([precision, bound, recall]),
    ` ${cells([...both(found), off])}`,
    `      ${cells(both(majority))}`,
    ` ${cells(both(wordList))}`,
  ].join('')
}

const percent = (part: number, all: number) => (all === 0 ? '-' : `${((100 * part) / all).toFixed(1)} %`)

function linesOfOutcome({ found, majority, wordList }: Comparison): readonly string[] {
  const figures = outcomeFigures(found)
  if (figures.all === 0) return []
  const simple = [majority, wordList].map((scores) => {
    const { right, all } = outcomeFigures(scores)
    return percent(right, all)
  })
  return [
    `  outcome: ${percent(figures.right, figures.all)} right of ${figures.all} (majority ${simple[0]}, words ${simple[1]}); of ${figures.clear} that are clear ${percent(figures.rightOfClear, figures.clear)} right and ${percent(figures.unclear, figures.clear)} unclear; ${percent(figures.solvedCalledUnresolved, figures.solved)} of ${figures.solved} solved ones called unresolved, ${percent(figures.failedCalledResolved, figures.failed)} of ${figures.failed} failed ones called resolved`,
    ...pairsOf('    labelled>given: ', found.outcomes),
  ]
}

function linesOfSentiment({ found, majority, wordList }: Comparison): readonly string[] {
  const figures = sentimentFigures(found)
  if (figures.all === 0) return []
  const simple = [majority, wordList].map((scores) => digits(sentimentFigures(scores).macroF1))
  return [
    `  sentiment: macro F1 ${digits(figures.macroF1)} of ${figures.all} (majority ${simple[0]}, words ${simple[1]}); ${figures.notTold} not told; ${percent(figures.negativeCalledPositive, figures.negative)} of ${figures.negative} negative ones called positive`,
    ...pairsOf('    labelled>given: ', found.sentiments),
  ]
}

function confusionOf(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .toSorted(([, a], [, b]) => b - a)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ')
}

function pairsOf(title: string, counts: ReadonlyMap<string, number>): readonly string[] {
  return counts.size === 0
    ? []
    : [
        title +
          [...counts]
            .toSorted()
            .map(([name, count]) => `${name || '-'} ${count}`)
            .join(', '),
      ]
}
