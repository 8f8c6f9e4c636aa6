/** Whatever a recogniser gives becomes a transcript that a caller could have supplied. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { Segment } from '../../src/calls/transcribe/segment.ts'
import { toUtterances } from '../../src/calls/transcribe/utterances.rules.ts'
import { checkTranscript } from '../../src/calls/transcripts/rules.ts'

const segment = (
  startSec: number | null,
  endSec: number | null,
  text: string,
  speaker: string | null = null,
): Segment => ({ startSec, endSec, speaker, text })
const utterance = (startSec: number, endSec: number, text: string, speaker = 0) => ({
  startSec,
  endSec,
  speaker,
  text,
})

const cases: readonly (readonly [
  rule: string,
  segments: readonly Segment[],
  expected: readonly ReturnType<typeof utterance>[],
])[] = [
  [
    'without labels everybody is speaker 0',
    [segment(0, 1, 'a'), segment(1, 2, 'b')],
    [utterance(0, 1, 'a'), utterance(1, 2, 'b')],
  ],
  [
    'labels become 0, 1, 2 in the order in which they are heard',
    [segment(2, 3, 'c', 'A'), segment(0, 1, 'a', 'Zoe'), segment(1, 2, 'b'), segment(3, 4, 'd', 'Zoe')],
    [utterance(0, 1, 'a', 0), utterance(1, 2, 'b', 1), utterance(2, 3, 'c', 2), utterance(3, 4, 'd', 0)],
  ],
  [
    'text is one line without control characters, and nothing where nothing is said',
    [segment(0, 1, ' a\0\n\t b\u0007 '), segment(1, 2, ' \n '), segment(2, 3, '\ud800c')],
    [utterance(0, 1, 'a b'), utterance(2, 3, '\ufffdc')],
  ],
  [
    'times are finite, not negative, in order, not before the beginning and not after the end of the sound',
    [segment(-3, 2, 'a'), segment(5, 4, 'b'), segment(9, 30, 'c'), segment(50, 60, 'd')],
    [utterance(0, 2, 'a'), utterance(4, 5, 'b'), utterance(9, 10, 'c'), utterance(10, 10, 'd')],
  ],
  [
    'what begins before the sound stands before what begins with it',
    [segment(0, 2, 'a'), segment(-0.5, 0.3, 'b'), segment(2, 3, 'c')],
    [utterance(0, 0, 'b'), utterance(0, 2, 'a'), utterance(2, 3, 'c')],
  ],
  ['text without times lasts as long as the sound', [segment(null, null, 'a')], [utterance(0, 10, 'a')]],
  [
    'what does not say when it began follows the one before',
    [segment(0, 4, 'a'), segment(null, null, 'b')],
    [utterance(0, 4, 'a'), utterance(4, 10, 'b')],
  ],
  [
    'nobody talks over themselves; others may',
    [segment(0, 5, 'a', 'A'), segment(1, 6, 'b', 'B'), segment(4, 8, 'c', 'A'), segment(4, 5, 'd', 'A')],
    [utterance(0, 4, 'a', 0), utterance(1, 6, 'b', 1), utterance(4, 4, 'c', 0), utterance(4, 5, 'd', 0)],
  ],
]

describe('the transcript of recognised speech', () => {
  test.each(cases)('%s', (_, segments, expected) => {
    expect(toUtterances(segments, 10)).toMatchObject({ utterances: expected, leftOut: 0 })
  })

  test('a text of more than 20,000 characters is split between words, and the time with it', () => {
    const text = `${'word '.repeat(4_999)}𝒳 end ${'x'.repeat(19_990)}y`
    const { utterances } = toUtterances([segment(0, [...text].length / 100, text)], null)
    expect(utterances).toEqual([
      utterance(0, 199.99, `${'word '.repeat(3_999)}word`),
      utterance(199.99, 250, `${'word '.repeat(999)}𝒳 end`),
      utterance(250, 449.92, `${'x'.repeat(19_990)}y`),
    ])
    const [first, second] = toUtterances([segment(0, 3, 'z'.repeat(30_000))], null).utterances
    expect([first, second]).toEqual([
      utterance(0, 2, 'z'.repeat(20_000)),
      utterance(2, 3, 'z'.repeat(10_000)),
    ])
  })

  test('10,000 utterances: neighbours of one speaker become one, the closest first', () => {
    const segments = Array.from({ length: 10_002 }, (_, index) =>
      segment(index * 2, index * 2 + (index === 7 || index === 8 ? 2 : 1), `t${index}`),
    )
    const { utterances, leftOut } = toUtterances(segments, null)
    expect([utterances.length, leftOut]).toEqual([10_000, 0])
    expect(utterances[7]).toEqual(utterance(14, 19, 't7 t8 t9'))
  })

  test('excess utterances are dropped at the end and counted', () => {
    const alternating = Array.from({ length: 10_003 }, (_, index) =>
      segment(index, index + 1, 'x', index % 2 === 0 ? 'A' : 'B'),
    )
    expect(toUtterances(alternating, null)).toMatchObject({ leftOut: 3 })
    const long = Array.from({ length: 101 }, (_, index) => segment(index, index + 1, 'x'.repeat(20_000)))
    const { utterances, leftOut } = toUtterances(long, null)
    expect([utterances.length, leftOut]).toEqual([100, 1])
  })

  test('property: is a valid supplied transcript with every word within the limits', () => {
    const time = fc.oneof(
      fc.constant(null),
      fc.double({ noDefaultInfinity: false }),
      fc.integer({ min: -5, max: 50 }),
      fc.double({ min: 0, max: 50, noNaN: true }),
    )
    const segments = fc.array(
      fc.record({
        startSec: time,
        endSec: time,
        speaker: fc.constantFrom(null, '', 'A', 'B', 'SPEAKER_00'),
        text: fc.oneof(fc.string({ unit: 'binary' }), fc.constant('y'.repeat(45_000))),
      }),
      { maxLength: 30 },
    )
    fc.assert(
      fc.property(
        segments,
        fc.oneof(fc.constant(null), fc.double({ min: 0, max: 60, noNaN: true })),
        (list, seconds) => {
          const { utterances } = toUtterances(list, seconds)
          expect(checkTranscript(utterances)).toEqual(utterances)
          const words = (texts: readonly { readonly text: string }[]) =>
            texts
              .map(({ text }) => text)
              .join('')
              .toWellFormed()
              .replaceAll(/[\p{Cc}\s]/gu, '').length
          expect(words(utterances)).toBe(words(list))
        },
      ),
      { numRuns: 300 },
    )
  })
})
