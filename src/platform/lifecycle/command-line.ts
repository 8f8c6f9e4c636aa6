/**
 * Splits a command line into words as a shell does, without variables, patterns or pipes. A setting that needs them names a shell:
 * `sh -c '…'`.
 */

/** @returns the words; null if a quote is not closed or there is no word */
export function splitCommandLine(line: string): readonly string[] | null {
  const words: string[] = []
  let rest = line.trimStart()
  while (rest !== '') {
    const found = WORD.exec(rest)
    if (found === null) return null
    words.push(unquote(found[0]))
    rest = rest.slice(found[0].length)
    // A word ends before white space. Otherwise a quote is not closed, or a backslash at the end escapes nothing.
    if (rest !== '' && !/^\s/.test(rest)) return null
    rest = rest.trimStart()
  }
  return words.length === 0 ? null : words
}

/** Parts of a word: in single quotes, in double quotes, an escaped character, or any other text without white space. */
const WORD = /^(?:'[^']*'|"(?:[^"\\]|\\[\s\S])*"|\\[\s\S]|[^\s'"\\])+/
const PART = /'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\\([\s\S])|([^\s'"\\]+)/g

function unquote(word: string): string {
  return word.replaceAll(
    PART,
    (_, single?: string, double?: string, escaped?: string, plain?: string) =>
      // In double quotes a backslash escapes only characters with a special meaning there (POSIX, 2.2.3).
      single ?? double?.replaceAll(/\\(["\\$`])/g, '$1') ?? escaped ?? plain ?? '',
  )
}
