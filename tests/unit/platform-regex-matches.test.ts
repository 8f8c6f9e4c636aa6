/** All matches of a pattern in linear time. They are the same as those of a repeated search with `re2js`. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { RE2JS } from 're2js'
import { createMatches } from '../../src/platform/regex/matches.ts'

const ignore = () => {}

/** The matches of a repeated search. */
function searched(pattern: RE2JS, text: string) {
  const found = []
  const matcher = pattern.matcher(text)
  while (matcher.find())
    if (matcher.end() > matcher.start()) found.push({ start: matcher.start(), end: matcher.end() })
  return found
}

const atom = fc.constantFrom(
  ...['a', 'b', '.', '\\d', '\\w', '[ab]', '[^a]', '\\b', '\\B', '^', '$', '(?m:^)', '(?m:$)', '\\s'],
  ...['(?i:A)', '(?i:k)', '\\pL', '😀', 'é', '\\n'],
)
const repeat = fc.constantFrom('*', '+', '?', '*?', '+?', '??', '{2}', '{1,3}', '{0,2}?')
const { pattern } = fc.letrec<{ pattern: string }>((tie) => ({
  pattern: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    atom,
    fc.tuple(tie('pattern'), tie('pattern')).map((parts) => parts.join('')),
    fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => `(?:${a}|${b})`),
    tie('pattern').map((inner) => `(?:${inner}|)`),
    fc.tuple(tie('pattern'), repeat).map(([inner, times]) => `(${inner})${times}`),
  ),
}))
const letter = fc.constantFrom('a', 'a', 'b', 'x', ' ', '\n', '1', 'A', '_', 'K', 'k', '\u212a', 'é', '😀')
const text = fc.string({ unit: letter, maxLength: 16 })

describe('the matches of a pattern', () => {
  test('are those of a repeated search, wherever a block ends', () => {
    fc.assert(
      fc.property(pattern, text, fc.integer({ min: 1, max: 6 }), (source, input, blockUnits) => {
        const compiled = RE2JS.compile(source)
        expect(createMatches(compiled, blockUnits).find(input, ignore)).toEqual(searched(compiled, input))
      }),
      { numRuns: 3_000 },
    )
  })

  test('are found in a text of many blocks, even across the end of a block', () => {
    const input = `${'x'.repeat(20_000)}b${'a'.repeat(30_000)}😀${'x'.repeat(9_000)}ba`
    const expected = [
      { start: 20_000, end: 50_003 },
      { start: 59_003, end: 59_005 },
    ]
    expect(createMatches(RE2JS.compile('ba+😀?')).find(input, ignore)).toEqual(expected)
  })

  test.each([
    ['a*b|a', 'a'],
    ['(?:a*)*b|a', 'a'],
    ['(a|b)*c|a', 'ab'],
    ['[^\\n]*x|\\w', 'word '],
    ['(?:x+x+)+[yz]', 'x'],
    ['\\b\\w+\\b', 'word '],
  ])('of %p in a text of %p cost work in proportion to its length', (source, unit) => {
    const work = (length: number) => {
      let units = 0
      createMatches(RE2JS.compile(source)).find(unit.repeat(length / unit.length), (more) => {
        units += more
      })
      return units
    }
    expect(work(200_000)).toBeLessThan(3 * work(100_000))
    expect(work(200_000)).toBeLessThan(200_000 * 40)
  })

  test('are not searched any further when the work is ended', () => {
    let left = 50_000
    const spend = (units: number) => {
      left -= units
      if (left < 0) throw new Error('enough')
    }
    const matches = createMatches(RE2JS.compile('a*b|a'))
    expect(() => matches.find('a'.repeat(100_000), spend)).toThrow('enough')
    expect(matches.find('xaab', ignore)).toEqual([{ start: 1, end: 4 }])
  })

  test('are right even for a pattern with more states than fit in memory', () => {
    let seed = 7
    const input = Array.from({ length: 6_000 }, () => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
      return seed % 3 === 0 ? 'c' : seed % 2 === 0 ? 'a' : 'b'
    }).join('')
    const compiled = RE2JS.compile('(?:a|b){12}a(?:a|b)*')
    expect(createMatches(compiled).find(input, ignore)).toEqual(searched(compiled, input))
  })
})
