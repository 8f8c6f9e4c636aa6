/** What a search text asks for: terms, their other forms, and bounds on both. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { parseSearch } from '../../src/calls/transcripts/search.rules.ts'

const exactly = (...words: string[]) => words.map((word) => `'${word}'`).join(' <-> ')
const begun = (...words: string[]) => words.map((word) => `'${word}':*`).join(' | ')

describe('terms', () => {
  test.each([
    ['invoices', [begun('invoic')]],
    ['Invoice', [begun('invoic')]],
    ['company', [begun('company', 'compani')]],
    ['companies', [begun('compani', 'company')]],
    ['running', [begun('run')]],
    ['being', [begun('being')]],
    ['Rechnungen', [begun('rechnungen')]],
    ['réglée', [begun('réglée', 'regle')]],
    ['счёт', [begun('счёт', 'счет')]],
    ['v2', [exactly('v2')]],
    ['a', [exactly('a')]],
    ['2026', [begun('2026')]],
    ['ada@example.com', [exactly('ada', 'example', 'com')]],
    ['follow-up', [`${exactly('follow', 'up')} | ${exactly('followup')}`]],
    ['"the invoices"', [exactly('the', 'invoices')]],
    ['"open', [exactly('open')]],
    ['refund or invoices', [`${begun('refund')} | ${begun('invoic')}`]],
    ['"a b" or refund', [`${exactly('a', 'b')} | ${begun('refund')}`]],
    ['v2 or v3 refund', [`${exactly('v2')} | ${exactly('v3')}`, begun('refund')]],
    ['5月', [`${exactly('5', '月')}:*`]],
  ])('%s', (text, all) => {
    expect(parseSearch(text)).toEqual({ all, none: [] })
  })

  test('an excluded word is excluded literally', () => {
    expect(parseSearch('refund -invoices -"two words"')).toEqual({
      all: [begun('refund')],
      none: [exactly('invoices'), exactly('two', 'words')],
    })
  })

  test.each(['', '  ', '"', '-', 'or', '&|!:*'])('%j has no search terms', (text) => {
    expect(parseSearch(text)).toBeNull()
  })
})

test('terms are words in quotation marks between operators, and their number is limited', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), (text) => {
      const { all, none } = parseSearch(text) ?? { all: [], none: [] }
      expect(all.length + none.length).toBeLessThanOrEqual(16)
      for (const term of [...all, ...none])
        expect(term).toMatch(/^'[\p{L}\p{M}\p{N}]+'(?::\*)?(?: (?:\||<->) '[\p{L}\p{M}\p{N}]+'(?::\*)?)*$/u)
    }),
  )
})
