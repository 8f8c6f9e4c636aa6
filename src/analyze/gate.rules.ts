/** Which findings are shown: only where measured precision allows it. Pure. */
import type { Channel } from '../insight/model.ts'
import { lowerBound } from './eval/bound.rules.ts'
import figures from './figures.json'
import type { Kind, Tier } from './insight.ts'

/** A kind is shown where at least this part of its findings is right … */
const MIN_PRECISION = 0.85
/** … and where this is certain enough. */
const MIN_LOWER_BOUND = 0.8

/** A channel with so many findings must be right often enough by itself. How certain that is, all channels together say. */
const MIN_OF_CHANNEL = 15

/** Right and wrong findings. */
export type Measured = readonly [right: number, wrong: number]

/** True if findings with this precision may be shown. 15 of 15 are enough, 14 of 14 are not; so are 19 of 20. */
export function passesGate([right, wrong]: Measured): boolean {
  const all = right + wrong
  return all > 0 && right / all >= MIN_PRECISION && lowerBound(right, all) >= MIN_LOWER_BOUND
}

/** Findings of the blind set, by `kind/tier` and `kind/tier/channel` for English, by `tier/language` for the others. */
const MEASURED: Readonly<Record<string, readonly number[]>> = figures.measured

function measured(key: string): Measured {
  const [right = 0, wrong = 0] = MEASURED[key] ?? []
  return [right, wrong]
}

/**
 * The shipped figures that decide about findings of this sort. Null for findings of a model server, which have none.
 * @param language of the subject. Null, where it cannot be told, counts as English
 */
function shippedFigures(kind: Kind, tier: Tier, language: string | null, channel: Channel): Measured | null {
  if (tier === 'model') return null
  if (language !== null && language !== 'en') return measured(`${tier}/${language}`)
  const [right, wrong] = measured(`${kind}/${tier}/${channel}`)
  const isWorse = right + wrong >= MIN_OF_CHANNEL && right / (right + wrong) < MIN_PRECISION
  return isWorse ? [right, wrong] : measured(`${kind}/${tier}`)
}

/**
 * True if findings of this sort are shown in lists, counts and webhooks before the organization has judged some itself. Findings of a model
 * server have no shipped figures; corrections measure them.
 */
export function isShown(kind: Kind, tier: Tier, language: string | null, channel: Channel): boolean {
  const figures = shippedFigures(kind, tier, language, channel)
  return figures === null || passesGate(figures)
}

/** From so many verdicts on, an organization's own decide. */
export const MIN_VERDICTS = 15

/** What decides whether findings of a sort are shown to an organization. */
export interface Gate {
  readonly shown: boolean
  /** Whose figures decide: those of the product, or the verdicts of the organization. */
  readonly source: 'shipped' | 'own'
  readonly figures: Measured
}

/** @param own verdicts of the organization about findings of this sort, on all channels together */
export function gateOf(
  own: Measured,
  kind: Kind,
  tier: Tier,
  language: string | null,
  channel: Channel,
): Gate {
  if (own[0] + own[1] >= MIN_VERDICTS) return { shown: passesGate(own), source: 'own', figures: own }
  const figures = shippedFigures(kind, tier, language, channel)
  return { shown: isShown(kind, tier, language, channel), source: 'shipped', figures: figures ?? [0, 0] }
}
