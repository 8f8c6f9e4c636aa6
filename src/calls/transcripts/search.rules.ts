/**
 * Parses a search text. Pure.
 *
 * A transcript is indexed in parts, because a tsvector holds at most 1 MB, and the requested words may be in different
 * parts. The text is therefore split into terms. Each must (or must not) occur anywhere in the recording. As in web
 * search engines, `a or b c` means (a or b) and c.
 *
 * Words have the normal form of `platform/text/words.rules.ts`. A word also matches words that begin with it, and other forms of an
 * English word: `invoices` finds "invoice". The index stores words unchanged, in any language, so forms are found by their common prefix.
 * Quoted words, words with inner punctuation, and excluded words match exactly.
 */
import { stemmer } from 'stemmer'
import { type Spelling, signsOf, wantedOf } from '../../platform/text/words.rules.ts'

/** In code units. */
export const MAX_SEARCH_LENGTH = 200
const MAX_TERMS = 16
/** Minimum length of a word or stem that also matches longer words. */
const MIN_PREFIX = 3

/** In the syntax of `to_tsquery`. */
export interface Search {
  /** Each must occur. */
  readonly all: readonly string[]
  /** None may occur. */
  readonly none: readonly string[]
}

/** A phrase with or without its closing quote, or a word. A minus sign excludes either. */
const TOKEN = /(-*)("[^"]*"?|[^\s"]+)/g
const ENGLISH = /^[a-z]+$/

/** @returns null if the text contains nothing searchable; then no recording matches */
export function parseSearch(text: string): Search | null {
  const all: string[] = []
  const none: string[] = []
  let joins = false
  for (const [, minus = '', word = ''] of signsOf(text).matchAll(TOKEN)) {
    if (/^or$/i.test(word) && minus === '') {
      joins = true
      continue
    }
    const isExact = word.startsWith('"') || minus !== ''
    const term = termOf(word, isExact)
    if (term === null) continue
    const previous = joins ? all.pop() : undefined
    if (minus !== '') none.push(term)
    else all.push(previous === undefined ? term : `${previous} | ${term}`)
    joins = false
    if (all.length + none.length >= MAX_TERMS) break
  }
  return all.length + none.length === 0 ? null : { all, none }
}

/** The alternatives of a word or phrase. Null: it has no word. */
function termOf(text: string, isExact: boolean): string | null {
  const { whole, word } = wantedOf(text, null)
  if (whole.length === 0) return null
  const goesOn = !isExact && word !== null && [...word].length >= MIN_PREFIX
  const alternatives = goesOn
    ? whole.flatMap((spelling) => beginningsOf(spelling.text)).map((beginning) => `'${beginning}':*`)
    : whole.map(phraseOf)
  return [...new Set(alternatives)].join(' | ')
}

/** The words have letters, digits and marks only. */
const phraseOf = ({ text, last }: Spelling): string =>
  `${text
    .split(' ')
    .map((word) => `'${word}'`)
    .join(' <-> ')}${last === '' ? '' : ':*'}`

/**
 * The word, and the prefixes that the forms of its stem share. None is a prefix of another. `company` → `company`,
 * `compani`.
 */
function beginningsOf(word: string): readonly string[] {
  if (!ENGLISH.test(word)) return [word]
  const stem = stemmer(word)
  // Porter stems of words in -y and -ies end in -i, but only words in -ies contain it.
  const stems = stem.endsWith('i') ? [stem, `${stem.slice(0, -1)}y`] : [stem]
  const all = new Set([word, ...stems.filter(({ length }) => length >= MIN_PREFIX)])
  return [...all].filter((one) => ![...all].some((other) => other !== one && one.startsWith(other)))
}
