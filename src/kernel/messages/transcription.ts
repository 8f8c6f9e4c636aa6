/** Messages to the actor of a recording's transcription. Its key has the recording's id. */
import { Type } from '@sinclair/typebox'
import { declareActor } from '../../actors/declaration.ts'

export const transcriptionMessages = declareActor('transcription', 'media', {
  /** The transcript of the recording is `queued`. */
  transcribe: Type.Object({}),
  /** The transcript changed while the recording may wait for other media: it is indexed and summarized. */
  transcript_completed: Type.Object({}),
})
