/** The part of a text around words. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { excerptOf } from '../../src/understand/counts/words.rules.ts'

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
