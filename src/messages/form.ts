/** Messages to the actor of a form submission. */
import { Type } from '@sinclair/typebox'
import { declareActor } from '../actors/declaration.ts'

export const formMessages = declareActor('form', 'long', {
  notify_team: Type.Object({}),
  /** Sends the confirmation to the address of the submission. */
  confirm: Type.Object({}),
})
