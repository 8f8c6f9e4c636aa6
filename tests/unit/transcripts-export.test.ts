/** Transcripts as WebVTT, SubRip and text, read back by parsers that are not ours. */
import { describe, expect, test } from 'bun:test'
import { parse as parseSrt } from '@plussub/srt-vtt-parser'
import fc from 'fast-check'
import entities from 'webvtt-parser/html-entities.json'
import { type Node, WebVTTParser } from 'webvtt-parser/parser.js'
import { formatOf, toFormat } from '../../src/calls/transcripts/export.rules.ts'
import type { Utterance } from '../../src/calls/transcripts/model.ts'
import { transcript } from '../support/transcript-arbitrary.ts'

const say = (startSec: number, endSec: number, text: string, speaker = 0): Utterance => ({
  startSec,
  endSec,
  speaker,
  text,
})

const inMilliseconds = (seconds: number) => Math.round(seconds * 1000)

/** What a cue can hold of a text: its lines that are not blank. */
const lines = (text: string) =>
  text
    .split(/[\r\n\u2028\u2029]+/)
    .filter((line) => line.trim() !== '')
    .join('\n')

/** A cue without length is given the shortest there is. */
const endOf = ({ startSec, endSec }: Utterance) =>
  Math.max(inMilliseconds(endSec), inMilliseconds(startSec) + 1)

function parseVtt(text: string) {
  const { cues, errors } = new WebVTTParser(entities).parse(text, 'subtitles/captions/descriptions')
  expect(errors.map(({ message }) => message)).toEqual([])
  return cues.map(({ startTime, endTime, tree }) => {
    const voice = tree.children[0]
    expect([tree.children.length, voice?.type, voice?.name]).toEqual([1, 'object', 'v'])
    return {
      start: inMilliseconds(startTime),
      end: inMilliseconds(endTime),
      speaker: voice?.value,
      text: voice?.children.map(plain).join(''),
    }
  })
}

const plain = (node: Node): string => (node.type === 'text' ? node.value : node.children.map(plain).join(''))

describe('WebVTT', () => {
  test('has a header, and one cue per entry with times and voice', () => {
    expect(toFormat('vtt', [say(0, 1.5, 'Hello & <welcome>.'), say(3661.0004, 3662, 'a --> b', 2)])).toBe(
      'WEBVTT\n\n00:00:00.000 --> 00:00:01.500\n<v Speaker 0>Hello &amp; &lt;welcome&gt;.</v>\n\n' +
        '01:01:01.000 --> 01:01:02.000\n<v Speaker 2>a --&gt; b</v>\n',
    )
  })

  test('without entries is only the header', () => {
    expect(toFormat('vtt', [])).toBe('WEBVTT\n')
    expect(parseVtt(toFormat('vtt', []))).toEqual([])
  })

  test('property: an independent parser reads back the same entries, without an error', () => {
    fc.assert(
      fc.property(transcript, (entries) => {
        const expected = entries.map((entry) => ({
          start: inMilliseconds(entry.startSec),
          end: endOf(entry),
          speaker: `Speaker ${entry.speaker}`,
          text: lines(entry.text),
        }))
        // The parser gives cues as they are shown: of those that start together the longest first.
        expect(parseVtt(toFormat('vtt', entries))).toEqual(
          expected.toSorted((a, b) => a.start - b.start || b.end - a.end),
        )
      }),
      { numRuns: 500 },
    )
  })
})

describe('SubRip', () => {
  test('numbers its entries, has commas in times, and names the speaker', () => {
    expect(toFormat('srt', [say(0, 1.5, 'Hello.'), say(59.9996, 61, 'a --> b\n\nc', 2)])).toBe(
      '1\n00:00:00,000 --> 00:00:01,500\nSpeaker 0: Hello.\n\n2\n00:01:00,000 --> 00:01:01,000\nSpeaker 2: a → b\nc\n',
    )
  })

  test('property: an independent parser reads back the same entries', () => {
    fc.assert(
      fc.property(transcript, (entries) => {
        const text = toFormat('srt', entries)
        if (entries.length === 0) return expect(text).toBe('')
        expect(parseSrt(text).entries).toEqual(
          entries.map((entry, index) => ({
            id: String(index + 1),
            from: inMilliseconds(entry.startSec),
            to: endOf(entry),
            text: `Speaker ${entry.speaker}: ${lines(entry.text).replaceAll('-->', '→')}`,
          })),
        )
      }),
      { numRuns: 500 },
    )
  })
})

describe('names of speakers', () => {
  const called = (speaker: number, firstName: string | null, lastName: string | null = null) => ({
    speaker,
    firstName,
    lastName,
  })
  const entries = [say(0, 1, 'Hello.'), say(1, 2, 'Hi.', 1), say(2, 3, 'Yes.', 2)]

  test('a participant appears by name, others by number', () => {
    const speakers = [called(0, 'Ada', 'Lovelace'), called(1, null, 'Hopper'), called(2, null)]
    expect(toFormat('vtt', entries, speakers).match(/<v [^>]*>/g)).toEqual([
      '<v Ada Lovelace>',
      '<v Hopper>',
      '<v Speaker 2>',
    ])
    expect(toFormat('srt', entries, speakers)).toContain('\nAda Lovelace: Hello.\n')
    expect(toFormat('txt', entries, speakers)).toContain('[00:00:01] Hopper: Hi.\n')
  })

  test('two participants with the same name are distinguished', () => {
    const speakers = [called(0, 'Ada'), called(1, 'Ada'), called(2, 'Grace')]
    expect(toFormat('txt', entries, speakers).match(/(?<=\] ).*?(?=:)/g)).toEqual([
      'Ada (Speaker 0)',
      'Ada (Speaker 1)',
      'Grace',
    ])
  })

  test('property: no name breaks a cue', () => {
    const name = fc.string({ unit: 'grapheme', maxLength: 40 })
    const part = fc.oneof(name, fc.constantFrom('-->', '<v X>', '&amp;', 'a\n\nb', '\r', '\u2028', '>'))
    fc.assert(
      fc.property(part, part, (firstName, lastName) => {
        const speakers = [called(0, firstName, lastName)]
        const vtt = parseVtt(toFormat('vtt', [say(0, 1, 'Hello.')], speakers))
        expect([vtt.length, vtt[0]?.text]).toEqual([1, 'Hello.'])
        const { entries: cues } = parseSrt(toFormat('srt', [say(0, 1, 'Hello.')], speakers))
        expect([cues.length, cues[0]?.text?.endsWith(': Hello.')]).toEqual([1, true])
        expect(toFormat('txt', [say(0, 1, 'Hello.')], speakers).split('\n')).toHaveLength(2)
      }),
      { numRuns: 500 },
    )
  })
})

test('plain text has one line per entry', () => {
  expect(toFormat('txt', [say(0, 1, 'Hello.\nYou.'), say(360_000.9, 360_001, 'Late.', 3)])).toBe(
    '[00:00:00] Speaker 0: Hello. You.\n[100:00:00] Speaker 3: Late.\n',
  )
})

describe('times', () => {
  test.each([
    [0, '00:00:00.000'],
    [0.0004, '00:00:00.000'],
    [0.0005, '00:00:00.001'],
    [59.9995, '00:01:00.000'],
    [3599.9999, '01:00:00.000'],
    [359_999.999, '99:59:59.999'],
    [360_000, '100:00:00.000'],
    [36_000_000.25, '10000:00:00.250'],
    [2 ** 53, '2501999792983:36:32.000'],
  ])('%p seconds are %s: rounded to milliseconds, hours beyond 99', (seconds, expected) => {
    expect(toFormat('vtt', [say(seconds, seconds + 10, 'a')])).toContain(`\n${expected} --> `)
  })

  test('the largest storable number is written out', () => {
    const text = toFormat('srt', [say(Number.MAX_VALUE, Number.MAX_VALUE, 'a')])
    expect(text).toMatch(/^1\n\d{300,}:\d\d:\d\d,000 --> \d{300,}:\d\d:\d\d,001\n/)
  })

  test('an empty cue lasts one millisecond', () => {
    expect(toFormat('vtt', [say(1, 1.0001, 'a')])).toContain('00:00:01.000 --> 00:00:01.001')
  })
})

describe('Accept', () => {
  test.each([
    [null, 'json'],
    ['', 'json'],
    ['*/*', 'json'],
    ['application/json', 'json'],
    ['text/vtt', 'vtt'],
    ['TEXT/VTT; charset=utf-8', 'vtt'],
    ['application/x-subrip', 'srt'],
    ['text/plain', 'txt'],
    ['text/html, text/plain;q=0.5', 'txt'],
    ['text/plain;q=0.5, text/vtt;q=0.9', 'vtt'],
    ['text/vtt;q=0.9, */*;q=0.8', 'vtt'],
    ['text/vtt;q=0.1, application/json', 'json'],
    ['text/vtt, application/json', 'vtt'],
    ['text/vtt;q=0', 'json'],
    ['text/vtt;q=abc', 'json'],
    ['image/png', 'json'],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'json'],
  ] as const)('%p is answered with %s', (accept, format) => {
    expect(formatOf(accept)).toBe(format)
  })
})
