/** Which words of an organization are similar to a mistyped one, and how much is compared to find them. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  distanceWithin,
  MAX_COMPARISONS,
  MAX_VOCABULARY,
  similarWords,
} from '../../src/understand/search/similar.rules.ts'

describe('similar words', () => {
  test.each([
    ['invioce', 'invoice', 1],
    ['kitten', 'sitting', 3],
    ['', 'abc', 3],
    ['same', 'same', 0],
  ])('%s and %s differ by %d', (a, b, distance) => {
    const budget = { comparisons: 1_000 }
    for (const most of [1, 2, 3, 4]) {
      const expected = Math.min(distance, most + 1)
      expect(distanceWithin(most, a, b, budget)).toBe(expected)
      expect(distanceWithin(most, b, a, budget)).toBe(expected)
    }
  })

  test('are the nearest, and none for a short word', () => {
    const vocabulary = ['invoice', 'invoke', 'voice', 'export', 'thermostat', 'the']
    expect([...similarWords(['invioce', 'teh', 'termostta'], vocabulary)]).toEqual([
      ['invioce', ['invoice']],
      ['termostta', ['thermostat']],
    ])
  })

  const word = fc.string({ unit: fc.constantFrom(...'abcdé'), minLength: 4, maxLength: 10 })

  test('property: the distance is that of a whole table', () => {
    fc.assert(
      fc.property(word, word, fc.integer({ min: 1, max: 4 }), (a, b, most) => {
        expect(distanceWithin(most, a, b, { comparisons: 0 })).toBe(Math.min(wholeDistance(a, b), most + 1))
      }),
    )
  })

  test('property: they are the nearest of all words, the most frequent first', () => {
    fc.assert(
      fc.property(word, fc.uniqueArray(word, { maxLength: 40 }), (wanted, vocabulary) => {
        const most = wanted.length >= 8 ? 2 : 1
        const nearest = vocabulary
          .map((other) => ({ other, distance: wholeDistance(wanted, other) }))
          .filter(({ distance }) => distance <= most)
          .toSorted((a, b) => a.distance - b.distance)
        expect(similarWords([wanted], vocabulary).get(wanted)).toEqual(
          nearest.slice(0, 3).map(({ other }) => other),
        )
      }),
    )
  })

  const LETTERS = 'abcdefghijklmnopqrstuvwxyzabcdefghijklmn'
  test.each([
    ['of the same letters', (n: number) => shuffled(LETTERS, n)],
    ['of the same beginning', (n: number) => LETTERS.slice(0, 30) + shuffled(LETTERS.slice(30), n)],
  ])('a search compares few letters of long words %s, those of the most frequent words', (_, wordOf) => {
    const wanted = [1, 2, 3, 4].map(wordOf)
    const vocabulary = Array.from({ length: MAX_VOCABULARY - 2 }, (_, index) => wordOf(index + 5))
    const budget = { comparisons: MAX_COMPARISONS }
    const [often, rarely] = [`${wordOf(1)}x`, `x${wordOf(1)}`]
    expect(similarWords(wanted, [often, ...vocabulary, rarely], budget).get(wordOf(1))).toEqual([often])
    // The last word may be compared with each of the four.
    expect(budget.comparisons).toBeLessThanOrEqual(0)
    expect(budget.comparisons).toBeGreaterThan(-4 * 5 * LETTERS.length - 4)
  })

  test('four mistyped words are compared with a whole ordinary vocabulary', () => {
    const syllables = 'in vo ice ex port ther mo stat ba le ri con ta ner'.split(' ')
    const wordOf = (n: number) =>
      [n % 14, Math.floor(n / 14) % 14, Math.floor(n / 196) % 14, Math.floor(n / 2_744) % 14]
        .map((index) => syllables[index] ?? '')
        .join('')
    const vocabulary = Array.from({ length: MAX_VOCABULARY }, (_, index) => wordOf(index))
    const budget = { comparisons: MAX_COMPARISONS }
    const wanted = [1, 2, 3, 4].map((n) => `${wordOf(MAX_VOCABULARY - n)}q`)
    const similar = similarWords(wanted, vocabulary, budget)
    expect(wanted.map((word) => similar.get(word)?.[0])).toEqual(wanted.map((word) => word.slice(0, -1)))
    expect(budget.comparisons).toBeGreaterThan(MAX_COMPARISONS / 2)
  })
})

/** The optimal string alignment by its definition. */
function wholeDistance(a: string, b: string): number {
  const table = Array.from({ length: a.length + 1 }, (_, i) => [i, ...new Array<number>(b.length).fill(0)])
  const at = (i: number, j: number) => table[i]?.[j] ?? i + j
  for (let i = 0; i <= a.length; i++) {
    for (let j = 0; j <= b.length; j++) {
      const isExchange = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const row = table[i] as number[]
      if (i === 0 || j === 0) row[j] = i + j
      else
        row[j] = Math.min(
          at(i - 1, j) + 1,
          at(i, j - 1) + 1,
          at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1),
          isExchange ? at(i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY,
        )
    }
  }
  return at(a.length, b.length)
}

/** The same letters in another order for each number. */
function shuffled(letters: string, seed: number): string {
  const order = [...letters]
  let random = seed
  for (let last = order.length - 1; last > 0; last--) {
    random = (Math.imul(random, 1_103_515_245) + 12_345) >>> 0
    const other = (random >>> 8) % (last + 1)
    ;[order[last], order[other]] = [order[other] ?? '', order[last] ?? '']
  }
  return order.join('')
}
