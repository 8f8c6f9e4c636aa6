/** Messages to the actor of a merge of people. The actor's key has the public id of the person who was merged into another one. */
import { Type } from '@sinclair/typebox'
import { declareActor } from '../../actors/declaration.ts'

export const personMergeMessages = declareActor('person_merge', 'long', {
  /** The two are one person, and references to the merged one are left. */
  move: Type.Object({ organizationId: Type.String() }),
})
