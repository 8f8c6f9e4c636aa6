/** Rules of the search for any of the words. */
import { describe, expect, test } from 'bun:test'
import { candidateQueries, unitsOf, weighed } from '../../src/understand/search/any.rules.ts'

const parsed = (parts: readonly string[], excluded: readonly string[] = [], configuration = 'english') => ({
  configuration,
  groups: [],
  excluded: excluded.map((one) => [one]),
  parts: parts.map((one) => [one]),
})
const unit = (query: string, configuration = 'english') => ({ configuration, query })

describe('units of a query', () => {
  test('are its words and phrases, each once', () => {
    const { wanted, excluded } = unitsOf({
      ...parsed(["'card'", "'late' <-> 'invoic'", "'card'"], ["'a' <-> 'b'"]),
      parts: [["'card'"], ["'late' <-> 'invoic'"], ["'card'"], ["'réglé'", "'regl'"]],
    })
    expect(wanted).toEqual(["'card'", "'late' <-> 'invoic'", "( 'réglé' | 'regl' )"])
    expect(excluded).toEqual(["!( 'a' <-> 'b' )"])
  })

  test('are bounded', () => {
    expect(unitsOf(parsed(Array.from({ length: 100 }, (_, n) => `'w${n}'`))).wanted).toHaveLength(24)
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
})

describe('candidates', () => {
  const all = [unitsOf(parsed(["'a'", "'b'", "'c'"], ["'d'"])), unitsOf(parsed(["'a'", "'z'"], [], 'german'))]
  const units = all.flatMap(({ configuration, wanted }) => wanted.map((query) => unit(query, configuration)))

  test('have the rarest units, as many as have few passages together, and nothing that is excluded', () => {
    expect(candidateQueries(all, units, [500, 4, 900, 40, 0])).toEqual([
      unit("( ( 'b' ) | ( 'a' ) ) & !( 'd' )"),
      unit("( ( 'a' ) )", 'german'),
    ])
  })

  test('have at least one unit, however common', () => {
    expect(candidateQueries(all, units, [4_000, 3_000, 4_000, 0, 0])).toEqual([
      unit("( ( 'b' ) ) & !( 'd' )"),
    ])
    expect(candidateQueries(all, units, [0, 0, 0, 0, 0])).toEqual([])
  })
})
