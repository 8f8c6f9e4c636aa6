/** Findings by rules: cues in clauses, repeated messages, and what a later clause takes back. Pure; linear in the subject. */
import { type Found, KINDS, type Kind, ratingOf } from '../insight.ts'
import type { Cues } from './cues/cues.ts'
import { NEGATED, NO_LUCK } from './cues/turns.ts'
import { hasKind } from './kinds.rules.ts'
import type { Message, Reading } from './reading.rules.ts'
import { createRepeatDetector } from './repeats.rules.ts'

/** Confidence of a finding by rules. Rules have no degrees. */
const CONFIDENCE = 0.9

/** From here on a message tells a story of its own, which is not about the product. */
const OWN_STORY =
  /^(?:i'm building|i am building|i'm writing|i am writing|imagine|suppose|let's say|in my (?:novel|story|game|book))/u

/** Kinds that take back an earlier "it works". */
const TAKES_BACK: readonly Kind[] = ['wrong_answer', 'confusion', 'human_requested']

/** A finding, and whether it needs no second opinion of the trained head. */
export interface FoundByRule extends Found {
  readonly isCertain: boolean
}

/** The first finding of each kind; of `resolved_confirmation` the last. */
export function findingsByRules(reading: Reading, languages: readonly Cues[]): readonly FoundByRule[] {
  const found = new Map<Kind, FoundByRule>()
  const isRepeat = createRepeatDetector()
  const put = (finding: FoundByRule) => {
    if (!found.has(finding.kind) || finding.kind === 'resolved_confirmation') found.set(finding.kind, finding)
  }
  for (const message of reading.messages) {
    if (message.isTask) continue
    if (!message.isPolite) for (const finding of findingsIn(message, reading, languages)) put(finding)
    if (isRepeat(message.masked)) {
      put({ ...findingOf('repeated_problem', message.index, wholeOf(message)), isCertain: true })
    }
  }
  const confirmation = found.get('resolved_confirmation')
  if (confirmation !== undefined && isTakenBack(confirmation, reading, [...found.values()], languages)) {
    found.delete('resolved_confirmation')
  }
  return KINDS.flatMap((kind) => found.get(kind) ?? [])
}

function* findingsIn(
  { index, clauses, reply }: Message,
  { channel }: Reading,
  languages: readonly Cues[],
): Generator<FoundByRule> {
  const place = { channel, isAnswered: reply !== null }
  for (const clause of clauses) {
    if (OWN_STORY.test(clause.text)) return
    for (const kind of KINDS) {
      if (hasKind(kind, clause, place, languages)) yield findingOf(kind, index, clause)
    }
  }
}

function findingOf(kind: Kind, index: number, { from, to }: { from: number; to: number }): FoundByRule {
  const rating = ratingOf(kind)
  return { kind, tier: 'sure', confidence: CONFIDENCE, rating, index, from, to, isCertain: false }
}

/** The message without white space around it. */
function wholeOf({ masked }: Message): { from: number; to: number } {
  return { from: masked.length - masked.trimStart().length, to: masked.trimEnd().length }
}

/** "It works now" stands only when nothing worse is said after it. */
function isTakenBack(
  confirmation: Found,
  { messages }: Reading,
  found: readonly Found[],
  languages: readonly Cues[],
): boolean {
  const isWorse = (text: string) =>
    NO_LUCK.test(text) ||
    languages.some((cues) => cues.repeated_problem?.test(text)) ||
    (languages.some((cues) => cues.bug_report?.test(text)) && !NEGATED.bug_report?.test(text))
  return (
    found.some(({ kind, index }) => TAKES_BACK.includes(kind) && index >= confirmation.index) ||
    messages.some(({ index, clauses }) =>
      clauses.some(
        ({ text, from, contrast }) =>
          (index > confirmation.index ||
            (index === confirmation.index && from > confirmation.from && contrast)) &&
          isWorse(text),
      ),
    )
  )
}
