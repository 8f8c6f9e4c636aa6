/**
 * The text of a search, and the queries that PostgreSQL makes of it. Pure.
 *
 * PostgreSQL parses the text (`websearch_to_tsquery`) in each configuration that the organization has: words, "a phrase", or, -word.
 * A search finds what one of these queries finds. The last word also matches longer words, because it may not be typed to its end.
 */
import { hasPairs, pairsOf, separated } from './passage.rules.ts'

/** In code points. */
export const MAX_QUERY = 200
const MIN_PREFIX = 3

const SEARCHABLE = /[\p{L}\p{N}]/u
const PLAIN_WORD = /^[\p{L}\p{M}\p{N}]+$/u
/** A phrase with or without its closing quotation mark, or a word. A minus sign excludes either. */
const TOKEN = /(-*)("[^"]*"?|[^\s"]+)/g
/** A run that is written without spaces, or another run. */
const RUNS =
  /([\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー々]+)|([^\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー々]+)/gu

export interface SearchText {
  /** In the syntax of `websearch_to_tsquery`. */
  readonly text: string
  /** A word at the end that may not be complete; empty if there is none. */
  readonly last: string
  /** False if every word is excluded, or there is none. */
  readonly hasWords: boolean
  readonly excludes: boolean
}

export function searchTextOf(query: string): SearchText {
  const tokens = [...separated(query).matchAll(TOKEN)].map(([, minus = '', word = '']) => ({
    isExcluded: minus !== '',
    word: word.replaceAll('"', ' ').trim(),
    isQuoted: word.startsWith('"'),
  }))
  const words = tokens.filter(({ word }) => SEARCHABLE.test(word))
  const last = tokens.at(-1)
  const mayGoOn =
    last !== undefined &&
    !last.isExcluded &&
    !last.isQuoted &&
    PLAIN_WORD.test(last.word) &&
    !hasPairs(last.word) &&
    [...last.word].length >= MIN_PREFIX
  return {
    text: words.map(tokenText).join(' '),
    last: mayGoOn ? last.word : '',
    hasWords: words.some(({ isExcluded, word, isQuoted }) => !isExcluded && (isQuoted || !isOr(word))),
    excludes: words.some(({ isExcluded }) => isExcluded),
  }
}

const isOr = (word: string) => /^or$/i.test(word)

function tokenText(token: {
  readonly isExcluded: boolean
  readonly word: string
  readonly isQuoted: boolean
}): string {
  const { isExcluded, word, isQuoted } = token
  const sign = isExcluded ? '-' : ''
  if (!isQuoted && !hasPairs(word)) return `${sign}${word}`
  const parts = [...word.matchAll(RUNS)].map(([, run, other = '']) =>
    run === undefined ? other : pairsOf(run).join(' '),
  )
  return `${sign}"${parts.join(' ')}"`
}

/** A query as PostgreSQL writes it: `'invoic' & !'pay'`. */
export interface ParsedQuery {
  readonly configuration: string
  readonly query: string
  /** The query of the last word alone. */
  readonly last: string
}

/** A word in a query: quotation marks in it are doubled. */
const WORD = /'((?:[^']|'')*)'/g
const ONE_WORD = /^'(?:[^']|'')*'$/

/** The query in which the last word also stands for longer ones. Stop words leave nothing. */
export function withPrefix({ query, last }: ParsedQuery): string {
  return ONE_WORD.test(last) && query.endsWith(last) ? `${query}:*` : query
}

/** What one of the queries finds. */
export const anyOf = (queries: readonly string[]): string =>
  [...new Set(queries)].map((query) => `( ${query} )`).join(' | ')

/** Stands before each word of the organization in the index. The same as in the SQL function `search_document`. */
export const markOf = (organizationId: string): string => organizationId.slice(-6)

/** The query with the mark of the organization before each word. */
export const marked = (query: string, organizationId: string): string =>
  query.replace(WORD, (_, word: string) => `'${markOf(organizationId)}${word}'`)

/** The words of a query. */
export const wordsIn = (query: string): readonly string[] => [
  ...new Set([...query.matchAll(WORD)].map(([, word = '']) => unquoted(word))),
]

/** The query with other words in place of some. @param similar the alternatives of a word; none: the word stays */
export function withSimilar(query: string, similar: ReadonlyMap<string, readonly string[]>): string {
  return query.replace(/'((?:[^']|'')*)'(:\*)?/g, (all, word: string) => {
    const others = similar.get(unquoted(word)) ?? []
    return others.length === 0 ? all : `( ${others.map(quoted).join(' | ')} )`
  })
}

const unquoted = (word: string) => word.replaceAll("''", "'").replaceAll('\\\\', '\\')
const quoted = (word: string) => `'${word.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
