/** Messages to the actors that make what was said searchable. */
import { Type } from '@sinclair/typebox'
import { declareActor } from '../../actors/declaration.ts'

const sequence = Type.Integer({ minimum: -1 })

export const passageMessages = declareActor('passage', 'analysis', {
  /** Messages of the session with the actor's id changed: those after one sequence up to another, and single ones. */
  session: Type.Object({ after: sequence, through: sequence, late: Type.Array(sequence) }),
  /** The recording with the actor's id has another transcript. */
  recording: Type.Object({}),
  /** Feedback records of the organization with the actor's id are new. */
  feedback: Type.Object({ recordIds: Type.Array(Type.Integer({ minimum: 1 })) }),
})

/** The whole session changed. */
export const reindexSession = (organizationId: string, sessionId: string) =>
  passageMessages.message(sessionId, 'session', {
    organizationId,
    payload: { after: -1, through: Number.MAX_SAFE_INTEGER, late: [] },
  })
