/**
 * A speech recogniser for tests of TRANSCRIBE_COMMAND: PocketSphinx of either version. It prints each word as a
 * segment, in JSON.
 *
 * Argument: a WAV file, mono, 16 kHz.
 */
import { spawnSync } from 'node:child_process'

interface Word {
  readonly start: number
  readonly end: number
  readonly text: string
}

const [audio = ''] = process.argv.slice(2)
const words = Bun.which('pocketsphinx_continuous') === null ? hearByFive(audio) : hearContinuously(audio)
const spoken = words
  .filter(({ text }) => !/^[<[+]/.test(text))
  .map((word) => ({ ...word, text: word.text.replace(/\(\d+\)$/, '') }))
console.log(JSON.stringify({ segments: spoken.length === 0 ? [] : [joined(spoken)] }))

function joined(list: readonly Word[]) {
  return { start: list[0]?.start, end: list.at(-1)?.end, text: list.map(({ text }) => text).join(' ') }
}

/** Up to version 0.8: one line for each word, with its times and its probability. */
function hearContinuously(path: string): readonly Word[] {
  return run('pocketsphinx_continuous', '-infile', path, '-time', 'yes')
    .split('\n')
    .flatMap((line) => {
      const [, text = '', start, end] = /^(\S+) ([\d.]+) ([\d.]+) [\d.]+$/.exec(line) ?? []
      return text === '' ? [] : [{ text, start: Number(start), end: Number(end) }]
    })
}

/** From version 5: its own JSON. */
function hearByFive(path: string): readonly Word[] {
  const { w } = JSON.parse(run('pocketsphinx', 'single', path)) as {
    readonly w: readonly { readonly t: string; readonly b: number; readonly d: number }[]
  }
  return w.map(({ t, b, d }) => ({ text: t, start: b, end: b + d }))
}

function run(program: string, ...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(program, args)
  if (status === 0) return stdout.toString()
  console.error(stderr.toString())
  return process.exit(1)
}
