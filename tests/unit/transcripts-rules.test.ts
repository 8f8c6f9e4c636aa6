/** Rule 6 of "Create" and the limits of transcripts. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { Utterance } from '../../src/calls/transcripts/model.ts'
import { checkSpeakers, checkTranscript } from '../../src/calls/transcripts/rules.ts'
import { AppError } from '../../src/platform/errors.ts'
import { transcript } from '../support/transcript-arbitrary.ts'

const utterance = (startSec: number, endSec: number, speaker = 0, text = 'Hello.'): Utterance => ({
  startSec,
  endSec,
  speaker,
  text,
})

function refusal(work: () => unknown): AppError {
  try {
    work()
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
  throw new Error('nothing was refused')
}

const findings = (value: unknown) => {
  const { code, details } = refusal(() => checkTranscript(value))
  expect(code).toBe('validation_failed')
  return details.map(({ path, code: finding }) => `${path} ${finding}`)
}

describe('6. a supplied transcript', () => {
  test('is an array of utterances, or an object containing one', () => {
    const utterances = [utterance(0, 1), utterance(1, 2, 1)]
    expect(checkTranscript(utterances)).toEqual(utterances)
    expect(checkTranscript({ utterances, language: 'en' })).toEqual(utterances)
    expect(checkTranscript([])).toEqual([])
  })

  test('drops unknown members of utterances', () => {
    expect(checkTranscript([{ ...utterance(0, 1), confidence: 0.9 }])).toEqual([utterance(0, 1)])
  })

  test.each([
    ['null', null],
    ['a text', 'Hello.'],
    ['a number', 1],
    ['an object without utterances', {}],
    ['an object with other utterances', { utterances: {} }],
  ])('is not %s', (_, value) => {
    expect(findings(value)).toEqual(['transcript type'])
  })

  test.each([
    ['startSec is negative', { startSec: -0.001 }, 'transcript[1].startSec range'],
    ['startSec is infinite', { startSec: Number.POSITIVE_INFINITY }, 'transcript[1].startSec range'],
    ['startSec is not a number', { startSec: Number.NaN }, 'transcript[1].startSec range'],
    ['startSec is a text', { startSec: '1' }, 'transcript[1].startSec type'],
    ['startSec is missing', { startSec: undefined }, 'transcript[1].startSec required'],
    ['endSec is negative', { endSec: -1 }, 'transcript[1].endSec range'],
    ['endSec is infinite', { endSec: Number.POSITIVE_INFINITY }, 'transcript[1].endSec range'],
    ['endSec is before startSec', { endSec: 0.999 }, 'transcript[1].endSec range'],
    ['endSec is null', { endSec: null }, 'transcript[1].endSec type'],
    ['endSec is missing', { endSec: undefined }, 'transcript[1].endSec required'],
    ['text is empty', { text: '' }, 'transcript[1].text blank'],
    ['text is blank', { text: ' \n\t\u00a0\u2003' }, 'transcript[1].text blank'],
    ['text is a number', { text: 5 }, 'transcript[1].text type'],
    ['text is missing', { text: undefined }, 'transcript[1].text required'],
    ['speaker is negative', { speaker: -1 }, 'transcript[1].speaker range'],
    ['speaker is a fraction', { speaker: 0.5 }, 'transcript[1].speaker range'],
    ['speaker is beyond 2^53', { speaker: 2 ** 53 }, 'transcript[1].speaker range'],
    ['speaker is a text', { speaker: '0' }, 'transcript[1].speaker type'],
    ['speaker is missing', { speaker: undefined }, 'transcript[1].speaker required'],
  ])('is refused at its place where %s', (_, change, finding) => {
    expect(findings([utterance(0, 1), { ...utterance(1, 2), ...change }])).toEqual([finding])
  })

  test('is refused if an utterance is not an object', () => {
    expect(findings([utterance(0, 1), null, 'x', []])).toEqual([
      'transcript[1] type',
      'transcript[2] type',
      'transcript[3] type',
    ])
  })

  test('names the place within an object', () => {
    expect(findings({ utterances: [utterance(2, 1)] })).toEqual(['transcript.utterances[0].endSec range'])
  })

  test('may have empty time spans, times of any size, and the largest speaker number', () => {
    const utterances = [utterance(0, 0), utterance(5, 5), utterance(1e300, 1e300, Number.MAX_SAFE_INTEGER)]
    expect(checkTranscript(utterances)).toEqual(utterances)
  })

  test('is ordered by startSec', () => {
    expect(findings([utterance(1, 2), utterance(0.5, 0.7, 1), utterance(3, 4)])).toEqual([
      'transcript[1].startSec order',
    ])
    expect(checkTranscript([utterance(1, 2, 0), utterance(1, 3, 1)])).toHaveLength(2)
  })

  test('utterances of one speaker must not overlap', () => {
    expect(findings([utterance(0, 2), utterance(1.999, 3)])).toEqual(['transcript[1].startSec overlap'])
  })

  test('utterances of one speaker may touch, and those of several speakers overlap', () => {
    const utterances = [
      utterance(0, 2),
      utterance(0.5, 5, 1),
      utterance(2, 3),
      utterance(3, 3),
      utterance(3, 4),
    ]
    expect(checkTranscript(utterances)).toEqual(utterances)
  })

  test('an overlap with any earlier utterance of the speaker counts, not only with the previous one', () => {
    const utterances = [utterance(0, 10), utterance(1, 2, 1), utterance(3, 3, 2), utterance(9, 11)]
    expect(findings(utterances)).toEqual(['transcript[3].startSec overlap'])
    expect(findings([utterance(0, 10), utterance(10, 10), utterance(9, 11)])).toContain(
      'transcript[2].startSec overlap',
    )
  })

  test('an empty time span overlaps an utterance around it', () => {
    expect(findings([utterance(0, 2), utterance(1, 1)])).toEqual(['transcript[1].startSec overlap'])
  })

  test('property: accepted exactly if every pair satisfies the rule', () => {
    const time = fc.integer({ min: 0, max: 6 })
    const any = fc.array(
      fc.tuple(time, time, fc.integer({ min: 0, max: 1 })).map(([a, b, speaker]) => {
        return utterance(Math.min(a, b), Math.max(a, b), speaker)
      }),
      { maxLength: 6 },
    )
    fc.assert(
      fc.property(any, (utterances) => {
        const agrees = utterances.every((later, index) =>
          utterances.slice(0, index).every((earlier) => {
            if (earlier.startSec > later.startSec) return false
            if (earlier.speaker !== later.speaker) return true
            return earlier.startSec >= later.endSec || later.startSec >= earlier.endSec
          }),
        )
        if (agrees) expect(checkTranscript(utterances)).toEqual(utterances)
        else expect(() => checkTranscript(utterances)).toThrow(AppError)
      }),
      { numRuns: 2_000 },
    )
  })

  test('property: valid transcripts are accepted unchanged', () => {
    fc.assert(
      fc.property(transcript, (utterances) => expect(checkTranscript(utterances)).toEqual([...utterances])),
    )
  })

  test('reports a bounded number of findings', () => {
    expect(findings(Array.from({ length: 5_000 }, () => ({}))).length).toBeLessThan(50)
  })

  test('many utterances of many speakers are checked quickly', () => {
    const utterances = Array.from({ length: 10_000 }, (_, index) => utterance(index, index + 5_000, index))
    expect(checkTranscript(utterances)).toHaveLength(10_000)
  })
})

describe('6. participants', () => {
  const spoken = [utterance(0, 1, 0), utterance(1, 2, 7)]

  test('need a speaker who appears in an utterance', () => {
    expect(() => checkSpeakers(spoken, [{ speaker: 7 }])).not.toThrow()
    const { code, details } = refusal(() =>
      checkSpeakers(spoken, [{ speaker: 0 }, { speaker: 1 }, { speaker: 2 }]),
    )
    expect(code).toBe('validation_failed')
    expect(details.map(({ path }) => path)).toEqual(['participants[1].speaker', 'participants[2].speaker'])
  })

  test('are not needed for every speaker', () => {
    expect(() => checkSpeakers(spoken, [])).not.toThrow()
  })
})

describe('limits', () => {
  const many = (count: number, text: string) =>
    Array.from({ length: count }, (_, index) => utterance(index, index + 1, 0, text))

  test('accepts 10,000 utterances; one more is transcript_utterance_limit_exceeded', () => {
    expect(checkTranscript(many(10_000, 'a'))).toHaveLength(10_000)
    const { code, extra } = refusal(() => checkTranscript(many(10_001, 'a')))
    expect({ code, extra }).toEqual({
      code: 'transcript_utterance_limit_exceeded',
      extra: { limit: 10_000, actual: 10_001 },
    })
  })

  test('accepts 20,000 characters in an utterance; one more is transcript_utterance_text_limit_exceeded', () => {
    const text = '\u{1F600}'.repeat(20_000)
    expect(checkTranscript([utterance(0, 1, 0, text)])).toHaveLength(1)
    const { code, extra } = refusal(() => checkTranscript([utterance(0, 1), utterance(1, 2, 0, `${text}a`)]))
    expect({ code, extra }).toEqual({
      code: 'transcript_utterance_text_limit_exceeded',
      extra: { limit: 20_000, actual: 20_001, index: 1 },
    })
  })

  test('accepts 2,000,000 characters in total; one more is transcript_text_limit_exceeded', () => {
    const text = '\u{1F600}'.repeat(20_000)
    const full = many(100, text)
    expect(checkTranscript(full)).toHaveLength(100)
    const { code, extra } = refusal(() => checkTranscript([...full, utterance(100, 101, 0, 'a')]))
    expect({ code, extra }).toEqual({
      code: 'transcript_text_limit_exceeded',
      extra: { limit: 2_000_000, actual: 2_000_001 },
    })
  })
})
