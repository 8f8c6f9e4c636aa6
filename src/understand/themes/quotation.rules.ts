/**
 * Titles that quote: of the quotations that everybody may see, one that has the words that tell the theme from others, that stands for itself,
 * and that is near to many others. Pure.
 *
 * A quotation with an address, a number, or a word that looks like a name is left out: there are others, or else words.
 */
import { isInCapitals } from '../../analysis/analyze/builtin/vectors/capitals.rules.ts'
import { likeness, type Point, pointOfItem, type Surroundings } from './nearness.rules.ts'
import { KNOWN_ITEMS, MAX_TITLE, MIN_SUBJECTS, redacted } from './title.rules.ts'
import { vectorOf } from './vector.rules.ts'
import { stemsOf } from './words.rules.ts'

/** Stems that a sentence has, so that it says something. */
const MIN_STEMS = 2

export interface Quotable {
  readonly signalId: string
  readonly text: string
  readonly subject: string
  readonly rating: string | null
  /** Every member of the organization may see it. */
  readonly isOpen: boolean
  readonly vector: Uint8Array
  readonly terms: readonly string[]
}

export interface QuotedTitle {
  readonly title: string
  readonly quotedId: string
}

/** A sentence is measured by its nearest passages: this share of them, and at least so many. */
const NEAREST_SHARE = 1 / 3
const MIN_NEAREST = 3
/** A word that a smaller share of the subjects use narrows the title to one customer's matter, and takes so much from its score. */
const RARE_SHARE = 0.1
const RARE_WORD = 0.05
/** Taken from the score of a sentence that is cut. */
const CUT = 0.1

/** A sentence that begins so goes on from another one, which the reader of a title does not see. */
const GOES_ON =
  /^(?:and|but|so|or|because|also|then|still|except|although|aber|und|mais|et|pero|y|ma|mas|maar|en)\b/i

/** Points at something that another sentence has named: "Could you do this, perhaps?" */
const POINTS =
  /\b(?:this|that|these|those|it)\b(?=\s*(?:[.,;:!?…]|$)|\s+(?:please|perhaps|again|too|either)\b)/i

/** What stands for an address or a name that was removed before the text arrived, such as `[email]`. */
const REMOVED = /\[\p{L}+\]/u

/**
 * Sentences that can be the title, the best first, each once. It yields after small parts.
 *
 * The best is in the middle of the largest group, not of all: the centre of two matters is near to neither. Only meanings are compared, because passages
 * that share the words of the theme differ in what is said about them. Where most praise, what blames is not quoted, and the reverse.
 * @param words the title of words, which a sentence must have one of
 */
export function* quotedTitles(
  quotations: readonly Quotable[],
  words: string,
  surroundings: Surroundings,
): Generator<void, readonly QuotedTitle[]> {
  const wanted = new Set(stemsOf(words))
  // The words of a theme whose quotations share none are the name of its kind.
  const telling = quotations.some(({ terms }) => terms.some((term) => wanted.has(term))) ? wanted : null
  const subjects = new Map<string, Set<string>>()
  for (const { subject, terms } of quotations)
    for (const term of terms) subjects.set(term, (subjects.get(term) ?? new Set()).add(subject))
  const usersOf = (stem: string) => subjects.get(stem)?.size ?? 0
  const isKnown = (stem: string) => usersOf(stem) >= MIN_SUBJECTS || surroundings.countOf(stem) >= KNOWN_ITEMS
  const all = new Set(quotations.map(({ subject }) => subject)).size
  const isRare = (stem: string) => usersOf(stem) < RARE_SHARE * all
  const ratings = mostFrequent(quotations.map(({ rating }) => rating))
  const points: Point[] = []
  for (const { vector, terms } of quotations) {
    points.push(pointOfItem(vectorOf(vector), terms, surroundings))
    yield
  }
  const titles: (QuotedTitle & { readonly needsOther: boolean; readonly score: number })[] = []
  for (const [place, { isOpen, rating, text, subject, signalId }] of quotations.entries()) {
    const title = isOpen && ratings.has(rating) ? sentenceOf(text, isKnown) : null
    if (title === null) continue
    const stems = stemsOf(title)
    if (telling !== null && !stems.some((stem) => telling.has(stem))) continue
    const others = points.filter((_, other) => quotations[other]?.subject !== subject)
    const loss = RARE_WORD * stems.filter(isRare).length + (title.endsWith('…') ? CUT : 0)
    const score = nearestOf(points[place]!, others) - loss
    const needsOther = GOES_ON.test(title) || POINTS.test(title)
    titles.push({ title, quotedId: signalId, needsOther, score })
    yield
  }
  titles.sort(
    (a, b) =>
      Number(a.needsOther) - Number(b.needsOther) || b.score - a.score || (a.quotedId < b.quotedId ? -1 : 1),
  )
  const best = titles.map(({ title, quotedId }) => ({ title, quotedId }))
  return [...new Map(best.toReversed().map((one) => [one.title.toLowerCase(), one])).values()].toReversed()
}

/** How near the point is to the nearest of others, on average. */
function nearestOf(point: Point, others: readonly Point[]): number {
  const count = Math.min(others.length, Math.max(MIN_NEAREST, Math.ceil(NEAREST_SHARE * others.length)))
  const near = others.map((other) => likeness(point, other)).sort((a, b) => b - a)
  return near.slice(0, count).reduce((sum, one) => sum + one, 0) / Math.max(1, count)
}

/** The value that most have; several if as many have them. */
function mostFrequent<T>(values: readonly T[]): ReadonlySet<T> {
  const groups = [...Map.groupBy(values, (value) => value)]
  const most = Math.max(...groups.map(([, same]) => same.length))
  return new Set(groups.flatMap(([value, same]) => (same.length === most ? [value] : [])))
}

/** The first sentence that says something, cut to the length of a title; null if it shouts, or could name somebody or something of somebody's. */
export function sentenceOf(text: string, isKnown: (stem: string) => boolean): string | null {
  const sentences = text
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, 300)
    .split(/(?<=[.!?])\s/)
  const sentence = sentences.find((one) => stemsOf(one).length >= MIN_STEMS)
  const stems = sentence === undefined ? [] : stemsOf(sentence)
  if (sentence === undefined || redacted(sentence) !== sentence) return null
  if (/\p{N}{3}/u.test(sentence) || REMOVED.test(sentence) || isInCapitals(sentence)) return null
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
