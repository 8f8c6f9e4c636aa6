/**
 * What a search text asks for. Pure.
 *
 * A transcript is searched part by part, since one tsvector holds 1 MB at most, and the words asked for may stand in different
 * parts. So the text is taken apart into terms, each of which must (or must not) occur somewhere in the recording. As search
 * engines have it, `a or b c` is (a or b) and c.
 *
 * A word also finds what begins with it, and the other forms of an English word: `invoices` finds "invoice". The index keeps words
 * as they are, in any language; the forms are found by the beginning that they share. Words in quotation marks, words with
 * punctuation inside, and excluded words are looked for as they stand.
 */
import { stemmer } from 'stemmer'

/** Code units of a search text. */
export const MAX_SEARCH_LENGTH = 200
const MAX_TERMS = 16
/** Characters of a word, or of a stem, from which on other words that begin with it are found. */
const MIN_PREFIX = 3

/** At least one of these occurs. */
export interface Term {
  /** In the syntax of `websearch_to_tsquery`: words, "a phrase", a or b; empty: none. */
  readonly exact: string
  /** Beginnings of words: letters, marks and digits only. */
  readonly beginnings: readonly string[]
}

export interface Search {
  /** Each occurs. */
  readonly all: readonly Term[]
  /** None occurs. */
  readonly none: readonly Term[]
}

/** A phrase with or without its end, or a word; either may be excluded by a minus sign. */
const TOKEN = /(-?)("[^"]*"?|[^\s"]+)/g
/** Without one of these there is nothing to look up. */
const SEARCHABLE = /[\p{L}\p{N}]/u
const PLAIN_WORD = /^[\p{L}\p{M}\p{N}]+$/u
const ENGLISH = /^[a-z]+$/

/** Null where the text names nothing that can be searched for: no recording matches then. */
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

/** The word, and what the forms of its stem begin with; none begins with another one. `company` → `company`, `compani`. */
function beginningsOf(word: string): readonly string[] {
  if (!ENGLISH.test(word)) return [word]
  const stem = stemmer(word)
  // Porter's stems of words in -y and -ies end in -i, which only the latter have.
  const stems = stem.endsWith('i') ? [stem, `${stem.slice(0, -1)}y`] : [stem]
  const all = new Set([word, ...stems.filter(({ length }) => length >= MIN_PREFIX)])
  return [...all].filter((one) => ![...all].some((other) => other !== one && one.startsWith(other)))
}
