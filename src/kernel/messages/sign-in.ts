/** Messages to the actor of a mail that was asked for on the sign-in page. */
import { Type } from '@sinclair/typebox'
import { declareActor } from '../../actors/declaration.ts'

export const signInMessages = declareActor('sign_in', 'long', {
  /** Sends a link to the address of the request, if it belongs to a user. */
  send_link: Type.Object({}),
})
