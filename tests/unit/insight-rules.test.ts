/** Words of a search, and the part of a text around them. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { excerptOf, patternsOf, wordsOf } from '../../src/insight/words.rules.ts'

test.each([
  ['Invoice  EXPORT, invoice!', ['invoice', 'export']],
  ["don't stop-watch 100%", ["don't", 'stop-watch', '100']],
  ['größe 日本', ['größe', '日本']],
  ['%_ .', []],
  ['a b c d e f g h i j', ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']],
])('%j has the words %j', (query, words) => {
  expect(wordsOf(query)).toEqual(words)
})

test('a pattern finds its word only', () => {
  expect(patternsOf(['a_b', '50%'])).toEqual(['%a\\_b%', '%50\\%%'])
})

describe('an excerpt', () => {
  test('of a short text is the text on one line', () => {
    expect(excerptOf(' a\n b ', ['b'], 10)).toBe('a b')
  })

  test('begins shortly before the first word that was found', () => {
    const text = `${'so '.repeat(200)}the invoice is late ${'very '.repeat(200)}`
    const excerpt = excerptOf(text, ['invoice'], 200)
    expect(excerpt).toContain('the invoice is late')
    expect(excerpt).toStartWith('…so ')
    expect(excerpt).toEndWith(' very…')
  })

  test('property: is well-formed, not much longer than asked, and part of the text', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 400 }),
        fc.string({ maxLength: 3 }),
        (text, word) => {
          const excerpt = excerptOf(text, [word], 60)
          expect(excerpt.isWellFormed()).toBe(text.isWellFormed())
          expect(excerpt.length).toBeLessThanOrEqual(62)
          const line = text.replaceAll(/\s+/g, ' ').trim()
          expect(line).toContain(excerpt.replaceAll(/^…|…$/g, ''))
        },
      ),
    )
  })
})
