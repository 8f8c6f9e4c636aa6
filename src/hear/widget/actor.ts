/**
 * Stores what visitors say. A visitor may answer before the agent's server has sent the response to Earshot, so feedback about an unknown
 * response is tried again for about four minutes. Then it is dropped: it is a guess, or a mistake of the page.
 */
import { defineActor } from '../../actors/declaration.ts'
import type { ActorDefinition } from '../../actors/types.ts'
import { visitorFeedbackMessages } from '../../kernel/messages/visitor-feedback.ts'
import type { StoreVisitorFeedback } from '../agents/ingest/visitor-feedback.ts'

/** The pauses are 0.5 s, 1 s, 2 s, … 128 s. */
const MAX_ATTEMPTS = 10

export function visitorFeedbackActor(storeFeedback: StoreVisitorFeedback): ActorDefinition {
  return defineActor(visitorFeedbackMessages, {
    maxAttempts: MAX_ATTEMPTS,
    handlers: {
      async store(turn) {
        const outcome = await storeFeedback(turn.message.payload)
        if (outcome === 'unknown') throw new Error('the response is not stored yet')
        if (outcome === 'refused') turn.log.info({}, 'feedback of a visitor was refused')
        await turn.finish(async () => {})
      },
    },
    giveUp: { store: async () => 'handled' },
  })
}
