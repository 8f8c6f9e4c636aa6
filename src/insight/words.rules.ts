/** Words of a search, and the part of a text around them. Pure. */

const WORD = /[\p{L}\p{N}][\p{L}\p{M}\p{N}'’_-]*/gu
const MAX_WORDS = 8

/** The words of a search in lower case, without repetitions, at most 8. */
export function wordsOf(query: string): readonly string[] {
  return [...new Set([...query.toLowerCase().matchAll(WORD)].map(([word]) => word))].slice(0, MAX_WORDS)
}

/** Patterns of SQL's `like`: texts in lower case that contain a word. */
export function patternsOf(words: readonly string[]): readonly string[] {
  return words.map((word) => `%${word.replaceAll(/[\\%_]/g, '\\$&')}%`)
}

const BEFORE = 80

/** About `length` characters of the text, starting shortly before the first of the words. */
export function excerptOf(text: string, words: readonly string[], length: number): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  if (line.length <= length) return line
  const lower = line.toLowerCase()
  const places = words.map((word) => lower.indexOf(word)).filter((place) => place !== -1)
  const first = places.length === 0 ? 0 : Math.min(...places)
  const start = wordStart(line, Math.max(0, Math.min(first - BEFORE, line.length - length)))
  const end = start + length >= line.length ? line.length : wordEnd(line, start + length)
  return `${start > 0 ? '…' : ''}${line.slice(start, end)}${end < line.length ? '…' : ''}`
}

function wordStart(line: string, at: number): number {
  if (at === 0) return 0
  const space = line.indexOf(' ', at)
  return space === -1 || space > at + 40 ? whole(line, at) : space + 1
}

function wordEnd(line: string, at: number): number {
  const space = line.lastIndexOf(' ', at)
  return space < at - 40 ? whole(line, at) : space
}

/** Not between the halves of a surrogate pair. */
function whole(line: string, at: number): number {
  const code = line.charCodeAt(at)
  return code >= 0xdc_00 && code <= 0xdf_ff ? at - 1 : at
}
