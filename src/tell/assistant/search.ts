/**
 * Full-text search over the sections of the website's pages, with BM25 and one or two typing errors forgiven.
 *
 * A section matches if it contains enough of the rare words of the question. A word that occurs nowhere counts as the
 * rarest, so a question about another subject finds nothing, even if its other words are on every page.
 */
import MiniSearch from 'minisearch'
import { type Section, toSections } from './sections.rules.ts'
import { termsOf } from './terms.rules.ts'

export interface Hit {
  readonly section: Section
  /** The matching terms of the section. */
  readonly terms: ReadonlySet<string>
  /** The share of the question that the section covers, from 0 to 1. */
  readonly share: number
}

/** Sections, best first. Equally good ones keep the order of the pages. */
export type Search = (question: string) => readonly Hit[]

interface Indexed extends Section {
  readonly id: number
}

const BOOST = { heading: 2.5, title: 1.5 }
/** In shorter words, one wrong letter makes another word. */
const MIN_FUZZY_LENGTH = 6
const FUZZY = 0.2
const MAX_EDITS = 2

export function createSearch(
  pages: readonly { readonly slug: string; readonly title: string; readonly markdown: string }[],
): Search {
  const sections: readonly Indexed[] = pages.flatMap(toSections).map((section, id) => ({ ...section, id }))
  const index = new MiniSearch<Indexed>({
    fields: ['title', 'heading', 'text'],
    tokenize: (text) => [...termsOf(text)],
    processTerm: (term) => term,
    searchOptions: {
      boost: BOOST,
      fuzzy: (term) => term.length >= MIN_FUZZY_LENGTH && FUZZY,
      maxFuzzy: MAX_EDITS,
    },
  })
  index.addAll(sections)
  const weightOf = createWeights(sections)
  return (question) => {
    const asked = new Set(termsOf(question))
    const total = sum(asked, weightOf)
    const found = index.search(question).map(({ id, terms, queryTerms, score }) => {
      const share = sum(new Set(queryTerms), weightOf) / total
      return { hit: { section: sections[id as number]!, terms: new Set(terms), share }, value: score * share }
    })
    return found.sort((a, b) => b.value - a.value).map(({ hit }) => hit)
  }
}

/** The inverse document frequency of a term, as in BM25. */
function createWeights(sections: readonly Section[]): (term: string) => number {
  const frequency = new Map<string, number>()
  for (const { title, heading, text } of sections) {
    for (const term of new Set(termsOf(`${title}\n${heading}\n${text}`)))
      frequency.set(term, (frequency.get(term) ?? 0) + 1)
  }
  return (term) => {
    const having = frequency.get(term) ?? 0
    return Math.log(1 + (sections.length - having + 0.5) / (having + 0.5))
  }
}

function sum(terms: ReadonlySet<string>, weightOf: (term: string) => number): number {
  let total = 0
  for (const term of terms) total += weightOf(term)
  return total
}
