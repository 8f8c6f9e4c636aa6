/**
 * The transcriber behind a program of this machine. It is given a WAV file (mono, 16 kHz, 16 bits) in the place of `{audio}`, or
 * as its last argument, and writes a transcript to its standard output in one of the forms of output.rules.ts.
 */
import type { TranscribeConfig } from '../config.ts'
import { ProgramError, runProgram } from '../platform/lifecycle/program.ts'
import type { ReadOutput } from './read-output.ts'
import { extractSoundTrack, type SoundTools } from './sound-track.ts'
import { ATTEMPTS, type Transcriber, TranscriberError } from './transcriber.ts'

export type CommandOptions = Extract<TranscribeConfig, { readonly kind: 'command' }> & {
  /** Milliseconds for sound of so many seconds; for tests. */
  readonly patienceMs?: (seconds: number) => number
}

const PLACE = '{audio}'
const MAX_OUTPUT_BYTES = 32 * 1024 * 1024
/** Six times as long as it plays, and time to load a model; but less than a turn may take. */
const patienceFor = (seconds: number) => Math.min(10 * 60_000 + seconds * 6_000, 110 * 60_000)

export function createCommandTranscriber(
  options: CommandOptions,
  tools: SoundTools,
  readOutput: ReadOutput,
): Transcriber {
  const { command, environment, patienceMs = patienceFor } = options
  return {
    name: 'command',
    async transcribe(sound, signal) {
      const track = await extractSoundTrack(tools, sound, signal)
      if (track === null) return { segments: [], durationSeconds: sound.durationSeconds }
      const { path, durationSeconds } = track
      const timeoutMs = patienceMs(durationSeconds)
      const limits = { environment, signal, timeoutMs, maxOutputBytes: MAX_OUTPUT_BYTES }
      const output = await run(commandFor(command, path), { ...limits, folder: sound.folder })
      const segments = await readOutput(output)
      if (segments === null)
        throw new TranscriberError('TRANSCRIBE_COMMAND wrote JSON that is no transcript', ATTEMPTS.program)
      return { segments, durationSeconds }
    },
  }
}

function commandFor(command: readonly string[], path: string): readonly string[] {
  return command.some((word) => word.includes(PLACE))
    ? command.map((word) => word.replaceAll(PLACE, path))
    : [...command, path]
}

async function run(command: readonly string[], options: Parameters<typeof runProgram>[1]): Promise<string> {
  try {
    return await runProgram(command, options)
  } catch (error) {
    if (!(error instanceof ProgramError)) throw error
    const { message, lastWords } = error
    const said = lastWords === '' ? '' : `; its last words: ${lastWords}`
    throw new TranscriberError(`TRANSCRIBE_COMMAND: ${message}${said}`, ATTEMPTS.program, { cause: error })
  }
}
