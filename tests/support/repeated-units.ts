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

/** A text that is made when it is needed, because most are never needed in full. */
interface Repeated {
  readonly name: string
  /** Code units. */
  readonly length: number
  /** The text, cut to about `length` code units. */
  of(length: number): string
}

/**
 * For every unit, texts that begin with `start`: one of `length` code units. If the texts are short enough, one for
 * each ending.
 */
export function* repeated(length: number, start = ''): Generator<Repeated> {
  const wanted =
    length <= LONG
      ? ENDS.map((end) => ({ end, most: length }))
      : [{ end: '', most: length }, ...ENDS.map((end) => ({ end, most: LONG }))]
  for (const unit of UNITS) {
    for (const { end, most } of wanted) {
      const of = (size: number) => {
        const room = Math.max(0, size - start.length - end.length)
        return `${start}${unit.repeat(Math.ceil(room / unit.length)).slice(0, room)}${end}`
      }
      yield { name: JSON.stringify([start, unit, end]), length: most, of }
    }
  }
}

/** The part of a text that is tried first. */
const PART = 1 / 8

/**
 * Milliseconds of CPU that `read` takes for a text. An eighth of the text comes first: if it is so fast that even quadratic time
 * keeps the whole text within the bound, the whole is not tried. Time that grows faster shows in the eighth.
 */
export async function cpuMsOf(
  read: (text: string) => unknown,
  { length, of }: Repeated,
  boundMs: number,
): Promise<number> {
  const part = of(length * PART)
  const enoughMs = boundMs * PART ** 2
  if ((await cpuMs(() => read(part), enoughMs)) <= enoughMs) return 0
  const text = of(length)
  return cpuMs(() => read(text), boundMs)
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
