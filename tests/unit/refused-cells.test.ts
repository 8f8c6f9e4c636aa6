/** Cells that a spreadsheet would run. */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { guardCell, unguardCell } from '../../src/hear/feedback/refused-cells.rules.ts'

test.each([
  '=1+1',
  '+1',
  '-1',
  '@SUM(A1)',
  '\t=1',
  '\r=1',
  '\n=1',
  '＝1+1',
  '＋1',
  '－1',
  '＠SUM(A1)',
  "'=1",
])('%j gets an apostrophe', (cell) => expect(guardCell(cell)).toBe(`'${cell}`))

test.each(['', 'text', '1-1', ' a', "'tis", '。'])('%j stays', (cell) => expect(guardCell(cell)).toBe(cell))

test('what was guarded is read as it was', () => {
  const cell = fc.string({ unit: fc.constantFrom("'", '=', '＝', '\n', 'a', ' ') })
  fc.assert(fc.property(cell, (text) => unguardCell(guardCell(text)) === text))
})
