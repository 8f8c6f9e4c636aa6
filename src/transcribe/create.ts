/** Chooses the transcriber that the settings name. */
import type { Config } from '../config.ts'
import { createCommandTranscriber } from './command.ts'
import { createServerTranscriber } from './server.ts'
import type { Transcriber } from './transcriber.ts'

/** null where none is configured. */
export function createTranscriber(config: Pick<Config, 'transcribe' | 'ffmpegPath'>): Transcriber | null {
  const { transcribe } = config
  if (transcribe === null) return null
  return transcribe.kind === 'server'
    ? createServerTranscriber(transcribe, config)
    : createCommandTranscriber(transcribe, config)
}
