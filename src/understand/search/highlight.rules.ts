/**
 * Passages with the words that were found. Pure.
 *
 * `ts_headline` sets private markers around the words of the index. They are moved to where these words stand in the text. A marker in the
 * customer's own text is removed before. So the text can be escaped as HTML as a whole, and only the markers become tags.
 */
import { atOnce, steppedThrough } from '../../platform/concurrency/steps.ts'
import type { Word } from '../../platform/text/words.rules.ts'

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
/** Words or marks of a step. */
const STEP = 1_000

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
export const headlineOf = (line: string, words: readonly Word[], headline: string): string =>
  atOnce(headlineInSteps(line, words, headline))

/** The same in small steps, for threads that answer requests. */
export function* headlineInSteps(
  line: string,
  words: readonly Word[],
  headline: string,
): Generator<void, string> {
  const found = headline.split(' ')
  yield
  const marked: Word[] = []
  yield* steppedThrough(words, STEP, (word, n) => {
    if (found[n]?.includes(START)) marked.push(word)
  })
  const marks = yield* joined(marked)
  if (line.length <= MAX_WHOLE) return withMarks(line, { start: 0, end: line.length }, marks)
  const fragments = yield* fragmentsOf(line, words, marks)
  const texts = fragments.map((fragment) => withMarks(line, fragment, marks))
  const before = fragments[0]?.start === 0 ? '' : '… '
  const after = fragments.at(-1)?.end === line.length ? '' : ' …'
  return `${before}${texts.join(' … ')}${after}`
}

/** Ranges in order that do not overlap. */
function* joined(words: readonly Word[]): Generator<void, readonly Range[]> {
  const ranges: Range[] = []
  const sorted = words.toSorted((a, b) => a.start - b.start)
  yield* steppedThrough(sorted, STEP, ({ start, end }) => {
    const last = ranges.at(-1)
    if (last === undefined || start >= last.end) ranges.push({ start, end })
    else if (end > last.end) ranges[ranges.length - 1] = { start: last.start, end }
  })
  return ranges
}

/** The parts of the text with the most marks, in order; without marks its beginning. */
function* fragmentsOf(
  line: string,
  words: readonly Word[],
  marks: readonly Range[],
): Generator<void, readonly Range[]> {
  const counts: { readonly mark: Range; readonly count: number }[] = []
  let last = 0
  yield* steppedThrough(marks, STEP, (mark, n) => {
    last = Math.max(last, n)
    while ((marks[last + 1]?.end ?? Number.POSITIVE_INFINITY) <= mark.start + FRAGMENT - BEFORE) last++
    counts.push({ mark, count: last - n + 1 })
  })
  counts.sort((a, b) => b.count - a.count)
  yield
  const chosen: Range[] = []
  for (const { mark } of counts) {
    if (chosen.length === FRAGMENTS) break
    if (!chosen.every((one) => Math.abs(mark.start - one.start) > 2 * FRAGMENT)) continue
    chosen.push(around(line, words, mark))
    yield
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
