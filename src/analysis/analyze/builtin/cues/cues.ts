/** What cues of a language are made of. */
import type { Kind } from '../../insight.ts'

/**
 * One pattern for each kind of finding. A pattern runs on a clause: lower case, masked, at most 300 code units. Every repetition in it is
 * bounded, so its time is linear in the clause.
 */
export type Cues = Readonly<Partial<Record<Kind, RegExp>>>

/** Matches one of the alternatives between word boundaries. These know letters with accents, unlike `\b`. */
export function words(...alternatives: readonly string[]): RegExp {
  return new RegExp(String.raw`(?<![\p{L}\p{N}])(?:${alternatives.join('|')})(?![\p{L}\p{N}])`, 'u')
}

/** Matches one of the alternatives anywhere: emoji, and languages that do not separate words. */
export function anywhere(...alternatives: readonly string[]): RegExp {
  return new RegExp(alternatives.join('|'), 'u')
}
