/** Runs an analyser over labelled items. */
import { AnalyzerError } from '../analyzer-error.ts'
import { isShown } from '../gate.rules.ts'
import type { Analyzer } from '../insight.ts'
import { majority, wordList } from './baselines.ts'
import type { Item } from './items.ts'
import type { Comparison, Evaluation } from './report.ts'
import { type Judged, precisionOf, score } from './score.rules.ts'

/** Items of one call of the analyser. */
const BATCH = 50

export interface Judgements {
  readonly judged: readonly Judged[]
  /** Why items were not read, and how many. Only a model server fails to read. */
  readonly failures: readonly { readonly message: string; readonly items: number }[]
}

/** @param together items of one call. Of a call that fails, none is judged */
export async function judge(
  items: readonly Item[],
  analyzer: Pick<Analyzer, 'analyze'>,
  signal: AbortSignal,
  together = BATCH,
): Promise<Judgements> {
  const judged: Judged[] = []
  const failures = new Map<string, number>()
  for (let start = 0; start < items.length; start += together) {
    const some = items.slice(start, start + together)
    try {
      const insights = await analyzer.analyze(some, signal)
      for (const [index, insight] of insights.entries()) judged.push({ item: some[index]!, insight })
    } catch (error) {
      if (!(error instanceof AnalyzerError)) throw error
      failures.set(error.message, (failures.get(error.message) ?? 0) + some.length)
    }
  }
  return { judged, failures: [...failures].map(([message, count]) => ({ message, items: count })) }
}

/** What all items, and each part of them that has something in common, say about the analyser. */
export function evaluationOf(judged: readonly Judged[], engine: string): Evaluation {
  const partsBy = (nameOf: (item: Item) => string | null | undefined) => {
    const parts = Map.groupBy(judged, ({ item }) => nameOf(item) ?? 'not named')
    return parts.size < 2
      ? {}
      : Object.fromEntries([...parts].toSorted().map(([name, part]) => [name, comparisonOf(part)]))
  }
  return {
    engine,
    ...comparisonOf(judged),
    parts: {
      channel: partsBy(({ channel }) => channel),
      language: partsBy(({ language }) => language),
      source: partsBy(({ source }) => source),
    },
  }
}

function comparisonOf(judged: readonly Judged[]): Comparison {
  const items = judged.map(({ item }) => item)
  return {
    found: score(judged, () => true),
    shown: score(judged, (kind, tier, language, { channel }) => isShown(kind, tier, language, channel)),
    majority: score(majority(items), () => true),
    wordList: score(wordList(items), () => true),
  }
}

/** True if what is shown is right often enough, altogether and in every kind that is shown. */
export function reaches({ shown }: Evaluation, minPrecision: number): boolean {
  return [shown.all, ...Object.values(shown.kinds)].every(
    (count) => (precisionOf(count) ?? 1) >= minPrecision,
  )
}

/** One line for each item with an error. It quotes the item. */
export function errorsOf(judged: readonly Judged[]): readonly string[] {
  return judged.flatMap(({ item, insight }) => {
    const found = insight.findings.map(({ kind }) => kind)
    const errors = [
      ...insight.findings
        .filter(({ kind }) => !item.kinds.includes(kind))
        .map(({ kind, tier, index, from, to }) => {
          const quotation = item.said[index]?.text.slice(from, to) ?? ''
          return `wrong ${kind} (${tier}) ${JSON.stringify(quotation)}`
        }),
      ...item.kinds.filter((kind) => !found.includes(kind)).map((kind) => `missed ${kind}`),
      ...(item.outcome === insight.outcome ? [] : [`outcome ${insight.outcome}, not ${item.outcome}`]),
      ...(item.sentiment === insight.sentiment
        ? []
        : [`sentiment ${insight.sentiment}, not ${item.sentiment}`]),
    ]
    return errors.length === 0 ? [] : [`${item.id}: ${errors.join('; ')}`]
  })
}
