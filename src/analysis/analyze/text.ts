/** Texts for analysers: plain, bounded and safe to store. Pure. */

/** UTF-16 code units of a message that an analyser reads. The beginning of a longer message is enough. */
export const MAX_TEXT = 4_000

/** Longest run without white space that a tokenizer receives, in UTF-16 code units. Few addresses are longer. */
const MAX_RUN = 100

/** Maximum length of a quotation in code points. */
const MAX_QUOTE = 160

/** Nesting depth to which message parts are read. */
const MAX_DEPTH = 8

/**
 * The words of a message: a plain string, or the texts of its structured parts, one a line. Tool calls and other parts without
 * text have none.
 */
export function textOf(content: unknown): string {
  const lines: string[] = []
  collect(content, lines, 0)
  return lines.join('\n').slice(0, MAX_TEXT).toWellFormed().trim()
}

function collect(content: unknown, lines: string[], depth: number): void {
  if (typeof content === 'string') {
    if (content.trim() !== '') lines.push(content)
    return
  }
  if (typeof content !== 'object' || content === null || depth >= MAX_DEPTH) return
  if (Array.isArray(content)) {
    for (const part of content) collect(part, lines, depth + 1)
    return
  }
  for (const name of ['text', 'content', 'parts']) {
    if (Object.hasOwn(content, name)) {
      collect((content as Readonly<Record<string, unknown>>)[name], lines, depth + 1)
      return
    }
  }
}

/**
 * A text that a tokenizer reads in linear time: cut to `MAX_TEXT`, with every run without white space cut to 100 code units and
 * an ellipsis. Tokenizers try many patterns at every position of a run, which takes quadratic time.
 */
export function boundTokens(text: string): string {
  return text
    .slice(0, MAX_TEXT)
    .replace(/\S+/g, (run) => (run.length > MAX_RUN ? `${run.slice(0, MAX_RUN)}…` : run))
    .toWellFormed()
}

/** A quotation for storage and lists: one line, no control characters, at most 160 code points. */
export function quote(text: string): string {
  return abridge(text, MAX_QUOTE)
}

/** One line of at most `most` code points, without control characters. An ellipsis marks a cut. */
export function abridge(text: string, most: number): string {
  const line = text
    .toWellFormed()
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim()
  const points = Array.from(line)
  return points.length <= most ? line : `${points.slice(0, most - 1).join('')}…`
}
