/**
 * The text of a search, and the queries that PostgreSQL makes of it. Pure.
 *
 * As in web search engines: words, "a phrase", or, -word. Each has several spellings (`platform/text/words.rules.ts`), of which PostgreSQL
 * makes a query in each configuration that the organization has (`phraseto_tsquery`). A search finds what one configuration finds. The
 * last word also matches longer words, because it may not be typed to its end.
 */
import { type Spelling, signsOf, wantedOf } from '../../platform/text/words.rules.ts'

/** In code points. */
export const MAX_QUERY = 200
const MIN_PREFIX = 3
/** Words and phrases of a search. Further ones are left out. */
const MAX_TERMS = 64

/** A phrase with or without its closing quotation mark, or a word. A minus sign excludes either. */
const TOKEN = /(-*)("[^"]*"?|[^\s"]+)/g

/** A word or a phrase. */
interface Term {
  readonly spellings: readonly Spelling[]
  /** What a passage may have one by one, in a search for any of the words. */
  readonly parts: readonly (readonly Spelling[])[]
}

export interface SearchText {
  /** All terms of one of these. */
  readonly groups: readonly (readonly Term[])[]
  readonly excluded: readonly Term[]
}

export function searchTextOf(query: string): SearchText {
  const tokens = [...signsOf(query).matchAll(TOKEN)].slice(0, MAX_TERMS)
  const groups: Term[][] = [[]]
  const excluded: Term[] = []
  for (const [n, [, minus = '', word = '']] of tokens.entries()) {
    const isQuoted = word.startsWith('"')
    const isExcluded = minus !== ''
    if (/^or$/i.test(word) && !isExcluded) {
      groups.push([])
      continue
    }
    const mayGoOn = n === tokens.length - 1 && !isQuoted && !isExcluded
    const { whole, parts } = wantedOf(word, mayGoOn ? MIN_PREFIX : null)
    if (whole.length === 0) continue
    const term = { spellings: whole, parts: isQuoted ? [whole] : parts }
    if (isExcluded) excluded.push(term)
    else groups.at(-1)?.push(term)
  }
  return { groups: groups.filter(({ length }) => length > 0), excluded }
}

/** What PostgreSQL has to parse, each once. */
export function textsOf({ groups, excluded }: SearchText): readonly string[] {
  const all = [...groups.flat(), ...excluded].flatMap((term) => [...term.spellings, ...term.parts.flat()])
  return [...new Set(all.flatMap(({ text, last }) => (last === '' ? [text] : [text, last])))]
}

/** Alternatives of a word or phrase, as PostgreSQL writes them: `'top' <-> 'up'`, `'topup'`. */
type Unit = readonly string[]

/** A search in one configuration. */
export interface ParsedQuery {
  readonly configuration: string
  /** All units of one of these. None: every word is a stop word. */
  readonly groups: readonly (readonly Unit[])[]
  readonly excluded: readonly Unit[]
  /** Each of the words alone. */
  readonly parts: readonly Unit[]
}

/** @param queries what PostgreSQL made of `textsOf`, in this configuration */
export function parsedOf(text: SearchText, configuration: string, queries: readonly string[]): ParsedQuery {
  const parsed = new Map(textsOf(text).map((one, n) => [one, queries[n] ?? '']))
  const queryOf = (spelling: Spelling) =>
    withPrefix(parsed.get(spelling.text) ?? '', parsed.get(spelling.last) ?? '')
  // Where the word is a stop word, its other spellings say as little.
  const unitsOf = ([first, ...others]: readonly Spelling[]): readonly Unit[] => {
    const query = first === undefined ? '' : queryOf(first)
    return query === '' ? [] : [[...new Set([query, ...others.map(queryOf).filter((one) => one !== '')])]]
  }
  const terms = (all: readonly Term[]) => all.flatMap((term) => unitsOf(term.spellings))
  return {
    configuration,
    groups: text.groups.map(terms).filter(({ length }) => length > 0),
    excluded: terms(text.excluded),
    parts: text.groups.flat().flatMap((term) => term.parts.flatMap(unitsOf)),
  }
}

/** A word in a query: quotation marks in it are doubled. */
const WORD = /'((?:[^']|'')*)'/g
const ONE_WORD = /^'(?:[^']|'')*'$/

/** The query in which the last word also stands for longer ones. Stop words leave nothing. */
function withPrefix(query: string, last: string): string {
  return ONE_WORD.test(last) && query.endsWith(last) ? `${query}:*` : query
}

export const unitText = (unit: Unit): string => (unit.length === 1 ? `${unit[0]}` : `( ${unit.join(' | ')} )`)

/** The query for all words. */
export function queryText({ groups, excluded }: ParsedQuery): string {
  const texts = groups.map((group) => group.map(unitText).join(' & '))
  return [texts.length === 1 ? texts[0] : `( ${texts.join(' | ')} )`, ...excludedText(excluded)].join(' & ')
}

export const excludedText = (excluded: readonly Unit[]): readonly string[] =>
  excluded.map((unit) => `!( ${unit.join(' | ')} )`)

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

/**
 * The search with other words in place of unknown ones, unless another spelling of the same word is known.
 * @param similar the alternatives of an unknown word; none: the word stays
 */
export function withSimilar(
  parsed: ParsedQuery,
  similar: ReadonlyMap<string, readonly string[]>,
): ParsedQuery {
  const isKnown = (alternative: string) => !wordsIn(alternative).some((word) => similar.has(word))
  const replaced = (unit: Unit) => (unit.some(isKnown) ? unit : unit.map((one) => withWords(one, similar)))
  const { configuration, groups, excluded, parts } = parsed
  return {
    configuration,
    groups: groups.map((group) => group.map(replaced)),
    excluded,
    parts: parts.map(replaced),
  }
}

const withWords = (query: string, similar: ReadonlyMap<string, readonly string[]>): string =>
  query.replace(/'((?:[^']|'')*)'(:\*)?/g, (all, word: string) => {
    const others = similar.get(unquoted(word)) ?? []
    return others.length === 0 ? all : `( ${others.map(quoted).join(' | ')} )`
  })

const unquoted = (word: string) => word.replaceAll("''", "'").replaceAll('\\\\', '\\')
const quoted = (word: string) => `'${word.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
