/** The rules of the search: what is indexed, what a search text asks, and how passages are marked. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { visibleText } from '../../src/hear/agents/events/visibility.ts'
import { wordsOf } from '../../src/platform/text/words.rules.ts'
import {
  END,
  headlineOf,
  plainLine,
  START,
  toHtml,
  toText,
} from '../../src/understand/search/highlight.rules.ts'
import {
  configurationOf,
  fieldPassages,
  indexedText,
  MAX_PASSAGE,
  speechPassages,
} from '../../src/understand/search/passage.rules.ts'
import {
  anyOf,
  marked,
  parsedOf,
  queryText,
  searchTextOf,
  textsOf,
  withSimilar,
  wordsIn,
} from '../../src/understand/search/query.rules.ts'
import { utterance } from '../support/recordings.ts'

describe('a search text', () => {
  const spelled = (query: string) => {
    const { groups, excluded } = searchTextOf(query)
    const of = (terms: (typeof groups)[number]) =>
      terms.map(({ spellings }) =>
        spellings.map(({ text, last }) => (last === '' ? text : `${text}*`)).join('|'),
      )
    return [groups.map(of), of(excluded)]
  }
  test.each([
    ['invoice export', [['invoice', 'export*']], []],
    ['"late invoice', [['late invoice']], []],
    ['a or -b', [['a']], ['b']],
    ['a or b c', [['a'], ['b', 'c']], []],
    ['-b --c', [], ['b', 'c']],
    ['or', [], []],
    ['! - " "', [], []],
    ['“late” invoice', [['late', 'invoice*']], []],
    ['請求書', [['請求 求書']], []],
    ['-導出 CSVを出力', [['csv を出 出力']], ['導出']],
    ['5月', [['5 月*']], []],
    ['A社員B', [['a 社員 員 b']], []],
    ['社', [['社*']], []],
    ['an', [['an']], []],
    ['réglée', [['réglée*|reglee*']], []],
    ['e-mail', [['e mail*|email']], []],
    ['login/logout now', [['login logout', 'now*']], []],
    ['＂ｌａｔｅ　invoice＂', [['late invoice']], []],
  ])('%s', (query, groups, excluded) => {
    expect(spelled(query)).toEqual([groups, excluded])
  })

  test('is bounded', () => {
    const { groups } = searchTextOf('\uFDFA '.repeat(100))
    expect(groups[0]).toHaveLength(64)
  })
})

describe('a query', () => {
  const parsed = (query: string, lexemes: Readonly<Record<string, string>>) => {
    const text = searchTextOf(query)
    return parsedOf(
      text,
      'english',
      textsOf(text).map((one) => lexemes[one] ?? ''),
    )
  }

  test('lets its last word go on, if it is no stop word', () => {
    expect(queryText(parsed('late invoices', { late: "'late'", invoices: "'invoic'" }))).toBe(
      "'late' & 'invoic':*",
    )
    expect(queryText(parsed('late the', { late: "'late'" }))).toBe("'late'")
    expect(parsed('the', {}).groups).toEqual([])
  })

  test('has the spellings of a word as alternatives, alternatives as such, and excludes from all of them', () => {
    expect(queryText(parsed('réglée x', { réglée: "'regl'", reglee: "'regle'", x: "'x'" }))).toBe(
      "( 'regl' | 'regle' ) & 'x'",
    )
    expect(queryText(parsed('a or b c -d', { a: "'a'", b: "'b'", c: "'c'", d: "'d'" }))).toBe(
      "( 'a' | 'b' & 'c' ) & !( 'd' )",
    )
  })

  test('has the mark of the organization before each word', () => {
    const id = '01890a5d-ac96-774b-bcce-b302099a8057'
    expect(marked("'it''s' <-> 'b' | 'c':*", id)).toBe("'9a8057it''s' <-> '9a8057b' | '9a8057c':*")
    expect(anyOf(["'a'", "'a'", "'b' & 'c'"])).toBe("( 'a' ) | ( 'b' & 'c' )")
  })

  test('gets similar words in place of unknown ones, unless another spelling is known', () => {
    const units = [["'it''s'"], ["'b\\\\' <-> 'late':*"], ["'late'", "'known'"]]
    const query = { configuration: 'english', groups: [units], excluded: [], parts: units }
    expect(units.flat().flatMap(wordsIn)).toEqual(["it's", 'b\\', 'late', 'late', 'known'])
    const { groups, parts } = withSimilar(query, new Map([['late', ['lute', "l'até"]]]))
    expect(groups).toEqual([parts])
    expect(parts).toEqual([["'it''s'"], ["'b\\\\' <-> ( 'lute' | 'l''até' )"], ["'late'", "'known'"]])
  })
})

describe('a passage', () => {
  test('has the same words whether its letters are composed or not', () => {
    const different: string[] = []
    const texts = (text: string) => wordsOf(text).map((word) => word.text)
    for (let code = 0xa0; code < 0xd800; code++) {
      const letter = String.fromCharCode(code)
      for (const text of [letter, `${letter}${letter}`, `a${letter}\u0301`, `я${letter}`, `가${letter}ي`])
        if (!Bun.deepEquals(texts(text.normalize('NFC')), texts(text.normalize('NFD')))) different.push(text)
    }
    expect(different).toEqual([])
  })

  test('is indexed in the configuration of its language', () => {
    expect(['en', 'de', 'fr', 'es', 'pt', 'nl', 'ja', 'ru'].map(configurationOf)).toEqual([
      'english',
      'german',
      'french',
      'spanish',
      'portuguese',
      'dutch',
      'simple',
      'simple',
    ])
    expect(configurationOf(null)).toBeNull()
  })

  test('has pairs in place of Chinese and Japanese words, and no punctuation', () => {
    expect(indexedText('CSVを出力。“Ja”…')).toBe('csv を出 出力 力 ja')
  })

  test('property: no run is too long for an index, and no text', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 50 }),
        fc.integer({ min: 1, max: 600 }),
        (part, times) => {
          const text = indexedText(part.repeat(times))
          expect(text.isWellFormed()).toBe(true)
          for (const run of text.split(/\s+/)) expect(Buffer.byteLength(run)).toBeLessThan(2_000)
          expect(text.length).toBeLessThanOrEqual(10 * MAX_PASSAGE)
        },
      ),
    )
  })

  test('of feedback is a text field that is the feedback itself', () => {
    const field = (category: string, value: unknown) =>
      ({ category, type: 'string', name: 'x', value }) as never
    expect(
      fieldPassages([
        field('metadata', 'a'),
        field('content', 'b'),
        field('content', 7),
        field('content', ' '),
      ]),
    ).toEqual([{ place: 1, text: 'b' }])
  })

  test('of speech lasts a minute and is at most 20,000 characters', () => {
    const long = 'x'.repeat(15_000)
    const spoken = [
      utterance(0, 5),
      utterance(59, 70),
      utterance(60, 61),
      utterance(90, 91, 0, long),
      utterance(91, 92, 0, long),
    ]
    expect(
      speechPassages(spoken).map(({ place, lastPlace, startSec }) => [place, lastPlace, startSec]),
    ).toEqual([
      [0, 1, 0],
      [2, 3, 60],
      [4, 4, 91],
    ])
  })

  test('of a message has its visible parts only', () => {
    const content = [
      { type: 'text', text: 'a' },
      { type: 'thinking', text: 'hidden' },
      { type: 'tool_result', content: [{ type: 'text', text: 'hidden' }] },
      { content: [{ text: 'b' }, 'c'] },
    ]
    expect(visibleText(content, 100)).toBe('a\nb\nc')
    expect(visibleText('abcdef', 3)).toBe('abc')
    expect(visibleText({ type: 'image', url: 'x' }, 100)).toBe('')
  })
})

describe('a marked passage', () => {
  test('property: mark is the only tag, whatever the text', () => {
    const text = fc.string({
      unit: fc.constantFrom('<', '>', '&', '"', "'", START, END, 'a', ' ', '<mark>', '</mark>'),
    })
    fc.assert(
      fc.property(text, (headline) => {
        const html = toHtml(headline)
        const rest = html.replaceAll(/<mark>[^<]*<\/mark>/g, '')
        expect(rest).not.toMatch(/[<>"']/)
        expect(toText(headline)).not.toMatch(/[\uE000\uE001]/)
      }),
    )
  })

  /** As `ts_headline` marks the words. */
  const headline = (line: string, found: readonly string[]) => {
    const words = wordsOf(line)
    const marked = words.map(({ text }) => (found.includes(text) ? `${START}${text}${END}` : text))
    return headlineOf(line, words, marked.join(' '))
  }

  test('has the words of the text marked, however they are written there', () => {
    const line = 'Carte réglée'.normalize('NFD')
    expect(headline(line, ['reglee'])).toBe(`Carte ${START}${'réglée'.normalize('NFD')}${END}`)
    expect(headline('ＦＵＬＬ broken.Please', ['full', 'please'])).toBe(
      `${START}ＦＵＬＬ${END} broken.${START}Please${END}`,
    )
    expect(headline('An e-mail', ['email'])).toBe(`An ${START}e-mail${END}`)
    expect(headline('請求書のエクスポート', ['エク', 'クス', 'スポ', 'ポー', 'ート'])).toBe(
      `請求書の${START}エクスポート${END}`,
    )
    expect(headline('5月分', ['5', '月分'])).toBe(`${START}5${END}${START}月分${END}`)
  })

  test('has the text around the marks, if it is long', () => {
    const long = `${'あ'.repeat(500)} 請求 ${'い'.repeat(500)}`
    expect(headline(long, ['請求'])).toMatch(/^… あ* ?\uE000請求\uE001 ?い* …$/u)
    const far = `first ${'word '.repeat(200)}second ${'word '.repeat(200)}`.trim()
    const text = headline(far, ['first', 'second'])
    expect(text).toMatch(/^\uE000first\uE001 word .* … .*word \uE000second\uE001 word .* …$/)
    expect(text.length).toBeLessThan(450)
    expect(headline(far, [])).toMatch(/^first word .*word …$/)
  })

  test('property: without marks it is a part of the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 600 }), fc.nat(20), (text, every) => {
        const line = plainLine(text)
        const found = wordsOf(line)
          .filter((_, n) => n % (every + 1) === 0)
          .map((word) => word.text)
        const shown = toText(headline(line, found))
        if (line.length <= 300) expect(shown).toBe(line)
        else for (const part of shown.replace(/^… | …$/g, '').split(' … ')) expect(line).toContain(part)
      }),
    )
  })
})
