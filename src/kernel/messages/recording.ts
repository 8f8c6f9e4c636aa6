/** Messages to the actor of a recording. */
import { Type } from '@sinclair/typebox'
import { declareActor } from '../../actors/declaration.ts'

export const recordingMessages = declareActor('recording', 'media', {
  /** The transcript is there, or changed: it is indexed and summarized. */
  transcript_completed: Type.Object({}),
  /** The media of `assetUrl` is to be fetched. */
  ingest_url: Type.Object({}),
  /** The last byte of an upload is stored. */
  process_upload: Type.Object({ uploadId: Type.String() }),
  /** Sent by versions before `transcription` had an actor of its own. */
  transcribe: Type.Object({}),
})
