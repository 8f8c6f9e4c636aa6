/**
 * What counts of an answer that a model wrote. Pure, linear.
 *
 * A sentence counts if it quotes passages word for word. A model that obeys a text in a passage can at most say, with the number of that
 * passage, what stands in it.
 */
import { findQuotation } from '../../analysis/analyze/quotation.rules.ts'
import { abridge } from '../../analysis/analyze/text.ts'

export interface WrittenSentence {
  readonly text: string
  readonly quotes: readonly { readonly passage: number; readonly words: string }[]
}

export interface AnsweredSentence {
  readonly text: string
  /** Numbers of passages, from 1, ascending. */
  readonly passages: readonly number[]
}

const MAX_SENTENCES = 8
const MAX_QUOTES = 8
/** In code points. */
export const MAX_SENTENCE = 400
/** In code units. One short word stands in every passage. */
const MIN_WORDS = 8

/**
 * The sentences that quote what they say, in their order.
 * @param passages the texts that the model got, the first with the number 1
 */
export function quotedSentences(
  written: readonly WrittenSentence[],
  passages: readonly string[],
): readonly AnsweredSentence[] {
  return written.slice(0, MAX_SENTENCES).flatMap(({ text, quotes }) => {
    const line = abridge(text, MAX_SENTENCE)
    const numbers = quotes
      .slice(0, MAX_QUOTES)
      .filter(({ passage, words }) => isQuoted(passages[passage - 1], words))
      .map(({ passage }) => passage)
    const cited = [...new Set(numbers)].toSorted((a, b) => a - b)
    if (cited.length === 0 || !isOneSentence(line)) return []
    const known = cited.map((number) => passages[number - 1] ?? '')
    return hasForeignAddress(line, known) ? [] : [{ text: line, passages: cited }]
  })
}

/** A whole passage may be shorter. */
function isQuoted(passage: string | undefined, words: string): boolean {
  if (passage === undefined || words.trim().length < Math.min(MIN_WORDS, passage.trim().length)) return false
  return findQuotation(passage, words) !== null
}

const WORD = /[\p{L}\p{N}]/u

/** Each sentence needs quotations of its own. Without words it says nothing. */
function isOneSentence(line: string): boolean {
  const segments = new Intl.Segmenter('en', { granularity: 'sentence' }).segment(line)
  let count = 0
  for (const { segment } of segments) if (WORD.test(segment)) count++
  return count === 1
}

/** Somebody could be led to an address of the web or of mail, also to one without `https://`. */
const hasForeignAddress = (line: string, passages: readonly string[]): boolean =>
  line
    .split(' ')
    .map(withoutPunctuation)
    .some((word) => isAddress(word) && !passages.some((passage) => passage.includes(word)))

const isAddress = (word: string): boolean => /:\/\/|@|\.\p{L}\p{L}/u.test(word)

const EDGE = /[\p{P}\p{S}]/u

/** Without the marks around a word. */
function withoutPunctuation(word: string): string {
  const characters = [...word]
  const isEdge = (index: number) => EDGE.test(characters[index] ?? '')
  let [from, to] = [0, characters.length]
  while (from < to && isEdge(from)) from++
  while (to > from && isEdge(to - 1)) to--
  return characters.slice(from, to).join('')
}
