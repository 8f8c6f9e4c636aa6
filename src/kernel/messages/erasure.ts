/** Messages to the actor of a person's erasure. */
import { Type } from '@sinclair/typebox'
import { declareActor } from '../../actors/declaration.ts'

export const erasureMessages = declareActor('erasure', 'long', {
  /** The person's row is gone, and the erasure says which data is left. */
  erase: Type.Object({}),
})
