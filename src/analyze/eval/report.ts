/** The report of an evaluation, for people and as JSON. */
import { KINDS } from '../insight.ts'
import { lowerBound } from './bound.rules.ts'
import { type Count, outcomeFigures, precisionOf, recallOf, type Scores } from './score.rules.ts'

/** What was found, and what of it is shown. */
export interface Evaluation {
  readonly engine: string
  readonly found: Scores
  readonly shown: Scores
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
    places: each(scores.places),
    tiers: each(scores.tiers),
    confusion: scores.confusion,
  }
}

export function jsonOf({ engine, found, shown }: Evaluation): Readonly<Record<string, unknown>> {
  return {
    engine,
    items: found.items,
    unsupported: found.unsupported,
    found: jsonOfScores(found),
    shown: jsonOfScores(shown),
    outcome: outcomeFigures(found),
    outcomes: Object.fromEntries(found.outcomes),
    sentiments: Object.fromEntries(found.sentiments),
    falsePraise: Object.fromEntries(found.falsePraise),
  }
}

export function linesOf({ engine, found, shown }: Evaluation): readonly string[] {
  const outcome = outcomeFigures(found)
  const percent = (part: number, all: number) => (all === 0 ? '-' : `${((100 * part) / all).toFixed(1)} %`)
  return [
    `${found.items} items, analyser ${engine}; ${found.unsupported} in languages that it does not know`,
    '',
    'SHOWN                   RIGHT WRONG MISSED  PRECISION  LOWER BOUND  RECALL',
    ...linesOfCounts(shown),
    '',
    'FOUND                   RIGHT WRONG MISSED  PRECISION  LOWER BOUND  RECALL',
    ...linesOfCounts(found),
    '',
    'WRONG FINDINGS, BY THE KINDS OF THE LABEL',
    ...KINDS.map((kind) => `${kind.padEnd(24)}${confusionOf(found.confusion[kind])}`),
    '',
    `outcome: ${percent(outcome.right, outcome.all)} right of ${outcome.all}; unclear given to ${percent(outcome.unclear, outcome.clear)} of ${outcome.clear} that are clear; ${percent(outcome.failedCalledResolved, outcome.failed)} of ${outcome.failed} failed ones called resolved`,
    ...pairsOf('  labelled>given: ', found.outcomes),
    ...pairsOf('sentiment, labelled>given: ', found.sentiments),
    ...pairsOf('false praise shown, by group: ', shown.falsePraise),
  ]
}

function linesOfCounts(scores: Scores): readonly string[] {
  const rows: readonly (readonly [string, Count])[] = [
    ...KINDS.map((kind) => [kind, scores.kinds[kind]] as const),
    ['all', scores.all],
    ...[...scores.places].toSorted(),
    ...[...scores.tiers].toSorted(),
  ]
  return rows.map(([name, count]) => {
    const { right, wrong, missed } = count
    const cells = [String(right).padStart(5), String(wrong).padStart(6), String(missed).padStart(7)]
    const bound = digits(lowerBound(right, right + wrong)).padStart(13)
    return `${name.padEnd(24)}${cells.join('')}${digits(precisionOf(count)).padStart(11)}${bound}${digits(recallOf(count)).padStart(8)}`
  })
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
