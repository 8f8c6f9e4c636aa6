/** What a search text asks for: terms, their other forms, and bounds on both. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { parseSearch } from '../../src/transcripts/search.rules.ts'

const exactly = (exact: string) => ({ exact, beginnings: [] })
const begun = (...beginnings: string[]) => ({ exact: '', beginnings })

describe('terms', () => {
  test.each([
    ['invoices', [begun('invoic')]],
    ['Invoice', [begun('invoic')]],
    ['company', [begun('company', 'compani')]],
    ['companies', [begun('compani', 'company')]],
    ['running', [begun('run')]],
    ['being', [begun('being')]],
    ['Rechnungen', [begun('rechnungen')]],
    ['счёт', [begun('счёт')]],
    ['v2', [exactly('v2')]],
    ['a', [exactly('a')]],
    ['2026', [begun('2026')]],
    ['ada@example.com', [exactly('ada@example.com')]],
    ['follow-up', [exactly('follow-up')]],
    ['"the invoices"', [exactly('"the invoices"')]],
    ['"open', [exactly('"open"')]],
    ['refund or invoices', [begun('refund', 'invoic')]],
    ['"a b" or refund', [{ exact: '"a b"', beginnings: ['refund'] }]],
    ['v2 or v3 refund', [exactly('v2 or v3'), begun('refund')]],
  ])('%s', (text, all) => {
    expect(parseSearch(text)).toEqual({ all, none: [] })
  })

  test('an excluded word is excluded literally', () => {
    expect(parseSearch('refund -invoices -"two words"')).toEqual({
      all: [begun('refund')],
      none: [exactly('invoices'), exactly('"two words"')],
    })
  })

  test.each(['', '  ', '"', '-', 'or', '&|!:*'])('%j has no search terms', (text) => {
    expect(parseSearch(text)).toBeNull()
  })
})

test('prefixes need no quoting, and their number is limited', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), (text) => {
      const search = parseSearch(text)
      const beginnings = search?.all.flatMap((term) => term.beginnings) ?? []
      for (const one of beginnings) expect(one).toMatch(/^[\p{L}\p{M}\p{N}]+$/u)
      expect(beginnings.length).toBeLessThanOrEqual(48)
    }),
  )
})
