/** Rules of the search for any of the words. */
import { describe, expect, test } from 'bun:test'
import { candidateQueries, countsOf, sizesOf, unitsOf, weighed } from '../../src/search/any.rules.ts'

const wordsOf = (query: string) => {
  const { wanted, excluded } = unitsOf({ configuration: 'english', query })
  return [wanted, excluded]
}
const unit = (query: string, configuration = 'english') => ({ configuration, query })

describe('units of a query', () => {
  test.each([
    ['words, each once', "'card' & 'late' & 'card'", ["'card'", "'late'"], []],
    ['a phrase stays together', "'card' & 'late' <-> 'invoic'", ["'card'", "'late' <-> 'invoic'"], []],
    ['a word that may go on', "'card' & 'arriv':*", ["'card'", "'arriv':*"], []],
    [
      'what is excluded',
      "'card' & !'late' & !( 'a' <-> 'b' )",
      ["'card'"],
      ["! 'late'", "! ( 'a' <-> 'b' )"],
    ],
    ['alternatives', "'card' | 'cash' & 'late'", ["'card'", "'cash'", "'late'"], []],
    ['similar words stay together', "'card' & ( 'late' | 'lame' )", ["'card'", "( 'late' | 'lame' )"], []],
    ['a word with a hyphen is its parts', "'top-up' <-> 'top' <-> 'up'", ["'top'", "'up'"], []],
    ['quotation marks and operators in words', "'o''n & (' & 'b'", ["'o''n & ('", "'b'"], []],
  ])('%s', (_, query, wanted, excluded) => {
    expect(wordsOf(query)).toEqual([wanted, excluded])
  })

  test('are bounded', () => {
    const query = Array.from({ length: 100 }, (_, n) => `'w${n}'`).join(' & ')
    expect(wordsOf(query)[0]).toHaveLength(24)
  })
})

describe('weights', () => {
  test('a rarer unit weighs more, and those of each configuration have the sum 1', () => {
    const units = [unit('a'), unit('b'), unit('a', 'german')]
    const [a = 0, b = 0, c = 0] = weighed(units, [3, 900, 5]).map(({ weight }) => weight)
    expect(a).toBeGreaterThan(3 * b)
    expect(a + b).toBeCloseTo(1)
    expect(c).toBeCloseTo(1)
  })

  test('sizes have one character, keep the order and differ from the count by an eighth at most', () => {
    const counts = [0, 1, 2, 10, 100, 1_000, 4_000]
    expect(sizesOf(counts)).toHaveLength(counts.length)
    const again = countsOf(sizesOf(counts))
    for (const [n, count] of counts.entries())
      expect(Math.abs((again[n] ?? 0) - count)).toBeLessThanOrEqual(count / 8 + 0.5)
    expect(again.toSorted((a, b) => a - b)).toEqual([...again])
  })
})

describe('candidates', () => {
  const all = [unitsOf(unit("'a' & 'b' & 'c' & !'d'")), unitsOf(unit("'a' & 'z'", 'german'))]
  const units = all.flatMap(({ configuration, wanted }) => wanted.map((query) => unit(query, configuration)))

  test('have the rarest units, as many as have few passages together, and nothing that is excluded', () => {
    expect(candidateQueries(all, units, [500, 4, 900, 40, 0])).toEqual([
      unit("( ( 'b' ) | ( 'a' ) ) & ! 'd'"),
      unit("( ( 'a' ) )", 'german'),
    ])
  })

  test('have at least one unit, however common', () => {
    expect(candidateQueries(all, units, [4_000, 3_000, 4_000, 0, 0])).toEqual([unit("( ( 'b' ) ) & ! 'd'")])
    expect(candidateQueries(all, units, [0, 0, 0, 0, 0])).toEqual([])
  })
})
