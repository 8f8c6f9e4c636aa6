/** Erases a person from comments of visitors that wait for their session. */
import { changePayloads } from '../../actors/waiting-payloads.ts'
import { visitorFeedbackMessages } from '../../kernel/messages/visitor-feedback.ts'
import type { ErasureReach } from '../../people/erasure.ts'

export const visitorFeedbackErasure: ErasureReach = {
  name: 'visitor_feedback',
  async step(tx, { organizationId, requestedAt, eraser }) {
    const { kind } = visitorFeedbackMessages
    const changed = await changePayloads(tx, organizationId, kind, (payload) => {
      const { comment, receivedAt } = payload as { readonly comment?: string; readonly receivedAt?: string }
      if (comment === undefined) return payload
      if (receivedAt !== undefined && new Date(receivedAt) > requestedAt) return payload
      const erased = eraser.text(comment)
      return erased === comment ? payload : { ...(payload as object), comment: erased }
    })
    return { next: null, counts: {}, changed: changed > 0 }
  },
}
