/** Messages to the actor of a form submission. */
import { Type } from '@sinclair/typebox'
import { declareActor } from '../../actors/declaration.ts'

export const formMessages = declareActor('form', 'long', {
  notify_team: Type.Object({}),
  /** As `send` of `confirmation`, from a version in which one actor sent both mails. */
  confirm: Type.Object({}),
})

/** The mail to the sender of a form has an actor of its own, so that a mailbox of the team that is full does not hold it. */
export const confirmationMessages = declareActor('confirmation', 'long', { send: Type.Object({}) })
