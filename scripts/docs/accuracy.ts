/** Tables of docs/accuracy.md, out of data/insight/accuracy.json. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isShown } from '../../src/analysis/analyze/gate.rules.ts'
import type { Kind } from '../../src/analysis/analyze/insight.ts'
import type { Channel } from '../../src/kernel/channel.ts'
import { MIN_POSITIVES } from '../train/calibrate.ts'
import type { Accuracy } from '../train/report.ts'

/** Conversations labelled resolved or unresolved, from which on a source counts for the outcome. */
const MIN_CLEAR = 30

const figure = (value: number | null) => (value === null ? '–' : value.toFixed(2))
const share = (part: number, all: number) => figure(all === 0 ? null : part / all)

export function accuracyTables(root: string): string {
  const { places } = JSON.parse(readFileSync(join(root, 'data/insight/accuracy.json'), 'utf8')) as Accuracy
  const rows = Object.entries(places).map(([place, figures]) => {
    const [source = '', language = '', channel = ''] = place.split('/')
    return { source, language, channel, ...figures }
  })
  const findings = rows.flatMap(({ source, language, channel, kinds }) =>
    Object.entries(kinds)
      .filter(([, { positives }]) => positives >= MIN_POSITIVES)
      .map(([kind, { positives, right, wrong, averagePrecision }]) => {
        const shown = isShown(kind as Kind, 'likely', language, channel as Channel) ? 'yes' : 'no'
        return `| ${source} | ${language} | ${channel} | \`${kind}\` | ${positives} | ${share(right, right + wrong)} | ${share(right, positives)} | ${figure(averagePrecision)} | ${shown} |`
      }),
  )
  const outcomes = rows.flatMap(({ source, language, channel, outcome }) => {
    if (outcome === null || outcome.resolved + outcome.unresolved < MIN_CLEAR) return []
    return [
      `| ${source} | ${language} | ${channel} | ${outcome.resolved}, ${outcome.unresolved}, ${outcome.unclear} | ${figure(outcome.areaUnderCurve)} | ${figure(outcome.right)} | ${figure(outcome.givenUnclear)} | ${figure(outcome.solvedCalledUnresolved)} | ${figure(outcome.failedCalledResolved)} | ${figure(outcome.rightOfGiven)} |`,
    ]
  })
  const sentiments = rows
    .filter(({ sentiment }) => sentiment.items >= MIN_CLEAR)
    .map(
      ({ source, language, channel, sentiment }) =>
        `| ${source} | ${language} | ${channel} | ${sentiment.items} | ${figure(sentiment.told)} | ${figure(sentiment.right)} | ${figure(sentiment.macroF1)} | ${figure(sentiment.macroF1OfWords)} | ${figure(sentiment.positiveOfNegative)} |`,
    )
  return [
    '## Findings',
    '',
    '| Source | Language | Channel | Kind | Items that have it | Right of found | Found of all | Average precision | Shown |',
    '|---|---|---|---|---|---|---|---|---|',
    ...findings,
    '',
    '## Outcomes',
    '',
    '| Source | Language | Channel | Resolved, unresolved, unclear | Area under the curve | Right of the clear ones | Called unclear | Solved called unresolved | Failed called resolved | Right of those called resolved or unresolved |',
    '|---|---|---|---|---|---|---|---|---|---|',
    ...outcomes,
    '',
    '## Sentiment',
    '',
    '| Source | Language | Channel | Items | Told | Right of told | Macro F1 | Of a word list | Negative called positive |',
    '|---|---|---|---|---|---|---|---|---|',
    ...sentiments,
  ].join('\n')
}
