/** Joins what the rules and the trained head find. Pure. */
import type { Channel } from '../../insight/model.ts'
import { type Found, KINDS, type Kind, ratingOf } from '../insight.ts'
import { hasCue } from './features.rules.ts'
import type { FoundByRule } from './findings.rules.ts'
import type { Thresholds } from './judge.rules.ts'
import type { Piece } from './pieces.rules.ts'

/** A piece and how likely it has each kind. */
export interface Scored {
  readonly piece: Piece
  readonly embedding: Float32Array
  readonly scores: Float32Array
}

/** A quotation is at least so likely to have the kind, whatever the whole subject looks like. */
const EVIDENT = 0.25

/** From this score on one kind of a piece speaks against another. */
const CLEAR = 0.5

/** Trouble counts from this score on, because a joke is worse than a missed praise. */
const PERHAPS = 0.25

/** These answer to the company, so they stand after its words and not in feedback. */
const ANSWERS: ReadonlySet<Kind> = new Set(['wrong_answer', 'resolved_confirmation'])

/** Their clauses have the form of a question and are none: "can I speak to someone?", "what does that even mean?". */
const NO_QUESTIONS: readonly Kind[] = ['human_requested', 'confusion', 'wrong_answer']

/** Trouble that follows praise without a "but" makes the praise a joke: "Great update. Now nothing opens." */
export const TROUBLE: readonly Kind[] = [
  'bug_report',
  'complaint',
  'repeated_problem',
  'churn_risk',
  'wrong_answer',
]

export function scoreOf({ scores }: Scored, kind: Kind): number {
  return scores[KINDS.indexOf(kind)] ?? 0
}

/**
 * The kinds that the trained judge finds likely enough, each with the clause that rules found, else with the likeliest piece.
 * @param likely how likely the whole subject has each kind, in the order of `KINDS`
 */
export function combine(
  byRules: readonly FoundByRule[],
  scored: readonly Scored[],
  channel: Channel,
  likely: Float32Array,
  thresholds: Thresholds,
): readonly Found[] {
  return KINDS.flatMap((kind, at) => {
    const confidence = likely[at] ?? 0
    if (confidence < thresholds[kind]) return []
    const eligible = scored.filter((one) => mayHave(kind, one, scored, channel))
    const rule = byRules.find((found) => found.kind === kind)
    const place = rule !== undefined && isEligible(rule, scored, eligible) ? rule : evidence(kind, eligible)
    if (place === undefined) return []
    const { index, from, to } = place
    return [{ kind, tier: 'likely' as const, confidence, rating: ratingOf(kind), index, from, to }]
  })
}

/** True unless the head read the clause of the finding and it may not have the kind. */
function isEligible({ index, from }: Found, scored: readonly Scored[], eligible: readonly Scored[]): boolean {
  const isHere = ({ piece }: Scored) => piece.index === index && piece.from === from
  return !scored.some(isHere) || eligible.some(isHere)
}

/** False where the kind makes no sense, whatever the head says of the piece. */
export function mayHave(kind: Kind, one: Scored, scored: readonly Scored[], channel: Channel): boolean {
  const { piece } = one
  if (ANSWERS.has(kind)) return piece.isAnswered && channel !== 'feedback' && !piece.isSarcastic
  if (kind === 'question') return NO_QUESTIONS.every((other) => scoreOf(one, other) < CLEAR)
  return kind !== 'praise' || !isMockery(one, scored)
}

function isMockery({ piece }: Scored, scored: readonly Scored[]): boolean {
  return scored.some(
    (other) =>
      other.piece.index === piece.index &&
      (other.piece.isSarcastic ||
        (other.piece.from > piece.from &&
          !other.piece.isContrast &&
          TROUBLE.some((kind) => scoreOf(other, kind) >= PERHAPS || hasCue(other.piece.form, kind)))),
  )
}

/** The piece that most likely has the kind. Undefined if none does. */
function evidence(kind: Kind, eligible: readonly Scored[]): Piece | undefined {
  const best = likeliest(kind, eligible)
  return best !== null && scoreOf(best, kind) >= EVIDENT ? best.piece : undefined
}

function likeliest(kind: Kind, scored: readonly Scored[]): Scored | null {
  return scored.reduce<Scored | null>(
    (best, one) => (best === null || scoreOf(one, kind) > scoreOf(best, kind) ? one : best),
    null,
  )
}
