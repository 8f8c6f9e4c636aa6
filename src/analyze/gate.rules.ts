/** Which findings are shown: only where measured precision allows it. Pure. */
import { CHANNELS, type Channel } from '../insight/model.ts'
import { lowerBound } from './eval/bound.rules.ts'
import figures from './figures.json'
import type { Kind, Tier } from './insight.ts'

/** A kind is shown where at least this part of its findings is right … */
export const MIN_PRECISION = 0.85
/** … and where this is certain enough. */
export const MIN_LOWER_BOUND = 0.8

/** A channel with so many findings must be right often enough by itself. How certain that is, all channels together say. */
const MIN_OF_CHANNEL = 15

/** Right and wrong findings. */
export type Measured = readonly [right: number, wrong: number]

/** True if findings with this precision may be shown. 11 of 11 are enough, 10 of 10 are not; so are 19 of 20. */
export function passesGate([right, wrong]: Measured): boolean {
  const all = right + wrong
  return all > 0 && right / all >= MIN_PRECISION && lowerBound(right, all) >= MIN_LOWER_BOUND
}

/** Findings of the blind set, by `kind/tier/channel` for English, by `tier/language` for the others. */
const MEASURED: Readonly<Record<string, readonly number[]>> = figures.measured

function measured(key: string): Measured {
  const [right = 0, wrong = 0] = MEASURED[key] ?? []
  return [right, wrong]
}

/** `kind/tier/channel` in which mockery or politeness of the blind set was called praise. One such finding misleads more than others help. */
const MISLEADING: ReadonlySet<string> = new Set(figures.misleading)

const isEnough = ([right, wrong]: Measured): boolean => right + wrong >= MIN_OF_CHANNEL

/** True if nothing of this sort is shown on the channel, whatever the others say. */
function isClosed(kind: Kind, tier: Tier, channel: Channel): boolean {
  const key = `${kind}/${tier}/${channel}`
  const [right, wrong] = measured(key)
  return MISLEADING.has(key) || (isEnough([right, wrong]) && right / (right + wrong) < MIN_PRECISION)
}

/** What decides about findings of a sort by the blind set. Null for findings of a model server, which have no shipped figures. */
interface Shipped {
  readonly figures: Measured
  readonly shown: boolean
}

/**
 * A closed channel is judged alone. The open channels are judged together; if a channel is closed, they need at least 15 findings.
 * @param language of the subject. Null, where it cannot be told, counts as English
 */
function shipped(kind: Kind, tier: Tier, language: string | null, channel: Channel): Shipped | null {
  if (tier === 'model') return null
  if (language !== null && language !== 'en') {
    const figures = measured(`${tier}/${language}`)
    return { figures, shown: passesGate(figures) }
  }
  if (isClosed(kind, tier, channel)) return { figures: measured(`${kind}/${tier}/${channel}`), shown: false }
  const open = CHANNELS.filter((one) => !isClosed(kind, tier, one))
  const ofOpen = open.map((one) => measured(`${kind}/${tier}/${one}`))
  const sum = (place: 0 | 1) => ofOpen.reduce((total, figures) => total + figures[place], 0)
  const together: Measured = [sum(0), sum(1)]
  const isMeasured = open.length === CHANNELS.length || isEnough(together)
  return { figures: together, shown: isMeasured && passesGate(together) }
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
  if (own[0] + own[1] >= MIN_VERDICTS) return { shown: passesGate(own), source: 'own', figures: own }
  const { shown, figures } = shipped(kind, tier, language, channel) ?? { shown: true, figures: [0, 0] }
  return { shown, source: 'shipped', figures }
}
