/** The settings that begin with `TRANSCRIBE_`. */
import type { TranscribeConfig } from '../../kernel/config.ts'
import { splitCommandLine } from '../../platform/lifecycle/command-line.ts'
import { ConfigError, type reader } from './reader.ts'

/** Call it last: the environment of a command leaves out every variable that was read before. */
export function transcribeConfig(read: ReturnType<typeof reader>): TranscribeConfig | null {
  const url = read.url('TRANSCRIBE_URL')
  const line = read.text('TRANSCRIBE_COMMAND')
  const model = read.text('TRANSCRIBE_MODEL')
  const apiKey = read.text('TRANSCRIBE_API_KEY')
  if (line === null) {
    if (url === null) return null
    if (model === null)
      throw new ConfigError('TRANSCRIBE_MODEL is not set, but must name the model when TRANSCRIBE_URL is set')
    return { kind: 'server', url, model, apiKey }
  }
  if (url !== null)
    throw new ConfigError('TRANSCRIBE_COMMAND is set, but must not be when TRANSCRIBE_URL is set')
  const command = splitCommandLine(line)
  if (command === null)
    throw new ConfigError('TRANSCRIBE_COMMAND must be a command line, but a quote in it is open at the end')
  return { kind: 'command', command, environment: read.others() }
}
