/**
 * The actor of a recording's transcription. It has a mailbox of its own: an attempt may take hours, and so may the wait for the next
 * one, and neither holds up other media of the recording.
 */

import { defineActor } from '../actors/declaration.ts'
import type { ActorDefinition } from '../actors/types.ts'
import type { Deps } from '../container.ts'
import { findPrograms } from '../media/programs.ts'
import { transcriptionMessages } from '../messages/transcription.ts'
import { createTranscriber } from './create.ts'
import type { Transcriber } from './transcriber.ts'
import { giveUpTranscription, TRANSCRIBE_ATTEMPTS, transcribeHandlers } from './transcription.ts'

/** `transcribe`: the transcript of the recording is `queued`. */
export function transcriptionActor(
  deps: Pick<Deps, 'config' | 'storage' | 'newId' | 'clock' | 'requestWork'>,
  transcriber: Transcriber | null = createTranscriber(
    deps.config,
    findPrograms(deps.config),
    deps.requestWork,
  ),
): ActorDefinition {
  return defineActor(transcriptionMessages, {
    maxAttempts: TRANSCRIBE_ATTEMPTS,
    handlers: transcribeHandlers({ ...deps, transcriber }),
    giveUp: giveUpTranscription,
  })
}
