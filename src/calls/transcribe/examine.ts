/** Describes and checks the transcription settings for an operator. */
import type { TranscribeConfig } from '../../kernel/config.ts'
import { openAiRemedy, reachOpenAi } from '../../platform/net/openai-compatible.ts'
import type { MediaPrograms } from '../media/programs.ts'

const BUDGET_MS = 5_000

/** `ok` is false if something is missing on this machine, or the server does not give its list of models, which costs no transcription. */
export async function examineTranscription(
  transcribe: TranscribeConfig | null,
  { ffmpeg }: Pick<MediaPrograms, 'ffmpeg'>,
): Promise<{ readonly ok: boolean; readonly detail: string }> {
  const detail = describeTranscription(transcribe)
  if (transcribe === null) return { ok: true, detail }
  if (ffmpeg === null || Bun.which(ffmpeg) === null)
    return { ok: false, detail: `${detail}, but ffmpeg, which extracts the audio, was not found` }
  if (transcribe.kind === 'command') {
    const [program = ''] = transcribe.command
    if (Bun.which(program, { PATH: transcribe.environment.PATH ?? '' }) === null)
      return { ok: false, detail: `TRANSCRIBE_COMMAND is ${program}, which was not found` }
  }
  if (transcribe.kind === 'server') {
    try {
      await reachOpenAi(transcribe, BUDGET_MS)
    } catch (error) {
      const reason = String((error as Error).message)
      return { ok: false, detail: `${detail}, which ${reason}. ${openAiRemedy(error, 'TRANSCRIBE')}` }
    }
  }
  return { ok: true, detail }
}

/** Omits arguments and credentials, which a URL may contain. */
export function describeTranscription(transcribe: TranscribeConfig | null): string {
  if (transcribe === null) return 'off: transcripts come with their recordings'
  if (transcribe.kind === 'command') return `by ${transcribe.command[0]}`
  return `by ${transcribe.model} at ${new URL(transcribe.url).host}`
}
