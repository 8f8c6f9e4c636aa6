/**
 * Redacts members by name in text that is or contains JSON, such as the arguments of a tool call.
 *
 * The text is not parsed. Every quoted name that a colon follows counts as a member. So JSON that is cut off or surrounded by other
 * words is redacted too, and the rest of the text stays unchanged. JSON within a string of JSON has its quotes escaped once more:
 * `\"`, then `\\\"`. The number of backslashes shows the level of a quote, up to `MAX_LEVEL`.
 * The time is linear, because every character is visited once.
 */

/** Deepest level of JSON within strings of JSON. */
const MAX_LEVEL = 3
/** In UTF-16 code units as written. Settings cannot contain longer names. */
const MAX_NAME = 255 * 6 * 2 ** MAX_LEVEL

/** The number of backslashes before a quote, by level. */
const ESCAPES = Array.from({ length: MAX_LEVEL + 1 }, (_, level) => 2 ** level - 1)

/**
 * The text with the values of hidden names replaced. Returns the text itself where it has no hidden name.
 * @param replacement a text without quotes and backslashes
 */
export function redactNamesInText(
  text: string,
  hides: (name: string) => boolean,
  replacement: string,
): string {
  let result = ''
  let written = 0
  for (let open = text.indexOf('"'); open !== -1; ) {
    const close = text.indexOf('"', open + 1)
    if (close === -1) break
    const value = hiddenValue(text, open, close, hides)
    if (value === null) {
      open = close
      continue
    }
    const quote = `${'\\'.repeat(value.escapes)}"`
    result += `${text.slice(written, value.start)}${quote}${replacement}${quote}`
    written = value.end
    open = text.indexOf('"', written)
  }
  return written === 0 ? text : result + text.slice(written)
}

interface Value {
  readonly start: number
  readonly end: number
  /** Backslashes before each of its quotes. */
  readonly escapes: number
}

/** The value of the name between two quotes; null where the text there is no name, is not hidden, or has no value. */
function hiddenValue(
  text: string,
  open: number,
  close: number,
  hides: (name: string) => boolean,
): Value | null {
  const escapes = backslashesBefore(text, open)
  if (!ESCAPES.includes(escapes) || backslashesBefore(text, close) !== escapes) return null
  const colon = skipSpace(text, close + 1)
  if (text[colon] !== ':' || close - open > MAX_NAME) return null
  if (!hides(decoded(text.slice(open + 1, close - escapes)))) return null
  const start = skipSpace(text, colon + 1)
  const end = endOfValue(text, start, escapes)
  return end > start ? { start, end, escapes } : null
}

function backslashesBefore(text: string, position: number): number {
  let count = 0
  while (text[position - 1 - count] === '\\') count++
  return count
}

function skipSpace(text: string, from: number): number {
  let position = from
  while (position < text.length && /\s/.test(text[position] as string)) position++
  return position
}

/** Decodes a name whose characters may be written as escapes, of any level. */
function decoded(name: string): string {
  if (!name.includes('\\')) return name
  // Matches start at the first backslash of a run only. Starting at each backslash would take quadratic time.
  return name.replaceAll(/(?<!\\)\\+u([0-9a-fA-F]{4})/g, (_, code) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  )
}

/** The end of the value that starts here: at the latest the end of the text. */
function endOfValue(text: string, start: number, escapes: number): number {
  if (text[start + escapes] === '"' && backslashesBefore(text, start + escapes) === escapes)
    return endOfString(text, start + escapes, escapes).end
  if (text[start] === '{' || text[start] === '[') return endOfBrackets(text, start, escapes)
  const end = /[\s,}\]"\\]/g
  end.lastIndex = start
  return end.exec(text)?.index ?? text.length
}

/** `isClosed`: the string ends with its own quote. Otherwise a surrounding string or the text ends first. */
function endOfString(text: string, open: number, escapes: number): { end: number; isClosed: boolean } {
  // A quote within the string has twice as many backslashes and one more.
  const period = 2 * (escapes + 1)
  for (let quote = text.indexOf('"', open + 1); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    const rest = backslashesBefore(text, quote) % period
    if (rest === escapes) return { end: quote + 1, isClosed: true }
    if (rest !== period - 1) return { end: quote - (rest % (escapes + 1)), isClosed: false }
  }
  return { end: text.length, isClosed: false }
}

function endOfBrackets(text: string, start: number, escapes: number): number {
  const mark = /["{}[\]]/g
  mark.lastIndex = start
  let depth = 0
  for (let found = mark.exec(text); found !== null; found = mark.exec(text)) {
    if (found[0] === '"') {
      // The quote ends a surrounding string, so the value is cut off.
      const before = backslashesBefore(text, found.index)
      if (before < escapes) return found.index - before
      const { end, isClosed } = endOfString(text, found.index, escapes)
      if (!isClosed) return end
      mark.lastIndex = end
    } else {
      depth += found[0] === '{' || found[0] === '[' ? 1 : -1
      if (depth === 0) return found.index + 1
    }
  }
  return text.length
}
