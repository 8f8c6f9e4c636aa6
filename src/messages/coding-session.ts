/** Messages to the actors of coding-agent sessions. */
import { Type } from '@sinclair/typebox'
import { declareActor } from '../actors/declaration.ts'

export const codingSessionMessages = declareActor('coding-session', 'media', {
  /** The session was deleted, and its events follow in batches. The actor's key has the session's id. */
  delete_events: Type.Object({}),
})
