/** Trimming in linear time gives the same results as regular expressions. */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { joinLines, trimEndOf, trimOf } from '../../src/platform/validation/trim.ts'

const text = fc
  .array(fc.constantFrom('/', '.', ' ', 'a', '\n', '😀'), { maxLength: 20 })
  .map((parts) => parts.join(''))

test('property: the characters are removed at the ends only', () => {
  fc.assert(
    fc.property(text, (one) => {
      expect(trimEndOf(one, '/')).toBe(one.replace(/\/+$/, ''))
      expect(trimOf(one, '. ')).toBe(one.replaceAll(/^[. ]+|[. ]+$/g, ''))
      expect(joinLines(one).trim()).toBe(one.replaceAll(/\s*\n\s*/g, ' ').trim())
    }),
  )
})

test('a text of one line stays unchanged', () => {
  expect(joinLines(' a  b ')).toBe(' a  b ')
})
