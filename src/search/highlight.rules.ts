/**
 * Passages with the words that were found. Pure.
 *
 * `ts_headline` sets private markers around the words of the index. They are moved to where these words stand in the text. A marker in the
 * customer's own text is removed before. So the text can be escaped as HTML as a whole, and only the markers become tags.
 */
import type { Word } from '../platform/text/words.rules.ts'

/** Private-use characters. */
export const START = '\uE000'
export const END = '\uE001'

/** For `ts_headline`. */
export const HEADLINE_OPTIONS = `StartSel=${START}, StopSel=${END}, HighlightAll=true`
/** A text of at most so many code units is shown as a whole, else at most so many fragments. */
const MAX_WHOLE = 300
const FRAGMENTS = 2
const FRAGMENT = 180
/** Of the text before the first mark of a fragment. */
const BEFORE = 50

/** The text on one line, without characters that mean something here. */
export const plainLine = (text: string): string =>
  text
    .replaceAll(/[\uE000\uE001]/g, '')
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim()

interface Range {
  readonly start: number
  readonly end: number
}

/**
 * The text with its words marked, or the parts of it that have marks.
 * @param line a text of `plainLine`
 * @param words its words, at least those in the beginning
 * @param headline what `ts_headline` makes of `textOf(words)`
 */
export function headlineOf(line: string, words: readonly Word[], headline: string): string {
  const found = headline.split(' ')
  const marks = joined(words.filter((_, n) => found[n]?.includes(START)))
  if (line.length <= MAX_WHOLE) return withMarks(line, { start: 0, end: line.length }, marks)
  const fragments = fragmentsOf(line, words, marks)
  const texts = fragments.map((fragment) => withMarks(line, fragment, marks))
  const before = fragments[0]?.start === 0 ? '' : '… '
  const after = fragments.at(-1)?.end === line.length ? '' : ' …'
  return `${before}${texts.join(' … ')}${after}`
}

/** Ranges in order that do not overlap. */
function joined(words: readonly Word[]): readonly Range[] {
  const ranges: Range[] = []
  for (const { start, end } of words.toSorted((a, b) => a.start - b.start)) {
    const last = ranges.at(-1)
    if (last === undefined || start >= last.end) ranges.push({ start, end })
    else if (end > last.end) ranges[ranges.length - 1] = { start: last.start, end }
  }
  return ranges
}

/** The parts of the text with the most marks, in order; without marks its beginning. */
function fragmentsOf(line: string, words: readonly Word[], marks: readonly Range[]): readonly Range[] {
  const counts = marks.map((mark, n) => {
    let last = n
    while ((marks[last + 1]?.end ?? Number.POSITIVE_INFINITY) <= mark.start + FRAGMENT - BEFORE) last++
    return { mark, count: last - n + 1 }
  })
  const chosen: Range[] = []
  for (const { mark } of counts.toSorted((a, b) => b.count - a.count)) {
    if (chosen.length === FRAGMENTS) break
    if (chosen.every((one) => Math.abs(mark.start - one.start) > 2 * FRAGMENT))
      chosen.push(around(line, words, mark))
  }
  if (chosen.length === 0) return [around(line, words, { start: 0, end: 0 })]
  return chosen.toSorted((a, b) => a.start - b.start)
}

/** From the beginning of a word to the end of one, where there are words. */
function around(line: string, words: readonly Word[], mark: Range): Range {
  const from = mark.start - BEFORE
  const to = Math.max(mark.end, Math.max(from, 0) + FRAGMENT)
  let start = mark.start
  let end = mark.end
  for (const word of words) {
    if (word.start >= from && word.start < start) start = word.start
    if (word.end <= to && word.end > end) end = word.end
  }
  return { start: from <= 0 ? 0 : start, end: to >= line.length ? line.length : end }
}

function withMarks(line: string, { start, end }: Range, marks: readonly Range[]): string {
  let text = ''
  let written = start
  for (const mark of marks) {
    if (mark.start < start || mark.end > end) continue
    text += `${line.slice(written, mark.start)}${START}${line.slice(mark.start, mark.end)}${END}`
    written = mark.end
  }
  return text + line.slice(written, end)
}

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
