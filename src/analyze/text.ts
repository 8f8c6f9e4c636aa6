/** Text of conversations as analysers see it: plain, bounded, and safe to store. Pure. */

/** Code units of one message that an analyser reads. What matters of a longer one is at its beginning. */
export const MAX_TEXT = 4_000

/** Code units without white space between them that a tokenizer is given in one piece: few addresses are longer. */
const MAX_RUN = 100

/** Code points of a quotation. */
const MAX_QUOTE = 160

/** How deep message parts are followed. */
const MAX_DEPTH = 8

/**
 * The words of a message: a string as it is, of structured parts the texts among them, one a line.
 * Tool calls and other parts without text have no words.
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
 * A text that a tokenizer reads in linear time: cut to `MAX_TEXT`, and every run without white space cut to 100 code units, with
 * an ellipsis in place of the rest. Tokenizers try many patterns at every position of a run, which takes quadratic time.
 */
export function boundTokens(text: string): string {
  return text
    .slice(0, MAX_TEXT)
    .replace(/\S+/g, (run) => (run.length > MAX_RUN ? `${run.slice(0, MAX_RUN)}…` : run))
    .toWellFormed()
}

/** A quotation that PostgreSQL can store and a list can show: one line, no control characters, at most 160 code points. */
export function quote(text: string): string {
  return abridge(text, MAX_QUOTE)
}

/** One line of at most `most` code points, without control characters; what is cut off leaves an ellipsis. */
export function abridge(text: string, most: number): string {
  const line = text
    .toWellFormed()
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim()
  const points = Array.from(line)
  return points.length <= most ? line : `${points.slice(0, most - 1).join('')}…`
}
