/**
 * Splits texts into sentences by the rules of Unicode (UAX #29), which take linear time and cover all languages. Pure.
 */

const SEGMENTER = new Intl.Segmenter('en', { granularity: 'sentence' })

/** Ends with a full stop that does not end a sentence. */
const ABBREVIATION = /(?:^|[\s("'])(?:Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|vs|approx|e\.g|i\.e)\.$/

/** UTF-16 code units at the end of a passage in which an abbreviation is looked for. */
const LOOK_BACK = 12

/** UTF-16 code units that are read of all texts together: a conversation of four hours. */
const MAX_READ = 200_000

/** The non-empty sentences of a text in order, without white space around them. */
export function splitSentences(text: string): readonly string[] {
  const sentences: string[] = []
  let start = 0
  let end = 0
  for (const { segment } of SEGMENTER.segment(text)) {
    end += segment.length
    if (ABBREVIATION.test(text.slice(Math.max(start, end - LOOK_BACK), end).trimEnd())) continue
    push(sentences, text.slice(start, end))
    start = end
  }
  push(sentences, text.slice(start, end))
  return sentences
}

function push(sentences: string[], sentence: string): void {
  const trimmed = sentence.trim()
  if (trimmed !== '') sentences.push(trimmed)
}

/**
 * The sentences of all texts in order. If the texts are longer than `MAX_READ` together, an even selection of them is used.
 */
export function splitAll(texts: readonly string[]): readonly string[] {
  return spread(texts).flatMap((text) => splitSentences(text))
}

/** As many texts as fit into `MAX_READ`, spread evenly over all of them. */
function spread(texts: readonly string[]): readonly string[] {
  const total = texts.reduce((sum, { length }) => sum + length, 0)
  if (total <= MAX_READ) return texts
  const kept: string[] = []
  let seen = 0
  let read = 0
  for (const text of texts) {
    // A text is due when the part that was read lags behind the part that was seen.
    if (read <= (seen / total) * MAX_READ) {
      kept.push(text.slice(0, MAX_READ - read))
      read += text.length
    }
    seen += text.length
    if (read >= MAX_READ) break
  }
  return kept
}
