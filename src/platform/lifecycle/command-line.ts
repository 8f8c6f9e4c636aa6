/**
 * Splits a command line the way a shell does, but for everything a shell does besides: no variables, no patterns, no pipes.
 * Who needs those names a shell: `sh -c '…'`.
 */

/** @returns the words; null where a quote is open at the end, or where there are none */
export function splitCommandLine(line: string): readonly string[] | null {
  const words: string[] = []
  let rest = line.trimStart()
  while (rest !== '') {
    const found = WORD.exec(rest)
    if (found === null) return null
    words.push(unquote(found[0]))
    rest = rest.slice(found[0].length)
    // The word ends here only where a blank follows: else a quote is open, or a backslash escapes nothing.
    if (rest !== '' && !/^\s/.test(rest)) return null
    rest = rest.trimStart()
  }
  return words.length === 0 ? null : words
}

/** Parts of a word: in single quotes, in double quotes, an escaped character, anything else that is no blank. */
const WORD = /^(?:'[^']*'|"(?:[^"\\]|\\[\s\S])*"|\\[\s\S]|[^\s'"\\])+/
const PART = /'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\\([\s\S])|([^\s'"\\]+)/g

function unquote(word: string): string {
  return word.replaceAll(
    PART,
    (_, single?: string, double?: string, escaped?: string, plain?: string) =>
      // In double quotes a backslash is itself unless it escapes what has a meaning there (POSIX, 2.2.3).
      single ?? double?.replaceAll(/\\(["\\$`])/g, '$1') ?? escaped ?? plain ?? '',
  )
}
