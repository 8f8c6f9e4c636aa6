/** Messages to the actor of a meeting join. Its key has the join's id. */
import { Type } from '@sinclair/typebox'
import { declareActor } from '../../actors/declaration.ts'

export const meetingMessages = declareActor('meeting', 'long', {
  /** Something may have changed: the actor reads the join, does what is due, and asks the recorder. */
  check: Type.Object({}),
})
