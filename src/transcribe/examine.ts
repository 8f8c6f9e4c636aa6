/** What an operator is told of transcription before anything is transcribed. */
import type { TranscribeConfig } from '../config.ts'
import type { MediaPrograms } from '../media/programs.ts'

/** `ok` is false where something is missing on this machine. A server is not asked: an answer would cost a transcription. */
export function examineTranscription(
  transcribe: TranscribeConfig | null,
  { ffmpeg }: Pick<MediaPrograms, 'ffmpeg'>,
): { readonly ok: boolean; readonly detail: string } {
  const detail = describeTranscription(transcribe)
  if (transcribe === null) return { ok: true, detail }
  if (ffmpeg === null || Bun.which(ffmpeg) === null)
    return { ok: false, detail: `${detail}, but there is no ffmpeg to take sound out of media` }
  if (transcribe.kind === 'command') {
    const [program = ''] = transcribe.command
    if (Bun.which(program, { PATH: transcribe.environment.PATH ?? '' }) === null)
      return { ok: false, detail: `TRANSCRIBE_COMMAND is ${program}, which is not there` }
  }
  return { ok: true, detail }
}

/** Names neither arguments nor credentials, which a URL may have. */
export function describeTranscription(transcribe: TranscribeConfig | null): string {
  if (transcribe === null) return 'off: transcripts come with their recordings'
  if (transcribe.kind === 'command') return `by ${transcribe.command[0]}`
  return `by ${transcribe.model} at ${new URL(transcribe.url).host}`
}
