/** Says whether a clause has a kind, by cues. Pure. */
import type { Channel } from '../../../kernel/channel.ts'
import type { Kind } from '../insight.ts'
import type { Clause } from './clauses.rules.ts'
import type { Cues } from './cues/cues.ts'
import { isSarcastic, NEGATED } from './cues/turns.ts'
import { isQuestion } from './questions.rules.ts'

/** Where a clause stands. */
export interface Place {
  readonly channel: Channel
  /** True if the company said something before it. */
  readonly isAnswered: boolean
}

type Test = (clause: Clause, place: Place, hasCue: boolean) => boolean

const HUMAN_ALONE =
  /^(?:human|agent|operator|representative|real person|live chat|mensch|mitarbeiter|humain|agente|persona|humano|atendente|mens|medewerker)(?: please)?[.! ]{0,9}$/u
const ORDER_TO_AGENT = /^(?:can|could|will) you (?:please )?(?:add|make)/u
const TOLD_BEFORE = /reported|third|twice|again|times|before|schon|déjà|otra vez|de novo|alweer/u
const NO_BUG_QUESTION =
  /^(?:is it not|does it (?:still )?work|is .{1,80} not working on .{1,80} by design|what happens|can you fix|will it|what if)/u

const TESTS: Readonly<Partial<Record<Kind, Test>>> = {
  question: (clause, { channel }) => isQuestion(clause, channel === 'conversation'),
  wrong_answer: (_, { channel, isAnswered }, hasCue) => hasCue && isAnswered && channel === 'conversation',
  resolved_confirmation: ({ question }, { channel, isAnswered }, hasCue) =>
    hasCue && isAnswered && channel !== 'feedback' && !question,
  praise: ({ text, question }, _, hasCue) => hasCue && !question && !isSarcastic(text),
  complaint: ({ text }, _, hasCue) => hasCue || isSarcastic(text),
  human_requested: ({ text }, { channel }, hasCue) =>
    hasCue || (channel === 'conversation' && HUMAN_ALONE.test(text)),
  feature_request: ({ text }, { channel, isAnswered }, hasCue) =>
    hasCue && !(isAnswered && channel === 'conversation' && ORDER_TO_AGENT.test(text)),
  repeated_problem: ({ text }, { channel }, hasCue) =>
    hasCue && (channel !== 'feedback' || TOLD_BEFORE.test(text)),
  bug_report: ({ text, question }, _, hasCue) => hasCue && !(question && NO_BUG_QUESTION.test(text)),
}

/** True if the clause has this kind by the cues of one of the languages. */
export function hasKind(kind: Kind, clause: Clause, place: Place, languages: readonly Cues[]): boolean {
  if (NEGATED[kind]?.test(clause.text)) return false
  const hasCue = languages.some((cues) => cues[kind]?.test(clause.text) === true)
  return TESTS[kind]?.(clause, place, hasCue) ?? hasCue
}
