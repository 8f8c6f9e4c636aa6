/** The figures by which the gate decides, out of an evaluation of the blind set. */
import type { Measured } from '../gate.rules.ts'
import type { Analyzer, Insight } from '../insight.ts'
import { judge } from './evaluate.ts'
import type { Item } from './items.ts'
import type { Judged } from './score.rules.ts'

/** Groups of the blind set whose items sound like praise and are none. */
const NO_PRAISE: readonly (string | null | undefined)[] = ['sarcasm', 'politeness']

export interface Figures {
  /** Right and wrong findings by `kind/tier/channel` (English) and `tier/language` (other languages). */
  readonly measured: Readonly<Record<string, Measured>>
  /** `kind/tier/channel` in which mockery or politeness was called praise. */
  readonly misleading: readonly string[]
}

/**
 * Both in a stable order.
 * @param readings the analysers of the first and of the second pass, whose findings have different tiers
 */
export async function measure(
  items: readonly Item[],
  readings: readonly Pick<Analyzer, 'analyze'>[],
  signal: AbortSignal,
): Promise<Figures> {
  const measured = new Map<string, Measured>()
  const misleading = new Set<string>()
  for (const reading of readings) {
    const judged = await judge(items, reading, signal)
    for (const { item, insight } of judged) if (insight.supported) addCounts(measured, item, insight)
    for (const key of misleadingIn(judged)) misleading.add(key)
  }
  const sorted = [...measured].toSorted(([a], [b]) => (a < b ? -1 : 1))
  return { measured: Object.fromEntries(sorted), misleading: [...misleading].toSorted() }
}

function addCounts(measured: Map<string, Measured>, item: Item, { findings }: Insight): void {
  for (const { kind, tier } of findings) {
    const key = item.language === 'en' ? `${kind}/${tier}/${item.channel}` : `${tier}/${item.language}`
    const [right, wrong] = measured.get(key) ?? [0, 0]
    measured.set(key, item.kinds.includes(kind) ? [right + 1, wrong] : [right, wrong + 1])
  }
}

const misleadingIn = (judged: readonly Judged[]): readonly string[] =>
  judged
    .filter(({ item }) => NO_PRAISE.includes(item.group) && !item.kinds.includes('praise'))
    .flatMap(({ item, insight }) =>
      insight.findings
        .filter(({ kind }) => kind === 'praise')
        .map(({ kind, tier }) => `${kind}/${tier}/${item.channel}`),
    )
