/** Monologues: contiguous utterances of one speaker, combined. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { toMonologues } from '../../src/calls/transcripts/monologue.rules.ts'
import { transcript } from '../support/transcript-arbitrary.ts'

const say = (startSec: number, endSec: number, speaker: number, text: string) => ({
  startSec,
  endSec,
  speaker,
  text,
})

describe('monologues', () => {
  test('join neighbours of one speaker: text with one space, first start, largest end', () => {
    expect(
      toMonologues([
        say(0, 1, 0, 'Good morning.'),
        say(1, 2.5, 0, ' How are you?'),
        say(2, 9, 1, 'Fine.'),
        say(3, 4, 0, 'Good.'),
      ]),
    ).toEqual([say(0, 2.5, 0, 'Good morning.  How are you?'), say(2, 9, 1, 'Fine.'), say(3, 4, 0, 'Good.')])
  })

  test('take the largest end even if it is not the last', () => {
    expect(toMonologues([say(0, 5, 0, 'a'), say(1, 2, 0, 'b')])).toEqual([say(0, 5, 0, 'a b')])
  })

  test('of an empty transcript are empty', () => {
    expect(toMonologues([])).toEqual([])
  })

  test('property: keep text, order and times, and neighbours have different speakers', () => {
    fc.assert(
      fc.property(transcript, (utterances) => {
        const monologues = toMonologues(utterances)
        expect(monologues.map(({ text }) => text).join(' ')).toBe(
          utterances.map(({ text }) => text).join(' '),
        )
        for (const [index, { speaker }] of monologues.entries()) {
          expect(speaker).not.toBe(monologues[index + 1]?.speaker ?? -1)
        }
        // Walked along, each takes up exactly its utterances.
        let next = 0
        for (const monologue of monologues) {
          const run = []
          while (next < utterances.length && utterances[next]!.speaker === monologue.speaker)
            run.push(utterances[next++]!)
          expect(monologue.startSec).toBe(run[0]!.startSec)
          expect(monologue.endSec).toBe(Math.max(...run.map(({ endSec }) => endSec)))
          expect(monologue.text).toBe(run.map(({ text }) => text).join(' '))
        }
        expect(next).toBe(utterances.length)
      }),
    )
  })

  test('property: monologues of monologues are the same', () => {
    fc.assert(
      fc.property(transcript, (utterances) => {
        const monologues = toMonologues(utterances)
        expect(toMonologues(monologues)).toEqual([...monologues])
      }),
    )
  })
})
