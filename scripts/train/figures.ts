/** The figures by which the gate decides. */
import { createBuiltInAnalyzer } from '../../src/analysis/analyze/builtin/builtin.ts'
import { blindSet } from '../../src/analysis/analyze/eval/blind-set.ts'
import { judge as judgeWith } from '../../src/analysis/analyze/eval/evaluate.ts'
import { type Measured, passesGate, requiredPrecision } from '../../src/analysis/analyze/gate.rules.ts'
import { KINDS } from '../../src/analysis/analyze/insight.ts'
import { createTextWorkHere } from '../../src/analysis/analyze/text-work.ts'
import { CHANNELS } from '../../src/kernel/channel.ts'
import { type Decided, MIN_POSITIVES } from './calibrate.ts'
import { isOwn } from './folds.ts'
import { sourcesWithoutCustomers } from './public.ts'

type Figures = Record<string, Measured>

/**
 * Right and wrong findings of the classifier in items of sources that it has not seen, by `kind/likely/channel` and `likely/language`. On public text where that
 * has enough items with the kind, else on all.
 */
function ofClassifier(decided: readonly Decided[]): Figures {
  const figures: Figures = {}
  const strangers = sourcesWithoutCustomers()
  const ofCustomers = decided.filter(({ source }) => !strangers.has(source))
  const languages = new Map<string, [number, number]>()
  for (const channel of CHANNELS) {
    for (const kind of KINDS) {
      const known = ofCustomers.filter(({ item, known }) => item.channel === channel && known.includes(kind))
      const publicOnes = known.filter(({ source }) => !isOwn(source))
      const positives = publicOnes.filter(({ item }) => item.kinds.includes(kind)).length
      const measured = positives >= MIN_POSITIVES ? publicOnes : known
      const found = measured.filter((one) => one.found.includes(kind))
      const right = found.filter(({ item }) => item.kinds.includes(kind)).length
      const counts: Measured = [right, found.length - right]
      if (found.length === 0) continue
      figures[`${kind}/likely/${channel}`] = counts
      if (!passesGate(counts, requiredPrecision(kind, channel))) continue
      for (const { item } of found) {
        const [good, bad] = languages.get(item.language) ?? [0, 0]
        languages.set(item.language, item.kinds.includes(kind) ? [good + 1, bad] : [good, bad + 1])
      }
    }
  }
  for (const [language, counts] of languages) figures[`likely/${language}`] = counts
  return figures
}

/** Those of the rules, in the blind set. */
async function ofRules(): Promise<Figures> {
  const analyzer = createBuiltInAnalyzer(createTextWorkHere(), 'rules')
  const figures: Figures = {}
  const { judged } = await judgeWith(blindSet(), analyzer, new AbortController().signal)
  for (const { item, insight } of judged) {
    for (const { kind } of insight.findings) {
      const isRight = item.kinds.includes(kind)
      const keys =
        item.language === 'en' ? [`${kind}/sure/${item.channel}`, 'sure/en'] : [`sure/${item.language}`]
      for (const key of keys) {
        const [right, wrong] = figures[key] ?? [0, 0]
        figures[key] = isRight ? [right + 1, wrong] : [right, wrong + 1]
      }
    }
  }
  return figures
}

/** The content of src/analysis/analyze/figures.json, in a stable order. */
export async function figuresFile(decided: readonly Decided[], version: string): Promise<string> {
  const all = { ...ofClassifier(decided), ...(await ofRules()) }
  const lines = Object.entries(all)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, counts]) => `    ${JSON.stringify(key)}: [${counts.join(', ')}]`)
  return `{\n  "version": ${JSON.stringify(version)},\n  "measured": {\n${lines.join(',\n')}\n  }\n}\n`
}
