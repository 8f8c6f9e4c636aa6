/**
 * A transcriber that runs a local program. The program gets a WAV file (mono, 16 kHz, 16 bits) in place of `{audio}`,
 * or as its last argument. It writes a transcript to standard output in a format that `output.rules.ts` parses.
 */
import type { TranscribeConfig } from '../../kernel/config.ts'
import { ProgramError, runProgram } from '../../platform/lifecycle/program.ts'
import { type AudioTools, extractAudioTrack } from './audio-track.ts'
import { decodeOutput } from './output.rules.ts'
import type { ReadOutput } from './read-output.ts'
import { ATTEMPTS, type Transcriber, TranscriberError } from './transcriber.ts'

export type CommandOptions = Extract<TranscribeConfig, { readonly kind: 'command' }> & {
  /** Time limit in milliseconds for audio of that length; for tests. */
  readonly timeLimitMs?: (seconds: number) => number
}

const PLACE = '{audio}'
const MAX_OUTPUT_BYTES = 32 * 1024 * 1024
/** Six times playback time plus time to load a model, but less than the limit of a turn. */
const timeLimitFor = (seconds: number) => Math.min(10 * 60_000 + seconds * 6_000, 110 * 60_000)

export function createCommandTranscriber(
  options: CommandOptions,
  tools: AudioTools,
  readOutput: ReadOutput,
): Transcriber {
  const { command, environment, timeLimitMs = timeLimitFor } = options
  return {
    name: 'command',
    async transcribe(media, signal) {
      const track = await extractAudioTrack(tools, media, signal)
      if (track === null) return { segments: [], durationSeconds: media.durationSeconds }
      const { path, durationSeconds } = track
      const timeoutMs = timeLimitMs(durationSeconds)
      const limits = { environment, signal, timeoutMs, maxOutputBytes: MAX_OUTPUT_BYTES }
      const output = await run(commandFor(command, path), { ...limits, folder: media.folder })
      const segments = await readOutput(output)
      if (segments === null)
        throw new TranscriberError(
          'TRANSCRIBE_COMMAND wrote JSON or times that are not a transcript',
          ATTEMPTS.program,
        )
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
  const chunks: Uint8Array[] = []
  try {
    await runProgram(command, { ...options, onOutput: (chunk) => void chunks.push(chunk) })
    return decodeOutput(Buffer.concat(chunks))
  } catch (error) {
    if (!(error instanceof ProgramError)) throw error
    const { message, lastWords } = error
    const output = lastWords === '' ? '' : `; end of its error output: ${lastWords}`
    throw new TranscriberError(`TRANSCRIBE_COMMAND: ${message}${output}`, ATTEMPTS.program, { cause: error })
  }
}
