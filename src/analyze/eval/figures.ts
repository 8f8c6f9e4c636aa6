/** The figures by which the gate decides, out of an evaluation of the blind set. */
import type { Measured } from '../gate.rules.ts'
import type { Judged, Scores } from './score.rules.ts'

/** Right and wrong findings by `kind/tier`, `kind/tier/channel` (English) and `tier/language` (other languages), in a stable order. */
export function measuredOf(judged: readonly Judged[], { tiers }: Scores): Readonly<Record<string, Measured>> {
  const measured = new Map<string, [right: number, wrong: number]>()
  for (const [key, { right, wrong }] of tiers) measured.set(key, [right, wrong])
  for (const { item, insight } of judged) {
    if (!insight.supported || item.language === 'en') continue
    for (const { kind, tier } of insight.findings) {
      const key = `${tier}/${item.language}`
      const [right, wrong] = measured.get(key) ?? [0, 0]
      measured.set(key, item.kinds.includes(kind) ? [right + 1, wrong] : [right, wrong + 1])
    }
  }
  return Object.fromEntries([...measured].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
