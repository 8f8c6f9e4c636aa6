/** Messages to the actor of a session. All types start the same work: the actor reads what is due. */
import { Type } from '@sinclair/typebox'
import { declareActor } from '../../actors/declaration.ts'

export const sessionMessages = declareActor('session', 'short', {
  /** Events were stored or revised, or the status changed. */
  events_stored: Type.Object({}),
  /** Responses that wait for credits can be metered. */
  credits_added: Type.Object({}),
  /** The session may have been idle at a gap for too long. */
  gap_timeout: Type.Object({}),
})
