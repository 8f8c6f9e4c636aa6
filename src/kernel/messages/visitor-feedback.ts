/** Messages to the actor of what visitors of web pages say about one response. */
import { Type } from '@sinclair/typebox'
import { declareActor } from '../../actors/declaration.ts'

export const visitorFeedbackMessages = declareActor('visitor_feedback', 'long', {
  /** Stores the feedback in its session. The comment is redacted already. */
  store: Type.Object({
    organizationId: Type.String(),
    applicationId: Type.String(),
    keyId: Type.String(),
    externalSessionId: Type.String(),
    targetId: Type.String(),
    rating: Type.Union([Type.Literal('positive'), Type.Literal('negative')]),
    comment: Type.Optional(Type.String()),
    /** By the clock of the database. Absent in messages of older versions. */
    receivedAt: Type.Optional(Type.String()),
  }),
})
