/** Joins what the rules and the trained head find. Pure. */
import type { Channel } from '../../insight/model.ts'
import { type Found, KINDS, type Kind, ratingOf } from '../insight.ts'
import type { Head } from './head.ts'
import type { Piece } from './pieces.rules.ts'

/** A piece and how likely it has each kind. */
export interface Scored {
  readonly piece: Piece
  readonly scores: Float32Array
}

/** These answer to the company, so they stand after its words and not in feedback. */
const ANSWERS: ReadonlySet<Kind> = new Set(['wrong_answer', 'resolved_confirmation'])

/** Of each kind the finding by rules if the head does not refute it, else the likeliest piece. */
export function combine(
  byRules: readonly Found[],
  scored: readonly Scored[],
  channel: Channel,
  { thresholds, veto }: Pick<Head, 'thresholds' | 'veto'>,
): readonly Found[] {
  return KINDS.flatMap((kind, number) => {
    const best = likeliest(kind, number, scored, channel)
    const score = best?.scores[number] ?? 0
    const rule = byRules.find((found) => found.kind === kind)
    if (rule !== undefined && score >= veto)
      return [{ ...rule, confidence: Math.max(score, rule.confidence) }]
    if (best === null || score < thresholds[kind]) return []
    const { index, from, to } = best.piece
    return [
      { kind, tier: 'likely' as const, confidence: score, rating: ratingOf(kind), index, from, to },
    ]
  })
}

function likeliest(
  kind: Kind,
  number: number,
  scored: readonly Scored[],
  channel: Channel,
): Scored | null {
  let best: Scored | null = null
  for (const one of scored) {
    if (ANSWERS.has(kind) && (!one.piece.isAnswered || channel === 'feedback')) continue
    if (best === null || (one.scores[number] ?? 0) > (best.scores[number] ?? 0)) best = one
  }
  return best
}
