/** The weights of the trained judge. */
import { KINDS, type Kind } from '../insight.ts'
import weights from './judge.json'
import type { Judge, Linear, Thresholds } from './judge.rules.ts'

export function loadJudge(): Judge {
  const linear = (rows: readonly (readonly number[])[]): Linear => rows.map((row) => Float32Array.from(row))
  return {
    kinds: linear(weights.kinds),
    sentiments: linear(weights.sentiments),
    thresholds: Object.fromEntries(KINDS.map((kind) => [kind, weights.thresholds[kind]])) as Record<
      Kind,
      number
    > as Thresholds,
  }
}
