/**
 * Parses a search text. Pure.
 *
 * A transcript is indexed in parts, because a tsvector holds at most 1 MB, and the requested words may be in different
 * parts. The text is therefore split into terms. Each must (or must not) occur anywhere in the recording. As in web
 * search engines, `a or b c` means (a or b) and c.
 *
 * A word also matches words that begin with it, and other forms of an English word: `invoices` finds "invoice". The
 * index stores words unchanged, in any language, so forms are found by their common prefix. Quoted words, words with
 * inner punctuation, and excluded words match exactly.
 */
import { stemmer } from 'stemmer'

/** In code units. */
export const MAX_SEARCH_LENGTH = 200
const MAX_TERMS = 16
/** Minimum length of a word or stem that also matches longer words. */
const MIN_PREFIX = 3

/** At least one alternative must occur. */
export interface Term {
  /** In the syntax of `websearch_to_tsquery`: words, "a phrase", a or b. Empty: none. */
  readonly exact: string
  /** Word prefixes: letters, marks and digits only. */
  readonly beginnings: readonly string[]
}

export interface Search {
  /** Each must occur. */
  readonly all: readonly Term[]
  /** None may occur. */
  readonly none: readonly Term[]
}

/** A phrase with or without its closing quote, or a word. A minus sign excludes either. */
const TOKEN = /(-?)("[^"]*"?|[^\s"]+)/g
/** A token without any of these cannot be searched. */
const SEARCHABLE = /[\p{L}\p{N}]/u
const PLAIN_WORD = /^[\p{L}\p{M}\p{N}]+$/u
const ENGLISH = /^[a-z]+$/

/** @returns null if the text contains nothing searchable; then no recording matches */
export function parseSearch(text: string): Search | null {
  const all: Term[] = []
  const none: Term[] = []
  let joins = false
  for (const [, minus, word = ''] of text.matchAll(TOKEN)) {
    if (/^or$/i.test(word) && minus === '') {
      joins = true
      continue
    }
    if (!SEARCHABLE.test(word)) continue
    const exact = word.startsWith('"') ? `"${word.replaceAll('"', ' ').trim()}"` : word.replace(/^-+/, '')
    const previous = joins ? all.pop() : undefined
    if (minus === '-') none.push({ exact, beginnings: [] })
    else all.push(eitherOf(previous, termOf(exact)))
    joins = false
    if (all.length + none.length >= MAX_TERMS) break
  }
  return all.length + none.length === 0 ? null : { all, none }
}

function termOf(word: string): Term {
  if (!PLAIN_WORD.test(word) || [...word].length < MIN_PREFIX) return { exact: word, beginnings: [] }
  return { exact: '', beginnings: beginningsOf(word.toLowerCase()) }
}

function eitherOf(first: Term | undefined, second: Term): Term {
  if (first === undefined) return second
  const exact = [first.exact, second.exact].filter((text) => text !== '').join(' or ')
  return { exact, beginnings: [...first.beginnings, ...second.beginnings] }
}

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
