/** Messages to the actor of the mail that asks a person whether they become a member of an organization. */
import { Type } from '@sinclair/typebox'
import { declareActor } from '../../actors/declaration.ts'

export const invitationMessages = declareActor('invitation', 'long', {
  /** Sends the link, if the invitation still stands. */
  send: Type.Object({
    userId: Type.String(),
    /** Of the service, without a trailing slash. */
    baseUrl: Type.String(),
  }),
})
