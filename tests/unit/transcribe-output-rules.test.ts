/** Everything that recognisers write, read as segments. */
import { describe, expect, test } from 'bun:test'
import { parseOutput, type Segment } from '../../src/transcribe/output.rules.ts'

const segment = (
  startSec: number | null,
  endSec: number | null,
  text: string,
  speaker: string | null = null,
): Segment => ({ startSec, endSec, speaker, text })

const BOTH = [segment(0, 1.5, ' Hello.'), segment(1.5, 63.25, ' The export failed.')]
const LABELLED = [segment(0, 1.5, 'Hello.', 'A'), segment(1.5, 3, 'Goodbye.', 'B')]

const forms: readonly (readonly [name: string, output: string, expected: readonly Segment[]])[] = [
  [
    'verbose JSON of OpenAI',
    JSON.stringify({
      task: 'transcribe',
      duration: 63.25,
      text: 'Hello. The export failed.',
      segments: [
        { id: 0, start: 0, end: 1.5, text: ' Hello.', tokens: [1], avg_logprob: -0.2 },
        { id: 1, start: 1.5, end: 63.25, text: ' The export failed.' },
      ],
    }),
    BOTH,
  ],
  [
    'diarized JSON of OpenAI',
    JSON.stringify({
      text: 'Hello. Goodbye.',
      segments: [
        { type: 'transcript.text.segment', id: 's0', start: 0, end: 1.5, text: 'Hello.', speaker: 'A' },
        { type: 'transcript.text.segment', id: 's1', start: 1.5, end: 3, text: 'Goodbye.', speaker: 'B' },
      ],
    }),
    LABELLED,
  ],
  ['text alone in JSON', JSON.stringify({ text: 'Hello there.' }), [segment(null, null, 'Hello there.')]],
  [
    'text beside an empty list',
    JSON.stringify({ text: 'Hello.', segments: [] }),
    [segment(null, null, 'Hello.')],
  ],
  ['a list of nothing', JSON.stringify({ segments: [] }), []],
  [
    'JSON of whisper.cpp',
    JSON.stringify({
      systeminfo: 'AVX = 1',
      transcription: [
        {
          timestamps: { from: '00:00:00,000', to: '00:00:01,500' },
          offsets: { from: 0, to: 1500 },
          text: ' Hello.',
        },
        { timestamps: { from: '00:00:01,500', to: '00:01:03,250' }, text: ' The export failed.' },
      ],
    }),
    BOTH,
  ],
  [
    'JSON of whisper.cpp with speakers',
    JSON.stringify({ transcription: [{ offsets: { from: 0, to: 1500 }, text: ' Hello.', speaker: '0' }] }),
    [segment(0, 1.5, ' Hello.', '0')],
  ],
  [
    'utterances as this service has them',
    JSON.stringify({ utterances: [{ startSec: 0, endSec: 1.5, speaker: 3, text: 'Hello.' }] }),
    [segment(0, 1.5, 'Hello.', '3')],
  ],
  [
    'a bare list',
    JSON.stringify([{ start: '0', end: '1.5', text: ' Hello.' }]),
    [segment(0, 1.5, ' Hello.')],
  ],
  [
    'entries of another kind beside segments',
    JSON.stringify({ segments: [null, 5, { start: 1 }, { start: 0, end: 1.5, text: ' Hello.' }] }),
    [segment(0, 1.5, ' Hello.')],
  ],
  [
    'times that are none',
    '{"segments":[{"start":1e400,"end":"soon","text":"Hello."}]}',
    [segment(null, null, 'Hello.')],
  ],
  [
    'WebVTT',
    'WEBVTT - made by something\n\nNOTE a remark\n\n1\n00:00.000 --> 00:01.500 align:start\nHello.\n\n00:00:01.500 --> 00:01:03.250\nThe <b>export</b>\nfailed &amp; so &lt;on&gt;\n',
    [segment(0, 1.5, 'Hello.'), segment(1.5, 63.25, 'The export failed & so <on>')],
  ],
  [
    'WebVTT with voices',
    '\uFEFFWEBVTT\r\n\r\n00:00:00.000 --> 00:00:01.500\r\n<v.loud A>Hello.</v>\r\n\r\n00:00:01.500 --> 00:00:03.000\r\n<v B>Goodbye.\r\n',
    LABELLED,
  ],
  [
    'WebVTT with two voices in a cue',
    'WEBVTT\n\n00:00.000 --> 00:02.000\n<v A>One.</v>\n<v B>Two.</v>\n',
    [segment(0, 2, 'One. ', 'A'), segment(0, 2, 'Two.', 'B')],
  ],
  [
    'SubRip',
    '1\n00:00:00,000 --> 00:00:01,500\n Hello.\n\n2\n00:00:01,500 --> 00:01:03,250\n The <i>export</i> failed.\n',
    BOTH,
  ],
  [
    'SubRip with speakers in the text',
    '1\n00:00:00,000 --> 00:00:01,500\n[SPEAKER_00]: Hello.\n\n2\n00:00:01,500 --> 00:00:03,000\n[SPEAKER_01]: Goodbye.\n',
    [segment(0, 1.5, 'Hello.', 'SPEAKER_00'), segment(1.5, 3, 'Goodbye.', 'SPEAKER_01')],
  ],
  [
    'lines with times, between lines of another kind',
    'Detecting language: English\n[00:00.000 --> 00:01.500]  Hello.\n[00:00:01.500 --> 00:01:03.250]  The export failed.\n',
    [segment(0, 1.5, 'Hello.'), segment(1.5, 63.25, 'The export failed.')],
  ],
  [
    'lines with times and speakers',
    '[00:00:00.000 --> 00:00:01.500]  (speaker 0) Hello.',
    [segment(0, 1.5, 'Hello.', 'speaker 0')],
  ],
  ['plain text', 'Hello there.\nGoodbye.\n', [segment(null, null, 'Hello there. Goodbye.')]],
  [
    'plain text that begins with a bracket',
    '[music] Hello there.',
    [segment(null, null, '[music] Hello there.')],
  ],
  ['nothing at all', '', [segment(null, null, '')]],
]

describe('output of a recogniser', () => {
  test.each(forms)('%s', (_, output, expected) => {
    expect(parseOutput(output)).toEqual(expected)
  })

  test.each(['{"segments":[', '{"error":{"message":"no"}}'])(
    'that is no transcript is told apart: %s',
    (output) => {
      expect(parseOutput(output)).toBeNull()
    },
  )

  test('of any size is parsed in reasonable time', () => {
    const line = '1\n00:00:00,000 --> 00:00:01,500\n<v '
    const hostile = [
      '<'.repeat(500_000),
      line.repeat(20_000),
      `WEBVTT\n\n00:00.000 --> 00:01.000\n${'<v '.repeat(200_000)}`,
      `${'\n '.repeat(500_000)}x`,
      '[00:00.000 --> '.repeat(50_000),
    ]
    for (const output of hostile) expect(parseOutput(output)).not.toBeNull()
  })
})
