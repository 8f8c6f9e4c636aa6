/** The sentence encoder: the same vectors as TensorFlow.js, any number of texts at a time, and compiled from the source beside it. */
import { describe, expect, test } from 'bun:test'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { compileKernel } from '../../scripts/kernel/compile.ts'
import { readCorpus } from '../../scripts/train/corpus.ts'
import { loadEmbed } from '../../src/analyze/builtin/embed.ts'
import { loadEncoder } from '../../src/analyze/builtin/encoder/encoder.ts'
import { ENCODER_FILES } from '../../src/analyze/builtin/encoder/files.ts'
import { createTokenizer, type Vocabulary } from '../../src/analyze/builtin/encoder/tokenizer.rules.ts'
import { loadReferenceEncoder } from '../support/reference-encoder.ts'

const encode = await loadEncoder()

const product = (a: ArrayLike<number>, b: ArrayLike<number>) =>
  Array.from(a).reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0)
/** The cosine of the angle between two vectors: 1 if they point the same way. */
const likeness = (a: ArrayLike<number>, b: ArrayLike<number>) =>
  product(a, b) / Math.sqrt(product(a, a) * product(b, b))

const ODD = [
  'a',
  'Ünïcödé 日本語 🙄🙄 ﬁne',
  'two  spaces\nand a line',
  'the app crashes. '.repeat(17),
  'x'.repeat(300),
  '1 2 3 4 5 6 7 8 9 '.repeat(16),
]

test('vectors are those of TensorFlow.js, up to rounding', async () => {
  const reference = await loadReferenceEncoder()
  const texts = [...new Set(readCorpus().map(({ text }) => text))].filter((_, index) => index % 100 === 0)
  for (const text of [...ODD, ...texts]) {
    const [expected = []] = await reference.embed([text])
    const [vector = []] = encode([text])
    expect([text, likeness(vector, expected) > 0.9999]).toEqual([text, true])
  }
}, 300_000)

test('property: a vector does not depend on the texts beside it', () => {
  const text = fc.oneof(fc.constantFrom(...ODD), fc.string({ minLength: 1, maxLength: 40 }))
  fc.assert(
    fc.property(fc.array(text, { maxLength: 12 }), (texts) => {
      const together = encode(texts)
      expect(together).toHaveLength(texts.length)
      for (const [index, one] of texts.entries())
        expect(together[index]).toEqual(encode([one])[0] as Float32Array)
    }),
    { numRuns: 30 },
  )
})

test('equal texts share a vector, texts without words have none, and all others have length 1', async () => {
  const embed = await loadEmbed()
  const [first, second, none, other] = await embed(['It works', 'It works', '?!', 'It does not'])
  expect(first).toEqual(second as Float32Array)
  expect(none?.every((value) => value === 0)).toBe(true)
  for (const vector of [first, other]) expect(product(vector ?? [], vector ?? [])).toBeCloseTo(1, 4)
})

describe('the pieces of a text', async () => {
  const vocabulary: Vocabulary = await Bun.file(ENCODER_FILES.vocabulary).json()
  const tokenize = createTokenizer(vocabulary)
  const piecesOf = (text: string) => tokenize(text).map((id) => vocabulary[id]?.[0])

  test.each([
    ['', ['▁']],
    ['the export crashes', ['▁the', '▁export', '▁crash', 'es']],
    ['no ☃☃ here', ['▁no', '▁', '�', '▁here']],
  ])('%p', (text, pieces) => {
    expect(piecesOf(text)).toEqual(pieces)
  })

  test('property: together they are the text', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...'aeinst rlq.!'), { maxLength: 60 }), (letters) => {
        expect(piecesOf(letters.join('')).join('')).toBe(`▁${letters.join('').replaceAll(' ', '▁')}`)
      }),
    )
  })
})

test('the compiled kernel is that of the source: `bun run kernel` changes nothing', async () => {
  const path = join(mkdtempSync(join(tmpdir(), 'earshot-kernel-')), 'kernel.wasm')
  compileKernel(path)
  expect(await Bun.file(path).bytes()).toEqual(await Bun.file(ENCODER_FILES.kernel).bytes())
}, 300_000)
