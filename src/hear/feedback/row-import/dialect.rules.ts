/** How a CSV file is written, judged by its beginning. Pure. */

const DELIMITERS = [',', ';', '\t', '|'] as const

export interface Dialect {
  readonly delimiter: string
  /** Old programs of the Mac end lines with a carriage return alone. */
  readonly hasReturns: boolean
  /** Bytes of a line `sep=;` in front of the header, which Excel reads and writes. */
  readonly skippedBytes: number
}

/**
 * The line that names the delimiter. A program that wrote the file again has put it in quotes, and delimiters behind it. What is behind it is
 * judged apart, because blanks and tabs may be delimiters.
 */
const SEP = /^("?) ?sep=([^"\r\n])\1([^\r\n]*)(?:\r\n|\r|\n)/i

function sepLine(head: string): { readonly line: string; readonly named: string | null } {
  const [line = '', , named = '', rest = ''] = SEP.exec(head) ?? []
  const isSep = line !== '' && [...rest].every((one) => one === ' ' || one === '\t' || one === named)
  return isSep ? { line, named } : { line: '', named: null }
}

/** `head`: the beginning of the file, without a byte order mark. `given`: a delimiter that is known. */
export function dialectOf(head: string, given: string | null): Dialect {
  const { line, named } = sepLine(head)
  const rest = head.slice(line.length)
  return {
    delimiter: given ?? named ?? guessDelimiter(rest),
    hasReturns: endOfLine(line === '' ? rest : line) === '\r',
    skippedBytes: Buffer.byteLength(line),
  }
}

/** The delimiter that occurs most often in the header, outside quotes. */
export function guessDelimiter(head: string): string {
  const counts = new Map<string, number>(DELIMITERS.map((one) => [one, 0]))
  for (const character of unquoted(head)) {
    if (character === '\n' || character === '\r') break
    const count = counts.get(character)
    if (count !== undefined) counts.set(character, count + 1)
  }
  return DELIMITERS.reduce((best, one) => ((counts.get(one) ?? 0) > (counts.get(best) ?? 0) ? one : best))
}

function endOfLine(head: string): '\r' | '\n' | '\r\n' | null {
  let previous = ''
  for (const character of unquoted(head)) {
    if (previous === '\r') return character === '\n' ? '\r\n' : '\r'
    if (character === '\n') return '\n'
    previous = character
  }
  return previous === '\r' ? '\r' : null
}

function* unquoted(head: string): Generator<string> {
  let isQuoted = false
  for (const character of head) {
    if (character === '"') isQuoted = !isQuoted
    if (!isQuoted) yield character
  }
}

/** Every column has a name. One without gets that of its place, such as `column_3`. */
export function namedColumns(header: readonly string[]): readonly string[] {
  const taken = new Set(header)
  return header.map((name, index) => {
    if (name !== '') return name
    let own = `column_${index + 1}`
    while (taken.has(own)) own = `${own}_`
    taken.add(own)
    return own
  })
}
