/** Finds JSON in the output of transcription programs, which may print log lines beside it. Pure. */

/** Log lines may stand before JSON. More of them that begin like JSON are not tried, because each try reads all of the text. */
const MAX_TRIES = 3
/** `[music]` and `[00:00.000 --> 00:02.000]` are no JSON. */
const JSON_START = /^\s*(?:\{|\[\s*(?:[[{"]|$))/

/** The beginning of JSON that was cut off, where `findJson` finds none. */
const CUT_JSON = /^\s*(?:\[\s*)?\{\s*(?:"|$)/

export const isCutJson = (line: string): boolean => CUT_JSON.test(line)

/** JSON in the text, or a list of the objects where each line is one; undefined: there is none. */
export function findJson(text: string, lines: readonly string[]): unknown {
  const end = Math.max(text.lastIndexOf('}'), text.lastIndexOf(']')) + 1
  // What follows are log lines, but not the beginning of a line of JSON that was cut off.
  if (text.slice(end).trimStart().startsWith('{')) return undefined
  let start = 0
  let tries = 0
  for (const line of lines) {
    if (JSON_START.test(line)) {
      const value = parseJson(text.slice(start, end)) ?? (tries === 0 ? objectsOf(lines) : undefined)
      if (value !== undefined) return value
      if (++tries === MAX_TRIES) return undefined
    }
    start += line.length + 1
  }
  return undefined
}

/** Newline-delimited JSON: two or more lines are objects, and none only begins like one. */
function objectsOf(lines: readonly string[]): readonly unknown[] | undefined {
  const objects: unknown[] = []
  for (const line of lines) {
    if (!line.trimStart().startsWith('{')) continue
    const value = parseJson(line)
    if (value === undefined) return undefined
    objects.push(value)
  }
  return objects.length > 1 ? objects : undefined
}

/** Python's `json` writes numbers that JSON does not have. */
const NO_NUMBERS = /"(?:[^"\\]|\\.)*"?|-?\b(?:NaN|Infinity)\b/gs

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    if (!text.includes('NaN') && !text.includes('Infinity')) return undefined
  }
  try {
    return JSON.parse(text.replaceAll(NO_NUMBERS, (found) => (found.startsWith('"') ? found : 'null')))
  } catch {
    return undefined
  }
}
