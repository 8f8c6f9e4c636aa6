/** Messages to the actor of a member's weekly mail. */
import { Type } from '@sinclair/typebox'
import { declareActor } from '../../actors/declaration.ts'

export const weeklyMailMessages = declareActor('weekly_mail', 'long', {
  /** Sends the summary of a week, if the member still wants it. */
  send: Type.Object({
    /** The Monday on which the week begins. Earlier versions wrote its midnight in UTC. */
    since: Type.String(),
    /** The Monday after it. */
    until: Type.String(),
  }),
})
