/**
 * Passages with the words that were found. Pure.
 *
 * `ts_headline` sets private markers around them. A marker in the customer's own text is removed before. So the text can be escaped as
 * HTML as a whole, and only the markers become tags.
 */
import { foreignPunctuation, pairsOf, runsOf } from './passage.rules.ts'

/** Private-use characters. */
export const START = '\uE000'
export const END = '\uE001'

const MARKERS = `StartSel=${START}, StopSel=${END}`
const FRAGMENTS = `${MARKERS}, MaxFragments=2, MaxWords=30, MinWords=12, FragmentDelimiter=" … "`
const WHOLE = `${MARKERS}, HighlightAll=true`
/** A text of at most so many code units is shown as a whole. */
const MAX_WHOLE = 300

/** A text for `ts_headline`, its options, and how its result becomes text again. */
export interface Highlight {
  readonly text: string
  readonly options: string
  restore(headline: string): string
}

/** Characters that `plainLine` leaves no text with, and that PostgreSQL takes for punctuation. */
const STAND_INS = Array.from({ length: 8 }, (_, index) => String.fromCharCode(1 + index))

/**
 * Punctuation beyond ASCII is replaced by characters that PostgreSQL takes for punctuation in every locale, and restored in the result. The
 * rarer kinds of a text with many are left as they are.
 * @param line a text of `plainLine`
 */
export function highlightOf(line: string): Highlight {
  const options = line.length <= MAX_WHOLE ? WHOLE : FRAGMENTS
  const replaced = foreignPunctuation(line).slice(0, STAND_INS.length)
  const text = replaced.reduce((all, one, index) => all.replaceAll(one, STAND_INS[index] ?? ' '), line)
  const restore = (headline: string) =>
    replaced.reduce((all, one, index) => all.replaceAll(STAND_INS[index] ?? ' ', one), headline)
  return { text, options, restore }
}

/** The text on one line, without characters that mean something here. */
export const plainLine = (text: string): string =>
  text
    .replaceAll(/[\uE000\uE001]/g, '')
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim()

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** HTML with `<mark>` as the only tag. */
export function toHtml(headline: string): string {
  return balanced(headline)
    .replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
    .replaceAll(START, '<mark>')
    .replaceAll(END, '</mark>')
}

/** The words without marks. */
export const toText = (headline: string): string => headline.replaceAll(/[\uE000\uE001]/g, '')

/** Each start is followed by one end. */
function balanced(headline: string): string {
  let isOpen = false
  const kept = headline.replaceAll(/[\uE000\uE001]/g, (marker) => {
    const fits = (marker === START) !== isOpen
    if (fits) isOpen = !isOpen
    return fits ? marker : ''
  })
  return isOpen ? `${kept}${END}` : kept
}

const BEFORE = 60
const LENGTH = 200

/**
 * The text around Chinese or Japanese words of the search, which PostgreSQL cannot mark.
 * @param text on one line
 * @returns null if the search has none that occurs in the text
 */
export function markRuns(text: string, query: string): string | null {
  const runs = runsOf(query)
  const wanted = [...runs, ...runs.flatMap(pairsOf)].filter((run) => text.includes(run))
  const [first] = wanted
  if (first === undefined) return null
  const characters = [...text]
  const at = [...text.slice(0, text.indexOf(first))].length
  const start = Math.max(0, at - BEFORE)
  const part = characters.slice(start, start + LENGTH).join('')
  // An alternation takes the first match, so whole runs come before their pairs.
  const marked = part.replaceAll(new RegExp(wanted.join('|'), 'gu'), (run) => `${START}${run}${END}`)
  return `${start > 0 ? '… ' : ''}${marked}${start + LENGTH < characters.length ? ' …' : ''}`
}
