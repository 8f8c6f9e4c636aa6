/** The vectors of texts: what they tell, how they are packed, and how words are split. */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { createInsightDoers } from '../../src/analysis/analyze/builtin/jobs.ts'
import { isInCapitals, withoutCapitals } from '../../src/analysis/analyze/builtin/vectors/capitals.rules.ts'
import {
  DIMENSIONS,
  packVectors,
  readVectors,
} from '../../src/analysis/analyze/builtin/vectors/format.rules.ts'
import { createTokenizer } from '../../src/analysis/analyze/builtin/vectors/tokenizer.rules.ts'
import { loadEmbed } from '../../src/analysis/analyze/builtin/vectors/vectors.ts'

const embed = await loadEmbed()
const likeness = (a: string, b: string) => {
  const [x, y] = [embed(a), embed(b)]
  return x.reduce((sum, value, at) => sum + value * (y[at] as number), 0)
}

test.each([
  ['Die App stürzt beim Öffnen ab', 'de'],
  ["L'application plante à l'ouverture", 'fr'],
  ['La aplicación se cierra al abrirla', 'es'],
  ["L'app si chiude quando la apro", 'it'],
  ['O aplicativo fecha quando abro', 'pt'],
  ['De app crasht bij het openen', 'nl'],
  ['アプリを開くと落ちます', 'ja'],
])('%p means what is said in English', (text) => {
  expect(likeness('The app crashes when I open it', text)).toBeGreaterThan(
    likeness('Where can I find my last invoice?', text) + 0.2,
  )
})

test('property: a vector has length 1, or is zero where no piece is known', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), (text) => {
      const vector = embed(text)
      expect(vector).toHaveLength(DIMENSIONS)
      const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0))
      expect(length === 0 || Math.abs(length - 1) < 1e-3).toBe(true)
    }),
  )
})

test.each([
  ['THE APP WILL NOT OPEN', true],
  ['The app will NOT open', false],
  ['The APP WILL NOT OPEN', true],
  ['PIN, ATM', false],
  ['DIE APP STÜRZT AB', true],
  ['アプリを開くと落ちます', false],
  ['2026 !!!', false],
])('%p is mostly in capitals: %p', (text, expected) => {
  expect(isInCapitals(text)).toBe(expected)
  expect(withoutCapitals(text)).toBe(expected ? text.toLowerCase() : text)
})

test('for themes and search, a text in capitals means what it means in small letters', async () => {
  const { embed, places } = createInsightDoers()
  const [capitals, small] = ['PLEASE BRING BACK THE SEARCH OPTION', 'please bring back the search option']
  expect(likeness(capitals, small)).toBeLessThan(0.5)
  const [one, other] = await embed({ texts: [capitals, small] })
  expect(one).toBe(other)
  const [here, there] = await places({ texts: [capitals, small], cells: 3 })
  expect(here).toEqual(there)
})

test('the split is the likeliest one, and what no piece covers is left out', () => {
  const vocabulary = [
    ['\u2581un', -3],
    ['\u2581', -1],
    ['do', -2],
    ['\u2581undo', -4],
    ['n', -9],
    ['u', -9],
  ] as const
  const tokenize = createTokenizer(vocabulary)
  expect(tokenize('undo')).toEqual([3])
  expect(tokenize('un do')).toEqual([0, 1, 2])
  expect(tokenize('undo日do')).toEqual([3, 2])
  expect(tokenize('')).toEqual([1])
})

test('what is packed is read again, and a damaged file is refused', () => {
  const table = {
    pieces: [
      ['\u2581a', -1.5],
      ['é', -2],
    ],
    scales: Float32Array.of(0.5, 2),
    vectors: Int8Array.from({ length: 2 * DIMENSIONS }, (_, at) => (at % 255) - 127),
  } as const
  const packed = packVectors(table)
  expect(readVectors(packed)).toEqual({ ...table, pieces: [...table.pieces] })
  expect(() => readVectors(packed.subarray(1))).toThrow('damaged')
})
