/**
 * Trimming of other characters than white space. Linear: a regular expression such as `/\/+$/` looks at every character of a run again
 * for each place where the run could begin.
 */

/** `text` without the characters of `trimmed` at its end. */
export function trimEndOf(text: string, trimmed: string): string {
  let end = text.length
  while (end > 0 && trimmed.includes(text[end - 1]!)) end--
  return text.slice(0, end)
}

/** `text` without the characters of `trimmed` at both ends. */
export function trimOf(text: string, trimmed: string): string {
  const rest = trimEndOf(text, trimmed)
  let start = 0
  while (start < rest.length && trimmed.includes(rest[start]!)) start++
  return rest.slice(start)
}

/** The lines of `text` on one, with a space between them; without white space at the ends of lines, and without blank lines. */
export function joinLines(text: string): string {
  if (!text.includes('\n')) return text
  const lines = text.split('\n').map((line) => line.trim())
  return lines.filter((line) => line !== '').join(' ')
}
