/** Valid transcripts of every kind, for property tests. */
import fc from 'fast-check'
import type { Utterance } from '../../src/calls/transcripts/model.ts'

/** Times as recognisers give them: milliseconds, many of them equal. */
const duration = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 10_000 }))

/** Characters that a subtitle format could interpret. */
const word = fc.oneof(
  fc.constantFrom(
    '-->',
    '<b>',
    '</v>',
    '&amp;',
    '&',
    '\n',
    '\r\n\r\n',
    '\u2028',
    '\t',
    '\\',
    '1',
    '00:00:01.000',
    'NOTE x',
  ),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }),
)

/** Text that PostgreSQL can store and that is not blank. */
const spokenText = fc
  .array(word, { minLength: 1, maxLength: 6 })
  .map((words) => words.join(' ').replaceAll('\0', ''))
  .filter((text) => /\S/.test(text) && text.isWellFormed())

/** In order. Each speaker continues where the same speaker ended, or later. */
export const transcript: fc.Arbitrary<readonly Utterance[]> = fc
  .array(
    fc.record({
      pause: duration,
      length: duration,
      speaker: fc.integer({ min: 0, max: 3 }),
      text: spokenText,
    }),
    {
      maxLength: 20,
    },
  )
  .map((turns) => {
    const ends = new Map<number, number>()
    let now = 0
    return turns.map(({ pause, length, speaker, text }) => {
      now = Math.max(now + pause, ends.get(speaker) ?? 0)
      ends.set(speaker, now + length)
      return { startSec: now / 1000, endSec: (now + length) / 1000, speaker, text }
    })
  })
