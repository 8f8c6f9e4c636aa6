/**
 * The actor of a recording's transcription. It has a mailbox of its own: an attempt may take hours, and so may the wait for the next
 * one, and neither holds up other media of the recording, nor does other media hold up what follows a transcript.
 */

import { defineActor } from '../../actors/declaration.ts'
import type { ActorDefinition } from '../../actors/types.ts'
import type { AnalyzerDeps } from '../../analysis/analyze/create.ts'
import { createSummarizer } from '../../analysis/analyze/create.ts'
import type { Summarizer } from '../../analysis/analyze/summarizer.ts'
import type { Deps } from '../../kernel/deps.ts'
import { transcriptionMessages } from '../../kernel/messages/transcription.ts'
import { findPrograms } from '../media/programs.ts'
import { INDEXING_ATTEMPTS, transcriptHandlers } from '../transcripts/indexing.ts'
import { createTranscriber } from './create.ts'
import type { Transcriber } from './transcriber.ts'
import { giveUpTranscription, TRANSCRIBE_ATTEMPTS, transcribeHandlers } from './transcription.ts'

export function transcriptionActor(
  deps: Pick<
    Deps & AnalyzerDeps,
    'config' | 'storage' | 'newId' | 'clock' | 'requestWork' | 'modelServer' | 'textWork'
  >,
  transcriber: Transcriber | null = createTranscriber(
    deps.config,
    findPrograms(deps.config),
    deps.requestWork,
  ),
  summarizer: Summarizer = createSummarizer(deps),
): ActorDefinition {
  return defineActor(transcriptionMessages, {
    maxAttempts: TRANSCRIBE_ATTEMPTS,
    maxAttemptsOf: { transcript_completed: INDEXING_ATTEMPTS },
    handlers: { ...transcribeHandlers({ ...deps, transcriber }), ...transcriptHandlers(summarizer) },
    giveUp: { transcribe: giveUpTranscription },
  })
}
