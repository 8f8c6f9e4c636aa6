/**
 * What short messages say: "The export crashes." The judge weighs a whole subject and often finds too little in a few blunt words, above all
 * behind a harmless question. In a short message one clause says it all. Pure; bounded.
 */
import type { Channel } from '../../insight/model.ts'
import { type Found, KINDS, type Kind, ratingOf } from '../insight.ts'
import { mayHave, type Scored, scoreOf, TROUBLE } from './combine.rules.ts'
import { NO_LUCK } from './cues/turns.ts'
import type { FoundByRule } from './findings.rules.ts'
import type { Reading } from './reading.rules.ts'

/** Words of a short message. */
const MOST_WORDS = 12
const MOST_LENGTH = 120

/**
 * From this score on a clause of a short message is enough by itself. In labelled items that the head had not seen, 215 of 220 such
 * findings were right.
 */
const CERTAIN = 0.9

/** From this score on a last message is trouble. Chosen by cross-validation of the outcomes. */
const LIKELY = 0.65

/** Only the whole tells whether these are meant: praise may be mockery, and a question may be asked in anger. */
const NEEDS_THE_WHOLE: ReadonlySet<Kind> = new Set(['praise', 'question'])

/** The pieces of short messages. */
export function shortMessagesOf({ messages }: Reading, scored: readonly Scored[]): readonly Scored[] {
  const short = new Set(
    messages
      .filter(({ masked }) => masked.length <= MOST_LENGTH && masked.trim().split(/\s+/).length <= MOST_WORDS)
      .map(({ index }) => index),
  )
  return scored.filter(({ piece }) => short.has(piece.index))
}

/**
 * What was found, and what short messages surely say. In the order of `KINDS`, each kind at most once.
 * @param scored pieces of short messages by the head for these
 */
export function withShort(
  found: readonly Found[],
  byRules: readonly FoundByRule[],
  scored: readonly Scored[],
  channel: Channel,
): readonly Found[] {
  return KINDS.flatMap((kind) => {
    const known = found.find((one) => one.kind === kind)
    if (known !== undefined) return [known]
    if (NEEDS_THE_WHOLE.has(kind)) return []
    const sure = scored
      .filter(
        (one) =>
          !one.piece.isSarcastic && scoreOf(one, kind) >= CERTAIN && mayHave(kind, one, scored, channel),
      )
      .toSorted((a, b) => scoreOf(b, kind) - scoreOf(a, kind))[0]
    if (sure === undefined) return []
    const { index, from, to } =
      byRules.find((one) => one.kind === kind && one.index === sure.piece.index) ?? sure.piece
    return [
      {
        kind,
        tier: 'likely' as const,
        confidence: scoreOf(sure, kind),
        rating: ratingOf(kind),
        index,
        from,
        to,
      },
    ]
  })
}

/**
 * True if a piece of the customer's last message calls something broken, bad or wrong, or says that help was in vain. Then nothing is resolved.
 * @param scored pieces of the last message by the head for short messages
 */
export function isTrouble(scored: readonly Scored[]): boolean {
  return scored.some(
    (one) => NO_LUCK.test(one.piece.text) || TROUBLE.some((kind) => scoreOf(one, kind) >= LIKELY),
  )
}
