/**
 * Titles that quote: of the quotations that everybody may see, one that has the words that tell the theme from others, that stands for itself,
 * and that is central. Pure.
 *
 * A quotation with an address, a number, or a word that looks like a name is left out: there are others, or else words.
 */
import { nearness, type Point, pointOfItem, pointOfTheme, type Surroundings } from './nearness.rules.ts'
import { KNOWN_ITEMS, MAX_TITLE, MIN_SUBJECTS, redacted } from './title.rules.ts'
import { addTo, emptySum, vectorOf } from './vector.rules.ts'
import { stemsOf } from './words.rules.ts'

/** Stems that a sentence has, so that it says something. */
const MIN_STEMS = 2

export interface Quotable {
  readonly signalId: string
  readonly text: string
  readonly subject: string
  /** Every member of the organization may see it. */
  readonly isOpen: boolean
  readonly vector: Uint8Array
  readonly terms: readonly string[]
}

export interface QuotedTitle {
  readonly title: string
  readonly quotedId: string
}

/** How much the nearness to the centre counts beside the share of subjects that use the words of a sentence. */
const NEARNESS = 0.5

/** A sentence that begins so goes on from another one, which the reader of a title does not see. */
const GOES_ON = /^(?:and|but|so|or|because|also|then|still|aber|und|mais|et|pero|y|ma|mas|maar|en)\b/i

/** Points at something that another sentence has named: "Could you do this, perhaps?" */
const POINTS =
  /\b(?:this|that|these|those|it)\b(?=\s*(?:[.,;:!?…]|$)|\s+(?:please|perhaps|again|too|either)\b)/i

/** What stands for an address or a name that was removed before the text arrived, such as `[email]`. */
const REMOVED = /\[\p{L}+\]/u

/** Sentences that can be the title, the best first, each once. `words`: the title of words, which a sentence must have one of. */
export function quotedTitles(
  quotations: readonly Quotable[],
  words: string,
  surroundings: Surroundings,
): readonly QuotedTitle[] {
  const wanted = new Set(stemsOf(words))
  // The words of a theme whose quotations share none are the name of its kind.
  const telling = quotations.some(({ terms }) => terms.some((term) => wanted.has(term))) ? wanted : null
  const subjects = new Map<string, Set<string>>()
  for (const { subject, terms } of quotations)
    for (const term of terms) subjects.set(term, (subjects.get(term) ?? new Set()).add(subject))
  const isKnown = (stem: string) =>
    (subjects.get(stem)?.size ?? 0) >= MIN_SUBJECTS || surroundings.countOf(stem) >= KNOWN_ITEMS
  const centre = centreOf(quotations, surroundings)
  const all = new Set(quotations.map(({ subject }) => subject)).size
  const titles = quotations
    .flatMap(({ isOpen, text, signalId, vector, terms }) => {
      const title = isOpen ? sentenceOf(text, isKnown) : null
      if (title === null) return []
      const told = stemsOf(title).filter((stem) => telling?.has(stem)).length
      if (telling !== null && told === 0) return []
      const near = nearness(pointOfItem(vectorOf(vector), terms, surroundings), centre)
      // A word that few of the others use narrows the title to one customer's matter.
      const score = shareOf(stemsOf(title), subjects, all) + NEARNESS * near
      const needsOther = GOES_ON.test(title) || POINTS.test(title)
      return [{ title, quotedId: signalId, needsOther, score }]
    })
    .toSorted(
      (a, b) =>
        Number(a.needsOther) - Number(b.needsOther) ||
        b.score - a.score ||
        (a.quotedId < b.quotedId ? -1 : 1),
    )
    .map(({ title, quotedId }) => ({ title, quotedId }))
  return [...new Map(titles.toReversed().map((one) => [one.title.toLowerCase(), one])).values()].toReversed()
}

/** The share of the subjects that use one of the stems, on average. */
function shareOf(
  stems: readonly string[],
  subjects: ReadonlyMap<string, ReadonlySet<string>>,
  all: number,
): number {
  const used = stems.reduce((sum, stem) => sum + (subjects.get(stem)?.size ?? 0), 0)
  return used / Math.max(1, stems.length * all)
}

function centreOf(quotations: readonly Quotable[], surroundings: Surroundings): Point {
  const sum = emptySum()
  const terms: Record<string, number> = {}
  for (const one of quotations) {
    addTo(sum, vectorOf(one.vector), 1)
    for (const term of one.terms) terms[term] = (terms[term] ?? 0) + 1
  }
  return pointOfTheme(sum, terms, quotations.length, surroundings)
}

/** The first sentence that says something, cut to the length of a title; null if it could name somebody or something of somebody's. */
export function sentenceOf(text: string, isKnown: (stem: string) => boolean): string | null {
  const sentences = text
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, 300)
    .split(/(?<=[.!?])\s/)
  const sentence = sentences.find((one) => stemsOf(one).length >= MIN_STEMS)
  const stems = sentence === undefined ? [] : stemsOf(sentence)
  if (sentence === undefined || redacted(sentence) !== sentence) return null
  if (/\p{N}{3}/u.test(sentence) || REMOVED.test(sentence)) return null
  const words = sentence.match(/[\p{L}\p{N}][\p{L}\p{N}\p{M}'’-]*/gu) ?? []
  // Half of its words are those of several, so that no single customer chooses the title.
  if (stems.filter(isKnown).length * 2 < stems.length) return null
  // The first word has a capital anyway, and so does "I".
  if (words.some((word, place) => place > 0 && /^\p{Lu}\p{L}/u.test(word) && !stemsOf(word).every(isKnown)))
    return null
  return shortened(withoutEnd(sentence))
}

/** Without the signs and spaces at its end. A pattern would look at each run of them from each of its places. */
function withoutEnd(sentence: string): string {
  let end = sentence.length
  while (end > 0 && /[\s.,;:]/u.test(sentence[end - 1] as string)) end--
  return sentence.slice(0, end)
}

function shortened(sentence: string): string {
  if (sentence.length <= MAX_TITLE) return sentence
  const cut = sentence.slice(0, MAX_TITLE - 1)
  return `${cut.slice(0, Math.max(MAX_TITLE / 2, cut.lastIndexOf(' '))).trimEnd()}…`
}

/** The first of the titles that no other theme has; else the words, with a number if another theme has them. */
export function uniqueTitle(
  quoted: readonly QuotedTitle[],
  words: string,
  others: ReadonlySet<string>,
): { readonly title: string; readonly quotedId: string | null } {
  const isFree = (title: string) => !others.has(title.toLowerCase())
  const free = quoted.find(({ title }) => isFree(title))
  if (free !== undefined) return free
  let title = words
  for (let number = 2; !isFree(title); number++) title = `${words} (${number})`
  return { title, quotedId: null }
}
