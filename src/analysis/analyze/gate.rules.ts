/** Which findings are shown: only where measured precision allows it. Pure. */
import type { Channel } from '../../kernel/channel.ts'
import { lowerBound } from './eval/bound.rules.ts'
import figures from './figures.json'
import type { Kind, Tier } from './insight.ts'

/** Which part of its findings must be right for a kind to be shown. Readers themselves disagree about wishes most. */
const REQUIRED_OF_FEEDBACK: Partial<Record<Kind, number>> = {
  bug_report: 0.85,
  complaint: 0.85,
  feature_request: 0.75,
}
const REQUIRED = 0.8
/** How far below it the true part may lie (one-sided, 90 %). */
export const MARGIN = 0.05

/** The lowest and the highest of them. */
export const REQUIRED_RANGE = [0.75, 0.85] as const

export const requiredPrecision = (kind: Kind, channel: Channel): number =>
  (channel === 'feedback' ? REQUIRED_OF_FEEDBACK[kind] : undefined) ?? REQUIRED

/** Right and wrong findings. */
export type Measured = readonly [right: number, wrong: number]

/** True if findings with this precision may be shown. */
export function passesGate([right, wrong]: Measured, required: number): boolean {
  const all = right + wrong
  return all > 0 && right / all >= required && lowerBound(right, all) >= required - MARGIN
}

/**
 * Findings by `kind/tier/channel`, and by `tier/language`. Those of the classifier are of texts whose source it has not seen; those of the rules are of the
 * blind set.
 */
const MEASURED: Readonly<Record<string, readonly number[]>> = figures.measured

function measured(key: string): Measured {
  const [right = 0, wrong = 0] = MEASURED[key] ?? []
  return [right, wrong]
}

/** What decides about findings of a sort. Null for findings of a model server, which have no shipped figures. */
interface Shipped {
  readonly figures: Measured
  readonly shown: boolean
}

/** @param language of the subject. Null, where it cannot be told, counts as English */
function shipped(kind: Kind, tier: Tier, language: string | null, channel: Channel): Shipped | null {
  if (tier === 'model') return null
  const ofKind = measured(`${kind}/${tier}/${channel}`)
  const ofLanguage = measured(`${tier}/${language ?? 'en'}`)
  const shown = passesGate(ofKind, requiredPrecision(kind, channel)) && passesGate(ofLanguage, REQUIRED)
  return { figures: ofKind, shown }
}

/**
 * True if findings of this sort are shown in lists, counts and webhooks before the organization has judged some itself. Findings of a model
 * server have no shipped figures; corrections measure them.
 */
export function isShown(kind: Kind, tier: Tier, language: string | null, channel: Channel): boolean {
  return shipped(kind, tier, language, channel)?.shown ?? true
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
  if (own[0] + own[1] >= MIN_VERDICTS)
    return { shown: passesGate(own, requiredPrecision(kind, channel)), source: 'own', figures: own }
  const { shown, figures } = shipped(kind, tier, language, channel) ?? { shown: true, figures: [0, 0] }
  return { shown, source: 'shipped', figures }
}
