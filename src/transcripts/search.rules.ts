/**
 * What a search text asks for. Pure.
 *
 * A transcript is searched part by part, since one tsvector holds 1 MB at most, and the words asked for may stand in different
 * parts. So the text is taken apart into terms, each of which must (or must not) occur somewhere in the recording; what a term
 * means is left to `websearch_to_tsquery`: words, "a phrase", a or b, -not. As search engines have it, `a or b c` is (a or b) and c.
 */

/** Code units of a search text. */
export const MAX_SEARCH_LENGTH = 200
const MAX_TERMS = 16

export interface Search {
  /** Each occurs. A term is in the syntax of `websearch_to_tsquery`. */
  readonly all: readonly string[]
  /** None occurs. */
  readonly none: readonly string[]
}

/** A phrase with or without its end, or a word; either may be excluded by a minus sign. */
const TOKEN = /(-?)("[^"]*"?|[^\s"]+)/g
/** Without one of these there is nothing to look up. */
const SEARCHABLE = /[\p{L}\p{N}]/u

/** Null where the text names nothing that can be searched for: no recording matches then. */
export function parseSearch(text: string): Search | null {
  const all: string[] = []
  const none: string[] = []
  let joins = false
  for (const [, minus, word = ''] of text.matchAll(TOKEN)) {
    if (/^or$/i.test(word) && minus === '') {
      joins = true
      continue
    }
    if (!SEARCHABLE.test(word)) continue
    const term = word.startsWith('"') ? `"${word.replaceAll('"', ' ').trim()}"` : word.replace(/^-+/, '')
    if (minus === '-') none.push(term)
    else if (joins && all.length > 0) all.push(`${all.pop()} or ${term}`)
    else all.push(term)
    joins = false
    if (all.length + none.length >= MAX_TERMS) break
  }
  return all.length + none.length === 0 ? null : { all, none }
}
