/** Messages to the actors of coding-agent sessions. */
import { Type } from '@sinclair/typebox'
import { declareActor } from '../../actors/declaration.ts'

export const codingSessionMessages = declareActor('coding-session', 'media', {
  /** The last byte of a session file is stored. The actor's key has the upload's id. */
  process_upload: Type.Object({}),
  /** The session was deleted, and its events follow in batches. The actor's key has the session's id. */
  delete_events: Type.Object({}),
})
