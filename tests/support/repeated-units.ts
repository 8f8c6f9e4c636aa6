/** Texts that slow down text tools: one unit repeated, alone or followed by something that prevents a match. */

const UNITS: readonly string[] = [
  ...['http://a.b/', '://', 'www.', 'a@b.c', '@', 'Zm9vYmFy', 'a', 'A', 'ab ', 'Az', 'a-', 'a_b', "a'", 'a.'],
  ...[' ', '\t', '\n', '\r\n', ' \n', '\u00a0', '\u2028', '\u3000', '  x', '\t0-', '0 '],
  ...[
    '.',
    '. ',
    'A. ',
    'Mr. ',
    '?! ',
    '.1 ',
    ') 1',
    '1',
    '1.',
    '1,',
    '0:',
    '00:00:00.000 --> ',
    '[00:00.000 --> ',
  ],
  ...[
    '"',
    "'",
    '""',
    '"a",',
    '\\',
    '\\"',
    '\\u0061',
    '`',
    '(',
    ')',
    '[',
    ']',
    '[]',
    '{',
    '}',
    '{{',
    '{{a}}',
    '{"a":',
  ],
  ...[
    '<',
    '>',
    '<v.',
    '<a',
    '<b>',
    '</',
    '&',
    '&amp;',
    '&lt',
    '-->',
    '-',
    '--',
    '#',
    '# ',
    '*',
    '**',
    '_',
    '|',
    '~',
  ],
  ...[
    '[a](',
    '](',
    '![',
    ', ',
    ',',
    ';',
    '; q=',
    '=',
    '=a',
    '/',
    '//',
    '%',
    '%2f',
    '%zz',
    '$1',
    '+',
    '!',
    ':',
    '::',
  ],
  ...['\u0301', 'e\u0301', '\u200d', '\ufe0f', '\u202e', '\u0000', '\ud800', '😀', '👨‍👩‍👧', '🇩🇪', '1\u20e3'],
  ...['是', '是。', 'ไทย', 'م', '각', '\u1100', 'ﬃ', 'ß', 'İ', '\ufdfa'],
]

/** What may follow the last unit. */
const ENDS: readonly string[] = ['', '!', '\u0000', '\n"', ' a']

/** Quadratic time is visible at this length, too. Longer texts are tried with one ending only. */
const LONG = 100_000

/**
 * For every unit, texts that begin with `start`: one of `length` code units. If the texts are short enough, one for
 * each ending.
 */
export function* repeated(
  length: number,
  start = '',
): Generator<{ readonly name: string; readonly text: string }> {
  const wanted =
    length <= LONG
      ? ENDS.map((end) => ({ end, most: length }))
      : [{ end: '', most: length }, ...ENDS.map((end) => ({ end, most: LONG }))]
  for (const unit of UNITS) {
    for (const { end, most } of wanted) {
      const room = Math.max(0, most - start.length - end.length)
      const text = `${start}${unit.repeat(Math.ceil(room / unit.length)).slice(0, room)}${end}`
      yield { name: JSON.stringify([start, unit, end]), text }
    }
  }
}

/**
 * Milliseconds of CPU that `work` takes. Measures this thread only, if the platform can. Takes the best of several
 * runs.
 */
export async function cpuMs(work: () => unknown, boundMs: number): Promise<number> {
  let best = Number.POSITIVE_INFINITY
  for (let attempt = 0; attempt < 3 && best > boundMs; attempt++) {
    const before = process.cpuUsage()
    const started = performance.now()
    await work()
    const { user, system } = process.cpuUsage(before)
    // Other threads of the process (garbage collection, compilation) also use CPU, so elapsed time is a second bound.
    best = Math.min(best, (user + system) / 1_000, performance.now() - started)
  }
  return best
}
