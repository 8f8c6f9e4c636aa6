/** Runs an analyser over labelled items. */
import { isShown } from '../gate.rules.ts'
import type { Analyzer, Insight } from '../insight.ts'
import type { Item } from './items.ts'
import type { Evaluation } from './report.ts'
import { type Judged, precisionOf, score } from './score.rules.ts'

/** Items of one call of the analyser. */
const BATCH = 50

export async function judge(
  items: readonly Item[],
  analyzer: Pick<Analyzer, 'analyze'>,
  signal: AbortSignal,
): Promise<readonly Judged[]> {
  const insights: Insight[] = []
  for (let start = 0; start < items.length; start += BATCH) {
    insights.push(...(await analyzer.analyze(items.slice(start, start + BATCH), signal)))
  }
  return items.flatMap((item, index) => {
    const insight = insights[index]
    return insight === undefined ? [] : [{ item, insight }]
  })
}

export function evaluationOf(judged: readonly Judged[], engine: string): Evaluation {
  return {
    engine,
    found: score(judged, () => true),
    shown: score(judged, (kind, tier, language, { channel }) => isShown(kind, tier, language, channel)),
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
