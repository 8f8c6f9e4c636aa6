/**
 * Trims characters other than white space, in linear time. A regular expression such as `/\/+$/` takes quadratic time, because it
 * reads a run of characters again from each of its characters.
 */

/** `text` without the characters in `trimmed` at its end. */
export function trimEndOf(text: string, trimmed: string): string {
  let end = text.length
  while (end > 0 && trimmed.includes(text[end - 1]!)) end--
  return text.slice(0, end)
}

/** `text` without the characters in `trimmed` at both ends. */
export function trimOf(text: string, trimmed: string): string {
  const rest = trimEndOf(text, trimmed)
  let start = 0
  while (start < rest.length && trimmed.includes(rest[start]!)) start++
  return rest.slice(start)
}

/** Joins the lines of `text` with spaces. Omits blank lines and white space at the ends of lines. */
export function joinLines(text: string): string {
  if (!text.includes('\n')) return text
  const lines = text.split('\n').map((line) => line.trim())
  return lines.filter((line) => line !== '').join(' ')
}
