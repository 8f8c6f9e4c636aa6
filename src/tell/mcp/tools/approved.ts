/** The member of every tool that changes something. */
import { Type } from '@sinclair/typebox'

export const approvalMember = {
  userApproved: Type.Optional(
    Type.Boolean({
      description:
        'Set it to true only after the user has agreed to this very call. Needed where the client cannot ask its user by ' +
        'elicitation; where it can, the user is asked in any case.',
    }),
  ),
}
