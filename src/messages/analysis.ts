/** Messages to the actor that analyses the responses of a session. Its key has the session's id. */
import { Type } from '@sinclair/typebox'
import { declareActor } from '../actors/declaration.ts'

export const analysisMessages = declareActor('analysis', 'analysis', {
  /** Responses of the session are in state `metered`. */
  analyze: Type.Object({}),
  /** The session was analysed by rules only. */
  refine: Type.Object({}),
})
