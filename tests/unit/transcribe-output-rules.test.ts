/** Everything that recognisers write, read as segments. */
import { describe, expect, test } from 'bun:test'
import { decodeOutput, parseOutput } from '../../src/calls/transcribe/output.rules.ts'
import type { Segment } from '../../src/calls/transcribe/segment.ts'

const segment = (
  startSec: number | null,
  endSec: number | null,
  text: string,
  speaker: string | null = null,
): Segment => ({ startSec, endSec, speaker, text })

const untimed = (text: string) => segment(null, null, text)

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
  [
    'chunks of Hugging Face',
    JSON.stringify({
      text: ' a b',
      chunks: [
        { timestamp: [0, 2], text: ' a' },
        { timestamp: [2, null], text: ' b' },
      ],
    }),
    [segment(0, 2, ' a'), segment(2, null, ' b')],
  ],
  [
    'one object a line',
    '{"start":0,"end":2,"text":"one"}\n{"start":2,"end":4,"text":"two"}\n',
    [segment(0, 2, 'one'), segment(2, 4, 'two')],
  ],
  [
    'one object a line, behind a log line and with numbers that JSON does not have',
    'Loading model...\n{"start":0,"end":2,"text":"NaN one","p":NaN}\n{"start":2,"end":-Infinity,"text":"two"}\n',
    [segment(0, 2, 'NaN one'), segment(2, null, 'two')],
  ],
  [
    'JSON with numbers that JSON does not have',
    '{"text":"x","segments":[{"start":0,"end":NaN,"text":"an \\"NaN\\" one","avg_logprob":-Infinity},{"start":2,"end":4,"text":"two"}]}',
    [segment(0, null, 'an "NaN" one'), segment(2, 4, 'two')],
  ],
  [
    'JSON between log lines',
    'Loading model...\n[info] ready\n{\n"segments": [{"start": 0, "end": 2, "text": "one"}]\n}\nDone in 3 s\n',
    [segment(0, 2, 'one')],
  ],
  [
    'a list of JSON behind a log line',
    'Loading model...\n[{"start": 0, "end": 2, "text": "one"}]\n',
    [segment(0, 2, 'one')],
  ],
  [
    'SubRip behind log lines',
    'Loading\nmodel\n...\nready\n1\n00:00:00,000 --> 00:00:02,000\nfirst\n',
    [segment(0, 2, 'first')],
  ],
  [
    'SubRip with a time before the beginning',
    '1\n-00:00:01,500 --> 00:00:02,000\nfirst\n\n2\n00:00:02,000 --> 00:00:04,000\nsecond\n',
    [segment(-1.5, 2, 'first'), segment(2, 4, 'second')],
  ],
  [
    'SubRip with doubled line ends',
    '1\r\r\n00:00:00,000 --> 00:00:02,000\r\r\nfirst\r\r\n\r\r\n2\r\r\n00:00:02,000 --> 00:00:04,000\r\r\nsecond\r\r\n',
    [segment(0, 2, 'first'), segment(2, 4, 'second')],
  ],
  [
    'SubRip without blank lines',
    '1\n00:00:00,000 --> 00:00:02,000\nfirst\n2\n00:00:02,000 --> 00:00:04,000\nsecond\n',
    [segment(0, 2, 'first'), segment(2, 4, 'second')],
  ],
  [
    'times in odd forms',
    '1\n00:00:01.5 --> 00:00:02.25\na\n\n2\n00:00:03 --> 00:00:04\nb\n\n3\n00:00:05,000-->00:00:06,000\nc\n\n4\n00:00:07:500 --> 00:00:08:000\nd\n\n5\n 00:00:09,000  -->  00:00:09,900  X1:0 X2:0\ne\n',
    [
      segment(1.5, 2.25, 'a'),
      segment(3, 4, 'b'),
      segment(5, 6, 'c'),
      segment(7.5, 8, 'd'),
      segment(9, 9.9, 'e'),
    ],
  ],
  [
    'WebVTT with blank lines in a cue',
    'WEBVTT\n\n00:00.000 --> 00:02.000\n\nbehind a blank line\n\nand one more\n\n00:02.000 --> 00:04.000\nnormal\n',
    [segment(0, 2, 'behind a blank line and one more'), segment(2, 4, 'normal')],
  ],
  ...[
    '\n\nTranscribed in 3.2 s\n',
    '\n \nDone.\n\nwhisper_print_timings:     load time =    12.34 ms\n',
    '\n\n100%|██████████| 12/12 [00:03<00:00,  3.9it/s]\n',
    '\n[INFO] wrote a.vtt\n',
    '\n2026-01-02 03:04:05,678 - main - INFO - finished\n',
    "\noutput_vtt: saving output to 'a.vtt'\n\nbye\n",
    '\r\n\r\nFertig nach 3 s\r\n',
  ].flatMap((log): [string, string, Segment[]][] => [
    [
      `WebVTT before ${JSON.stringify(log)}`,
      `WEBVTT\n\n00:00.000 --> 00:02.000\nfirst\n\n00:02.000 --> 00:04.000\nlast\nline${log}`,
      [segment(0, 2, 'first'), segment(2, 4, 'last line')],
    ],
    [
      `SubRip before ${JSON.stringify(log)}`,
      `1\n00:00:00,000 --> 00:00:02,000\nfirst\n\n2\n00:00:02,000 --> 00:00:04,000\n\nlast line${log}`,
      [segment(0, 2, 'first'), segment(2, 4, 'last line')],
    ],
  ]),
  [
    'a log line between cues',
    'WEBVTT\n\n00:00.000 --> 00:02.000\nfirst\n\nwhisper_print_progress_callback: progress = 10%\n00:02.000 --> 00:04.000\nSPEAKER_01: last\n',
    [segment(0, 2, 'first'), segment(2, 4, 'last', 'SPEAKER_01')],
  ],
  [
    'WebVTT with blank lines in every cue',
    'WEBVTT\n\n00:00.000 --> 00:02.000\none\n\ntwo\n\n00:02.000 --> 00:04.000\nthree\n\nfour\n',
    [segment(0, 2, 'one two'), segment(2, 4, 'three four')],
  ],
  [
    'WebVTT with remarks, styles and identifiers',
    'WEBVTT\nKind: captions\n\nNOTE\n00:00:00.000 --> 00:00:01.000 by me\nnot said\n\nSTYLE\n::cue { color: red }\n\n3f25-0\n00:01.000 --> 00:02.000\na\n\nNOTE not said\n\na name with blanks\n00:02.000 --> 00:03.000\nNOTE is said\n\n7/1\n00:03.000 --> 00:04.000\n12\n',
    [segment(1, 2, 'a'), segment(2, 3, 'NOTE is said'), segment(3, 4, '12')],
  ],
  [
    'WebVTT with arrows in words',
    'WEBVTT\n\n00:00.000 --> 00:02.000\nfrom A --> B now\n\n00:02.000 --> 00:04.000\nif a < b and c > d then\n',
    [segment(0, 2, 'from A --> B now'), segment(2, 4, 'if a < b and c > d then')],
  ],
  [
    'captions that roll',
    'WEBVTT\n\n00:00.080 --> 00:02.389 align:start\n \nhello<00:00:00.719><c> world</c>\n\n00:02.389 --> 00:02.399\nhello world\n \n\n00:02.399 --> 00:04.870\nhello world\nyes<00:00:02.600><c> yes</c>\n',
    [segment(0.08, 2.389, 'hello world'), segment(2.389, 2.399, ''), segment(2.399, 4.87, 'yes yes')],
  ],
  [
    'repeated words in captions that do not roll',
    'WEBVTT\n\n00:00.000 --> 00:01.000\nYes.\n\n00:01.000 --> 00:02.000\nYes.\n',
    [segment(0, 1, 'Yes.'), segment(1, 2, 'Yes.')],
  ],
  [
    'tab-separated values of Whisper, in milliseconds',
    'Detected language: English\nstart\tend\ttext\n0\t1500\tHello.\n1500\t63250\t7 exports\tfailed.\n',
    [segment(0, 1.5, 'Hello.'), segment(1.5, 63.25, '7 exports\tfailed.')],
  ],
  [
    'comma-separated values of whisper.cpp',
    'start,end,text\n0,1500," He said ""no"", twice."\n1500,63250,"7"\n',
    [segment(0, 1.5, ' He said "no", twice.'), segment(1.5, 63.25, '7')],
  ],
  [
    'comma-separated values of whisper.cpp with speakers',
    'start,end,speaker,text\n0,1500,A,"Hello."\n1500,3000,B,"Goodbye."\n',
    LABELLED,
  ],
  ['a table without rows', 'start\tend\ttext\n', []],
  ['words that begin like a table', 'start, end, text: all of it', [untimed('start, end, text: all of it')]],
  [
    'SubRip with tags of its players',
    '1\n00:00:00,000 --> 00:00:02,000\n{\\an8}<font color="#fff">styled</font> {\\i1}words{\\i0}\n\n2\n00:00:02,000 --> 00:00:04,000\n{laughs} {a\\b}\n',
    [segment(0, 2, 'styled words'), segment(2, 4, '{laughs} {a\\b}')],
  ],
  ...['', 'WEBVTT\n\n'].map((head): [string, string, Segment[]] => [
    `captions beside a log in JSON, behind ${JSON.stringify(head)}`,
    `{"level":"info","msg":"loading"}\n{"level":"info","msg":"loaded"}\n${head}00:00.000 --> 00:02.000\nfirst\n\n{"progress":50}\n00:02.000 --> 00:04.000\nlast\n\n{"level":"info","msg":"done"}\n`,
    [segment(0, 2, 'first'), segment(2, 4, 'last')],
  ]),
  [
    'JSON beside a log in JSON',
    '{"level":"info"}\n{"text":"x","segments":[{"start":0,"end":1,"text":"first"},{"start":1,"end":2,"text":"last"}]}\n{"done":true}\n',
    [segment(0, 1, 'first'), segment(1, 2, 'last')],
  ],
  [
    'captions beside a log in JSON that has texts',
    '{"text":"loading"}\n{"text":"loaded"}\n[00:00.000 --> 00:01.000] first\n[00:01.000 --> 00:02.000] last\n',
    [segment(0, 1, 'first'), segment(1, 2, 'last')],
  ],
  ['a list of sound without words', '[{"segments":[]}]', []],
  ['sound without words in parts', '{"segments":[]}\n{"segments":[]}\n', []],
  ['words around a line that is a bracket', 'first\n[\nlast', [untimed('first [ last')]],
  [
    'stamped lines beside a log in JSON',
    '{"level":"info"}\n[00:00.000 --> 00:01.000] first\n{"level":"info"}\n[00:01.000 --> 00:02.000] last\n',
    [segment(0, 1, 'first'), segment(1, 2, 'last')],
  ],
  [
    'captions of which one has times that are not understood',
    '1\n00:00:00,000 --> 00:00:01,000\nfirst\n\n2\n00:00:xx,000 --> 00:00:02,000\nsecond\n\n3\n00:00:02,000 --> 0:0:0:x\nthird\n',
    [segment(0, 1, 'first'), untimed('second'), untimed('third')],
  ],
  [
    'lines of which one has times that are not understood',
    '[00:00.000 --> 00:01.000] first\n[00:0x.000 --> 00:02.000] second\n[00:02.000 --> 00:03.000] [laughs --> cries]\n',
    [segment(0, 1, 'first'), untimed('second'), segment(2, 3, '[laughs --> cries]')],
  ],
]

describe('output of a recogniser', () => {
  test.each(forms)('%s', (_, output, expected) => {
    expect(parseOutput(output)).toEqual(expected)
  })

  test.each([
    '{"segments":[',
    '{"level":"info"}\n{"error":"out of memory"}',
    'Loading model...\n{"text":"x","segments":[{"start":0,"end":2,"text":"one"},{"start":2,"en',
    'Loading model...\n[{"start":0,"end":2,"text":"one"},{"start":2,"en',
    'Loading model...\n{\n  "segments": [\n    {\n      "start": 0,\n',
    'Loading model...\n[\n  {\n    "start": 0,\n',
    '[{"start":0,"end":2,"text":"one"},{"start":2,"en',
    '```json\n{"segments":[{"start":0,"text":"o\n```\n',
    '{"error":{"message":"no"}}',
    '{"text":"a"}\n{"text":',
    '1\n1h 00:00.500 --> 00:02.000 h\nfirst\n',
    '1\n00:00:xx,000 --> 00:00:02,000\nfirst\n',
    '[00:0x.000 --> 00:02.000] first\n',
    'start\tend\ttext\nzero\tone\tHello.\n',
  ])('that is no transcript is told apart: %s', (output) => {
    expect(parseOutput(output)).toBeNull()
  })

  test('is decoded from UTF-8 and UTF-16', () => {
    const text = 'WEBVTT\n\n00:00.000 --> 00:01.000\nGrüße, 日本\n'
    const little = Buffer.from(`\uFEFF${text}`, 'utf16le')
    const big = Buffer.from(little).swap16()
    for (const bytes of [
      Buffer.from(text),
      Buffer.from(`\uFEFF${text}`),
      little,
      big,
      little.subarray(2),
      big.subarray(2),
    ])
      expect(parseOutput(decodeOutput(bytes))).toEqual([segment(0, 1, 'Grüße, 日本')])
    expect(decodeOutput(new Uint8Array())).toBe('')
  })

  test('of any size is parsed in reasonable time', () => {
    const line = '1\n00:00:00,000 --> 00:00:01,500\n<v '
    const hostile = [
      '<'.repeat(500_000),
      line.repeat(20_000),
      `WEBVTT\n\n00:00.000 --> 00:01.000\n${'<v '.repeat(200_000)}`,
      `${'\n '.repeat(500_000)}x`,
      '[00:00.000 --> '.repeat(50_000),
      '[{'.repeat(500_000),
      '[{\n'.repeat(300_000),
      `[${'"\\"'.repeat(200_000)}NaN`,
      `x\n${'-->'.repeat(300_000)}`,
      `start,end,text\n${'0,0,"'.repeat(200_000)}`,
      `00:00.000 --> 00:01.000\n${'0:'.repeat(500_000)}-->`,
      `00:00.000 --> 00:01.000\n${'1\n\n'.repeat(200_000)}`,
      `00:00.000 --> 00:01.000\n${'<0:0:'.repeat(200_000)}`,
    ]
    for (const output of hostile) expect(() => parseOutput(output)).not.toThrow()
  })
})
