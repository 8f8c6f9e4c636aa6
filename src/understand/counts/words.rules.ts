/** The part of a text around words. Pure. */

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
