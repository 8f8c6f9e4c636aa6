/** Messages to the actors that analyse sessions. Their keys have the session's id. */
import { Type } from '@sinclair/typebox'
import { declareActor } from '../../actors/declaration.ts'
import type { NewMessage } from '../../actors/types.ts'

export const analysisMessages = declareActor('analysis', 'analysis', {
  /** Responses of the session are in state `metered`. */
  analyze: Type.Object({}),
  /** Of older versions: the session was analysed by rules only. */
  refine: Type.Object({}),
})

/** An actor of its own, because a message that waits for its time holds up later messages to the same actor. */
export const sessionReanalysisMessages = declareActor('rereading', 'background', {
  /** The whole conversation is to be analysed by everything that the analyser has. */
  conversation: Type.Object({}),
})

/** Has a whole session analysed in the background. The caller holds the session's row lock. */
export function toReanalyze(organizationId: string, sessionId: string, delayMs = 0): NewMessage {
  const message = sessionReanalysisMessages.message(sessionId, 'conversation', { organizationId, delayMs })
  return { ...message, unless: 'waiting' }
}
