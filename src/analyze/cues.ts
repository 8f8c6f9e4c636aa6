/**
 * Deterministic cues in a user's message after a response: it helped, it did not help, or the user asked again.
 * Pure. There are few on purpose: a missed cue costs little, a wrong one is believed.
 */

const SOLVED =
  /\b(?:thanks|thank you|thx|much appreciated|that (?:worked|works|helped|helps|fixed it|did it|solved it)|it (?:works|worked) now|(?:problem|issue) (?:is )?solved|exactly what i (?:needed|wanted))\b/i

const NOT_SOLVED =
  /\b(?:(?:does|did|do|is|are|was|has|have|can|could|will|would)(?: not|n't|nt) (?:work|working|worked|help|helping|helped|help me|answer|understand|solve|solved|fix|fixed|right|correct|true|what i)|no,? that|not (?:what i (?:asked|meant|need|needed|wanted)|helpful|working|correct|right)|still (?:not|does|doesn't|fails?|failing|broken|getting|get|the same|have|having|no|wrong|stuck)|(?:that|this|it|you)(?:'s| is| was|'re| are)? (?:plain )?(?:wrong|incorrect)|same (?:error|problem|issue)|didn't ask|useless)\b/i

const DECLINED = /\bno,? (?:thanks|thank you)\b/gi

/** Sentences that say nothing about the answer, even if their words score as friendly. */
const ACKNOWLEDGEMENT = /^(?:ok(?:ay)?|k|yes|yep|yeah|no|nope|sure|hi|hello|hey|bye|goodbye)[\s.!,]*$/i

/** Words without a topic. With them, two questions that share only grammar would look alike. */
const COMMON = new Set(
  'a an and are as at be but by can could do does for from had has have how i if in is it its me my of on or please so that the then there this to was we what when where which who why will with would you your'.split(
    ' ',
  ),
)

const MIN_TOPIC_WORDS = 2
const SAME_QUESTION = 0.6

export function saysSolved(sentence: string): boolean {
  return SOLVED.test(sentence.replace(DECLINED, ''))
}

export function saysNotSolved(sentence: string): boolean {
  return NOT_SOLVED.test(straight(sentence))
}

export function isAcknowledgement(sentence: string): boolean {
  return ACKNOWLEDGEMENT.test(sentence.trim())
}

/** True if a message repeats an earlier question, in another order or with small changes. */
export function repeats(earlier: string, later: string): boolean {
  const before = topic(earlier)
  const after = topic(later)
  if (before.size < MIN_TOPIC_WORDS || after.size < MIN_TOPIC_WORDS) return false
  let shared = 0
  for (const word of after) if (before.has(word)) shared++
  return shared / (before.size + after.size - shared) >= SAME_QUESTION
}

function topic(text: string): ReadonlySet<string> {
  const words =
    straight(text)
      .toLowerCase()
      .match(/[\p{L}\p{N}']+/gu) ?? []
  return new Set(words.filter((word) => !COMMON.has(word)))
}

/** Replaces typographic apostrophes by typed ones. */
function straight(text: string): string {
  return text.replaceAll('\u2019', "'")
}
