/** Creates the transcriber from the settings. */
import type { Config } from '../../kernel/config.ts'
import type { RequestWork } from '../../platform/concurrency/work.ts'
import { createProbe } from '../media/probe.ts'
import type { MediaPrograms } from '../media/programs.ts'
import { createCommandTranscriber } from './command.ts'
import { createReadOutput } from './read-output.ts'
import { createServerTranscriber } from './server.ts'
import type { Transcriber } from './transcriber.ts'

/** @returns null if none is configured */
export function createTranscriber(
  { transcribe }: Pick<Config, 'transcribe'>,
  programs: MediaPrograms,
  requestWork: RequestWork,
): Transcriber | null {
  if (transcribe === null) return null
  const tools = { probe: createProbe(programs), ffmpeg: programs.ffmpeg }
  const readOutput = createReadOutput(requestWork)
  return transcribe.kind === 'server'
    ? createServerTranscriber(transcribe, tools, readOutput)
    : createCommandTranscriber(transcribe, tools, readOutput)
}
