/** Titles: the words and word pairs that a theme's quotations have more often than others (c-TF-IDF). Pure. */
import type { Frequencies } from './nearness.rules.ts'
import { stemsOf, stemsOfTerm, titleTermsOf } from './words.rules.ts'

/** A word that fewer subjects use could tell who they are. */
export const MIN_SUBJECTS = 3
const MAX_TERMS = 3
/** A pair says more than a word. */
const PAIR = 1.6
export const MAX_TITLE = 80
/** Without a word that enough subjects share. */
export const NO_TITLE = 'Various'

export interface Quotation {
  readonly text: string
  /** Channel and id of the subject. */
  readonly subject: string
}

/** In how many subjects each term occurs. */
function subjectsOf(
  quotations: readonly Quotation[],
  termsOf: (text: string) => readonly string[],
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const some of Map.groupBy(quotations, ({ subject }) => subject).values())
    for (const term of new Set(some.flatMap(({ text }) => termsOf(text))))
      counts.set(term, (counts.get(term) ?? 0) + 1)
  return counts
}

/** At most three terms that do not share a word, the most telling first. */
export function titleOf(quotations: readonly Quotation[], frequencies: Frequencies): string {
  const ranked = [...subjectsOf(quotations, titleTermsOf)]
    .filter(([, count]) => count >= MIN_SUBJECTS)
    .map(([term, count]) => [term, count * rarityOf(term, frequencies)] as const)
    .toSorted(([a, scoreA], [b, scoreB]) => scoreB - scoreA || (a < b ? -1 : 1))
  const chosen: string[] = []
  const used = new Set<string>()
  for (const [term] of ranked) {
    const stems = stemsOfTerm(term)
    if (stems.some((stem) => used.has(stem))) continue
    chosen.push(term)
    for (const stem of stems) used.add(stem)
    if (chosen.length === MAX_TERMS) break
  }
  return chosen.length === 0 ? NO_TITLE : chosen.join(' · ').slice(0, MAX_TITLE)
}

function rarityOf(term: string, { items, countOf }: Frequencies): number {
  const stems = stemsOfTerm(term)
  const rarities = stems.map((stem) => Math.log(1 + items / Math.max(1, countOf(stem))))
  return (rarities.reduce((sum, one) => sum + one, 0) / stems.length) * (stems.length > 1 ? PAIR : 1)
}

const MAX_WORDS = 8

/**
 * The title of a model server, or null if it is not one: a short line of words, of which at least half are words that several
 * subjects use. So the text of one customer cannot choose it.
 */
export function checkedTitle(given: string, quotations: readonly Quotation[]): string | null {
  const title = given.trim().replace(/\s+/g, ' ')
  if (title.length < 3 || title.length > MAX_TITLE || title.split(' ').length > MAX_WORDS) return null
  if (!/^\p{L}[\p{L}\p{N}\p{M} ,&/'’()-]*$/u.test(title) || /\p{N}{3}/u.test(title)) return null
  const stems = stemsOf(title)
  const subjects = subjectsOf(quotations, stemsOf)
  const shared = stems.filter((stem) => (subjects.get(stem) ?? 0) >= MIN_SUBJECTS)
  return shared.length > 0 && shared.length * 2 >= stems.length ? title : null
}

/** What could name a person is replaced, because the quotation goes to a model server for a title only. */
export const redacted = (text: string): string =>
  text
    .replace(/\S{1,64}@\S{1,255}/g, '…')
    .replace(/https?:\/\/\S{1,500}/g, '…')
    .replace(/\+?\d[\d\s().-]{2,}\d/g, '…')
    .slice(0, 300)

/** A theme gets another title when it has twice as many members as when it got its title. */
export const needsTitle = (count: number, titledCount: number): boolean =>
  count >= 2 * Math.max(1, titledCount) || count * 2 <= titledCount
