/** A passage is cut into words and marked in small steps, whatever it is made of, so that the thread answers other requests between them. */
import { describe, expect, test } from 'bun:test'
import { textOf, wordsInSteps, wordsOf } from '../../src/platform/text/words.rules.ts'
import { headlineInSteps, headlineOf, START } from '../../src/understand/search/highlight.rules.ts'
import { MAX_PASSAGE } from '../../src/understand/search/passage.rules.ts'

const counted = <T>(steps: Generator<void, T>): { readonly count: number; readonly value: T } => {
  for (let count = 1; ; count++) {
    const step = steps.next()
    if (step.done === true) return { count, value: step.value }
  }
}
const allMarked = (text: string): string => text.replaceAll(/(?<=^| )/g, START)

// Some of these characters are several words each.
for (const character of ['a ', 'a-b ', 'é ', 'ﷺ', '㍿', '請', 'a\u0301\u0302 ']) {
  const line = (length: number) => character.repeat(length).slice(0, length).trim()

  describe(`${MAX_PASSAGE} code units of ${JSON.stringify(character)}`, () => {
    test('ten times the text is ten times the steps, not larger ones', () => {
      const [short, long] = [line(MAX_PASSAGE / 10), line(MAX_PASSAGE)].map((text) => {
        const words = counted(wordsInSteps(text))
        const headline = allMarked(textOf(words.value))
        return [words.count, counted(headlineInSteps(text, words.value, headline)).count]
      })
      for (const part of [0, 1]) expect(long?.[part]).toBeGreaterThan(5 * ((short?.[part] ?? 0) - 4))
      expect(long?.[0]).toBeGreaterThan(40)
      expect(long?.[1]).toBeGreaterThan(5)
    })

    test('the steps come to the same as without a pause', () => {
      const text = line(MAX_PASSAGE)
      const words = wordsOf(text)
      expect(counted(wordsInSteps(text)).value).toEqual(words)
      const headline = allMarked(textOf(words))
      expect(counted(headlineInSteps(text, words, headline)).value).toBe(headlineOf(text, words, headline))
    })

    test('of more words than code units, only the first are read', () => {
      const text = line(MAX_PASSAGE)
      const few = counted(wordsInSteps(text, MAX_PASSAGE)).value
      // Again without accents, and joined; and what one step reads.
      expect(few.length).toBeLessThan(2 * MAX_PASSAGE + 5_000)
    })
  })
}
