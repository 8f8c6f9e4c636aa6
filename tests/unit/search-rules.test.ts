/** The rules of the search: what is indexed, what a search text asks, and how passages are marked. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { visibleText } from '../../src/agents/events/visibility.ts'
import {
  END,
  highlightOf,
  markRuns,
  plainLine,
  START,
  toHtml,
  toText,
} from '../../src/search/highlight.rules.ts'
import {
  configurationOf,
  fieldPassages,
  indexedText,
  MAX_PASSAGE,
  pairsOf,
  speechPassages,
} from '../../src/search/passage.rules.ts'
import {
  anyOf,
  marked,
  searchTextOf,
  withPrefix,
  withSimilar,
  wordsIn,
} from '../../src/search/query.rules.ts'
import { utterance } from '../support/recordings.ts'

describe('a search text', () => {
  test.each([
    ['invoice export', { text: 'invoice export', last: 'export', hasWords: true, excludes: false }],
    ['"late invoice', { text: '"late invoice"', last: '', hasWords: true, excludes: false }],
    ['a or -b', { text: 'a or -b', last: '', hasWords: true, excludes: true }],
    ['-b --c', { text: '-b -c', last: '', hasWords: false, excludes: true }],
    ['or', { text: 'or', last: '', hasWords: false, excludes: false }],
    ['! - " "', { text: '', last: '', hasWords: false, excludes: false }],
    ['“late” invoice', { text: 'late invoice', last: 'invoice', hasWords: true, excludes: false }],
    ['請求書', { text: '"請求 求書"', last: '', hasWords: true, excludes: false }],
    ['-導出 CSVを出力', { text: '-"導出" "CSV を出 出力"', last: '', hasWords: true, excludes: true }],
    ['an', { text: 'an', last: '', hasWords: true, excludes: false }],
  ])('%s', (query, expected) => {
    expect(searchTextOf(query)).toEqual({ ...expected, last: expected.last === 'or' ? '' : expected.last })
  })
})

describe('a query', () => {
  const parsed = (query: string, last: string) => ({ configuration: 'english', query, last })

  test('lets its last word go on, if it is one word that is not left out', () => {
    expect(withPrefix(parsed("'late' & 'invoic'", "'invoic'"))).toBe("'late' & 'invoic':*")
    expect(withPrefix(parsed("'late'", ''))).toBe("'late'")
    expect(withPrefix(parsed("'late' & !'invoic'", "'paid'"))).toBe("'late' & !'invoic'")
    expect(withPrefix(parsed("'e-mail' <-> 'e' <-> 'mail'", "'e-mail' <-> 'e' <-> 'mail'"))).not.toContain(
      '*',
    )
  })

  test('has the mark of the organization before each word', () => {
    const id = '01890a5d-ac96-774b-bcce-b302099a8057'
    expect(marked("'it''s' <-> 'b' | 'c':*", id)).toBe("'9a8057it''s' <-> '9a8057b' | '9a8057c':*")
    expect(anyOf(["'a'", "'a'", "'b' & 'c'"])).toBe("( 'a' ) | ( 'b' & 'c' )")
  })

  test('gets similar words in place of its own', () => {
    const query = "'it''s' & ( 'b\\\\' <-> 'late':* )"
    expect(wordsIn(query)).toEqual(["it's", 'b\\', 'late'])
    expect(withSimilar(query, new Map([['late', ['lute', "l'até"]]]))).toBe(
      "'it''s' & ( 'b\\\\' <-> ( 'lute' | 'l''até' ) )",
    )
  })
})

describe('a passage', () => {
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

  test('has pairs in place of Chinese and Japanese words, and spaces in place of their punctuation', () => {
    expect(pairsOf('請求書')).toEqual(['請求', '求書'])
    expect(indexedText('CSVを出力。“Ja”…').replaceAll(/\s+/g, ' ')).toBe('CSV を出 出力 Ja ')
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
          expect(text.length).toBeLessThanOrEqual(4 * MAX_PASSAGE)
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

  test('property: punctuation that PostgreSQL takes for letters is restored', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'ab “”…。、—€! ') }), (text) => {
        const line = plainLine(text)
        const { text: sent, restore } = highlightOf(line)
        expect(restore(sent)).toBe(line)
        expect(sent).not.toMatch(/[“”…。、—€]/)
      }),
    )
  })

  test('has Japanese words marked, and the text around them', () => {
    expect(markRuns('請求書のエクスポート', 'エクスポート csv')).toBe(`請求書の${START}エクスポート${END}`)
    expect(markRuns('請求書', 'csv')).toBeNull()
    const long = `${'あ'.repeat(500)}請求${'い'.repeat(500)}`
    expect(markRuns(long, '請求')).toMatch(/^… あ+\uE000請求\uE001い+ …$/)
  })
})
