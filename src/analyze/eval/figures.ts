/** The figures by which the gate decides, out of an evaluation of the blind set. */
import type { Measured } from '../gate.rules.ts'
import type { Analyzer } from '../insight.ts'
import { judge } from './evaluate.ts'
import type { Item } from './items.ts'
import { type Judged, score } from './score.rules.ts'

/**
 * Right and wrong findings by `kind/tier`, `kind/tier/channel` (English) and `tier/language` (other languages), in a stable order.
 * @param readings the analysers of the first and of the second reading, whose findings have different tiers
 */
export async function measure(
  items: readonly Item[],
  readings: readonly Pick<Analyzer, 'analyze'>[],
  signal: AbortSignal,
): Promise<Readonly<Record<string, Measured>>> {
  const measured = new Map<string, Measured>()
  for (const reading of readings) addCounts(measured, await judge(items, reading, signal))
  return Object.fromEntries([...measured].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

function addCounts(measured: Map<string, Measured>, judged: readonly Judged[]): void {
  const { tiers } = score(judged, () => true)
  for (const [key, { right, wrong }] of tiers) measured.set(key, [right, wrong])
  for (const { item, insight } of judged) {
    if (!insight.supported || item.language === 'en') continue
    for (const { kind, tier } of insight.findings) {
      const key = `${tier}/${item.language}`
      const [right, wrong] = measured.get(key) ?? [0, 0]
      measured.set(key, item.kinds.includes(kind) ? [right + 1, wrong] : [right, wrong + 1])
    }
  }
}
