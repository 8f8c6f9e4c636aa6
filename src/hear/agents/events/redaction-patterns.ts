/**
 * What a text pattern matches: the text as it is, and its normal form. So a rule cannot be evaded by another spelling of the same word.
 *
 * - Compatible characters are one (NFKC), also in the pattern: full width, decomposed letters, Korean letters. What is not seen is no obstacle.
 * - Literal letters of the pattern match in any case, with and without accents.
 *
 * Character classes and flags keep their meaning, so `[A-Z]{3}` matches no small letters.
 */
import { RE2JS, RE2JSException } from 're2js'
import type { Spend } from '../../../platform/concurrency/work.ts'
import { createMatches, type Matches, type Range } from '../../../platform/regex/matches.ts'
import {
  composed,
  type NormalForm,
  normalFormOf,
  withoutAccents,
} from '../../../platform/text/normal-form.rules.ts'

/** Units of compiling a pattern: for each of its characters, and for each class of Unicode characters. */
const COMPILE_UNITS = 300
const COMPILE_CLASS_UNITS = 60_000
/** A pattern is compiled as it is, for composed letters, and for letters without accents. */
export const SPELLINGS = 3

/** Units of compiling the pattern in one spelling. */
export function compileUnits(pattern: string): number {
  const classes = pattern.match(/\\[pP]/g)?.length ?? 0
  return pattern.length * COMPILE_UNITS + classes * COMPILE_CLASS_UNITS
}

/** A text with its normal forms, which are made when a pattern asks for them. */
export interface Forms {
  readonly text: string
  readonly composed: NormalForm
  readonly folded: NormalForm
  /** Whether the text has the literal, in any case, with or without accents. */
  has(literal: string): boolean
}

export function formsOf(text: string, spend: Spend): Forms {
  let one: NormalForm | undefined
  let other: NormalForm | undefined
  let upper: string | undefined
  const form = (fold?: (cluster: string) => string) => {
    spend(text.length)
    return normalFormOf(text, fold, spend)
  }
  return {
    text,
    get composed() {
      one ??= form()
      return one
    },
    get folded() {
      other ??= form(withoutAccents)
      return other
    },
    has(literal) {
      upper ??= this.folded.text.toUpperCase()
      return upper.includes(withoutAccents(composed(literal)).replace(LEADING_MARKS, '').toUpperCase())
    },
  }
}

/** They belong to a letter that is not part of the literal. */
const LEADING_MARKS = /^\p{M}+/u

export interface Pattern {
  /** The matches in the text as it is. */
  exact(text: string, spend: Spend): readonly Range[]
  /** The places in the text whose normal forms match. */
  normal(forms: Forms, spend: Spend): readonly Range[]
}

export function createPattern(source: string): Pattern {
  const exact = lazyMatches(source, source)
  const spelled = spellingOf(source, (letters) => letters)
  const composedMatches = spelled === source ? exact : lazyMatches(spelled, source)
  const plain = spellingOf(source, withoutAccents)
  const foldedMatches = plain === spelled ? composedMatches : lazyMatches(plain, source)
  const within = (matches: ReturnType<typeof lazyMatches>, form: NormalForm, spend: Spend) =>
    matches.find(form.text, spend).map(({ start, end }) => form.placeOf(start, end))
  return {
    exact: exact.find,
    normal(forms, spend) {
      // Letters match in any case here, so the search by literals of the pattern itself does not apply.
      if (!exact.mayMatch(spend, (literal) => forms.has(literal))) return []
      const isComposed = forms.composed.text === forms.text
      const isFolded = forms.folded.text === forms.composed.text
      const one =
        isComposed && composedMatches === exact ? [] : within(composedMatches, forms.composed, spend)
      const other =
        isFolded && foldedMatches === composedMatches ? [] : within(foldedMatches, forms.folded, spend)
      return [...one, ...other]
    },
  }
}

/** Compiles the pattern at the first text, and counts that work. */
function lazyMatches(pattern: string, fallback: string) {
  let matches: Matches | null = null
  const made = (spend: Spend): Matches => {
    if (matches === null) {
      spend(compileUnits(pattern))
      matches = createMatches(compiled(pattern, fallback))
    }
    return matches
  }
  return {
    find: (text: string, spend: Spend) => made(spend).find(text, spend),
    mayMatch: (spend: Spend, has: (literal: string) => boolean) => made(spend).mayMatch(has),
  }
}

function compiled(pattern: string, fallback: string): RE2JS {
  try {
    return RE2JS.compile(pattern)
  } catch (error) {
    if (pattern === fallback || !(error instanceof RE2JSException)) throw error
    return RE2JS.compile(fallback)
  }
}

/** The parts of a pattern: quoted text, escapes, the head of a group, classes, repetitions, literal letters, and anything else. */
const PARTS = new RegExp(
  [
    String.raw`(?<quoted>\\Q[\s\S]*?(?:\\E|$))`,
    String.raw`\\[pP](?:\{[^}]*\}|.)|\\x(?:\{[^}]*\}|[\da-fA-F]{2})|\\[\s\S]`,
    String.raw`\(\?(?:P?<[^>]*>|[a-zA-Z-]*[:)])`,
    String.raw`(?<set>\[\^?\]?(?:\[:\^?\w+:\]|\\[\s\S]|[^\]\\])*\])`,
    String.raw`\{\d+(?:,\d*)?\}`,
    String.raw`(?<letters>(?:[\p{L}\p{N}\p{M}]|[^\0-\x7f])+)`,
    String.raw`[\s\S]`,
  ].join('|'),
  'gu',
)
/** A letter with its marks. */
const LETTER = /.\p{M}*/gsu
const CASED = /\p{L}/u
const PLAIN = /^[\p{L}\p{N}\p{M}]$/u

/** The pattern with literal letters in normal form and in any case. */
function spellingOf(source: string, fold: (letters: string) => string): string {
  return source.replaceAll(PARTS, (part, ...rest) => {
    const { quoted, set, letters } = rest.at(-1) as Record<'quoted' | 'set' | 'letters', string | undefined>
    if (quoted !== undefined) return literal(quoted.replace(/^\\Q/, '').replace(/\\E$/, ''), fold)
    if (letters !== undefined) return literal(letters, fold)
    return set === undefined || set.startsWith('[^') ? part : `${set.slice(0, -1)}${lettersOfSet(set, fold)}]`
  })
}

/** The last letter stands alone, because a repetition behind it means only that letter. */
function literal(text: string, fold: (letters: string) => string): string {
  const letters = (composed(text).match(LETTER) ?? []).map((letter) =>
    [...fold(letter)].map(escaped).join(''),
  )
  const last = letters.pop()
  return last === undefined
    ? ''
    : letters.length === 0
      ? anyCase(last)
      : anyCase(letters.join('')) + anyCase(last)
}

const anyCase = (text: string): string =>
  CASED.test(text) ? `(?i:${text})` : text.length > 1 ? `(?:${text})` : text

const escaped = (character: string): string =>
  PLAIN.test(character) ? character : `\\x{${(character.codePointAt(0) as number).toString(16)}}`

/** What the letters of a class become, to stand beside them. */
function lettersOfSet(set: string, fold: (letters: string) => string): string {
  const others = [...set]
    .filter((letter) => letter > '\x7f' && CASED.test(letter))
    .map((letter) => fold(composed(letter)))
  return [...new Set(others)].filter((letter) => !set.includes(letter) && [...letter].length === 1).join('')
}
