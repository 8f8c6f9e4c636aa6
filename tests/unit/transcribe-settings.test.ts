/** What transcribes, as the settings say it; and what is asked of a server by the name of its model. */
import { describe, expect, test } from 'bun:test'
import { loadConfig } from '../../src/app/config.ts'
import { quietestMoment } from '../../src/calls/transcribe/pieces.rules.ts'
import { protocolOf, referencesOf, shifted } from '../../src/calls/transcribe/protocol.rules.ts'
import { splitCommandLine } from '../../src/platform/lifecycle/command-line.ts'

describe('settings of transcription', () => {
  test('transcription is off by default', () => {
    expect(loadConfig({}).transcribe).toBeNull()
    expect(loadConfig({ TRANSCRIBE_MODEL: 'm', TRANSCRIBE_API_KEY: 'k' }).transcribe).toBeNull()
  })

  test('TRANSCRIBE_URL names a server, with a model and an optional key', () => {
    const env = { TRANSCRIBE_URL: 'https://speech.test/v1/', TRANSCRIBE_MODEL: 'whisper-1' }
    expect(loadConfig(env).transcribe).toEqual({
      kind: 'server',
      url: 'https://speech.test/v1',
      model: 'whisper-1',
      apiKey: null,
    })
    expect(loadConfig({ ...env, TRANSCRIBE_API_KEY: 'k' }).transcribe).toMatchObject({ apiKey: 'k' })
  })

  test('TRANSCRIBE_COMMAND names a program, which does not see the settings of the service', () => {
    const env = {
      TRANSCRIBE_COMMAND: 'whisper-cli -m "/models/large v3.bin" -f {audio}',
      DATABASE_URL: 'postgres://u:hush@db/x',
      TRANSCRIBE_API_KEY: 'hush',
      SMTP_URL: 'smtp://u:hush@mail',
      MAIL_FROM: 'a@b.test',
      PATH: '/usr/bin',
      HF_TOKEN: 'theirs',
      UNSET: undefined,
    }
    expect(loadConfig(env).transcribe).toEqual({
      kind: 'command',
      command: ['whisper-cli', '-m', '/models/large v3.bin', '-f', '{audio}'],
      environment: { PATH: '/usr/bin', HF_TOKEN: 'theirs' },
    })
  })

  test.each([
    [
      { TRANSCRIBE_URL: 'http://a.test', TRANSCRIBE_MODEL: 'm', TRANSCRIBE_COMMAND: 'x' },
      'TRANSCRIBE_COMMAND',
    ],
    [{ TRANSCRIBE_URL: 'http://a.test' }, 'TRANSCRIBE_MODEL'],
    [{ TRANSCRIBE_URL: 'ftp://a.test', TRANSCRIBE_MODEL: 'm' }, 'TRANSCRIBE_URL'],
    [{ TRANSCRIBE_COMMAND: "whisper 'open" }, 'TRANSCRIBE_COMMAND'],
  ])('%j is refused in one line that names the variable', (env, name) => {
    const load = () => loadConfig(env)
    expect(load).toThrow(name)
    expect(load).not.toThrow('\n')
  })
})

describe('a command line', () => {
  test.each([
    ['whisper  -f\t{audio} ', ['whisper', '-f', '{audio}']],
    [`a 'b "c' "d 'e"`, ['a', 'b "c', "d 'e"]],
    [`--prompt="two words"'and three'\\ more`, ['--prompt=two wordsand three more']],
    [`"a \\"b\\" \\\\ \\n \\$HOME"`, ['a "b" \\ \\n $HOME']],
    ["x ''", ['x', '']],
    [`sh -c 'cat "$0" | tr a b' {audio}`, ['sh', '-c', 'cat "$0" | tr a b', '{audio}']],
    ['a $HOME *.wav', ['a', '$HOME', '*.wav']],
  ])('%s', (line, words) => {
    expect(splitCommandLine(line)).toEqual(words)
  })

  test.each(['', '   ', "a 'b", 'a "b', 'a "b\\"', 'a\\', "a'b"])('%p is invalid', (line) => {
    expect(splitCommandLine(line)).toBeNull()
  })
})

describe('the protocol', () => {
  test.each([
    ['whisper-1', 'verbose_json', 1200, false],
    ['Systran/faster-whisper-large-v3', 'verbose_json', 1200, false],
    ['gpt-4o-transcribe', 'json', 60, false],
    ['gpt-4o-transcribe-diarize', 'diarized_json', 1200, true],
  ])('%s is asked for %s', (model, format, seconds, labels) => {
    const { fields, pieceSeconds, hasLabels } = protocolOf(model)
    expect(fields).toContainEqual(['response_format', format])
    expect([pieceSeconds, hasLabels]).toEqual([seconds, labels])
  })

  test('times of a piece are shifted to its position and bounded by its end', () => {
    const segment = { speaker: null, text: 'x' }
    expect(
      shifted(
        [
          { ...segment, startSec: 1, endSec: 2.5 },
          { ...segment, startSec: null, endSec: null },
          { ...segment, startSec: 9, endSec: 40 },
        ],
        { startSec: 100, endSec: 110 },
      ).map(({ startSec, endSec }) => [startSec, endSec]),
    ).toEqual([
      [101, 102.5],
      [100, 110],
      [109, 110],
    ])
  })

  test('the reference clip of a new speaker is their longest utterance, 2 to 10 seconds', () => {
    const said = (speaker: string | null, startSec: number, endSec: number) => ({
      speaker,
      startSec,
      endSec,
      text: 'x',
    })
    const segments = [
      said('A', 0, 3),
      said('B', 3, 20),
      said('A', 20, 25),
      said('C', 25, 26),
      said('D', 30, 40),
    ]
    expect(referencesOf(segments, { startSec: 0, endSec: 60 }, ['D'])).toEqual([
      { name: 'A', startSec: 20, endSec: 25 },
      { name: 'B', startSec: 3, endSec: 13 },
    ])
    expect(referencesOf([said('E', 0, 9)], { startSec: 0, endSec: 60 }, ['A', 'B', 'C', 'D'])).toEqual([])
  })
})

describe('audio is cut', () => {
  const rate = 1_000
  const samples = (...loudness: readonly number[]) =>
    Int16Array.from(
      loudness.flatMap((value) => Array.from({ length: rate }, (_, i) => (i % 2 ? value : -value))),
    )

  test('in the middle of the quietest pause', () => {
    const moment = quietestMoment(samples(9_000, 50, 9_000, 200, 9_000), rate)
    expect(moment).toBeWithin(1_000, 2_000)
  })

  test('in the last of equally quiet pauses, and at the end if the rest is tiny', () => {
    expect(quietestMoment(samples(0, 9_000, 0, 9_000), rate)).toBe(2_850)
    expect(quietestMoment(new Int16Array(0), rate)).toBe(0)
  })
})
