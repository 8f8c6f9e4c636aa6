/** Messages to the actors that analyse what customers said. The key has the id of the session, the feedback record or the recording. */
import { Type } from '@sinclair/typebox'
import { declareActor } from '../actors/declaration.ts'
import type { NewMessage } from '../actors/types.ts'
import type { Channel } from '../insight/model.ts'

export const insightMessages = declareActor('insight', 'analysis', {
  conversation: Type.Object({}),
  feedback: Type.Object({}),
  recording: Type.Object({}),
})

/** Time that an open conversation waits for more messages, to be analysed once. */
const QUIET_MS = 5_000

/** Has a subject analysed. @param isOpen true for a conversation that may go on */
export function toAnalyze(
  organizationId: string,
  channel: Channel,
  id: string | number,
  isOpen = false,
): NewMessage {
  const delay = isOpen ? { delayMs: QUIET_MS } : {}
  return {
    ...insightMessages.message(String(id), channel, { organizationId, ...delay }),
    // A conversation's version has risen before. So a turn that has read the former words sends its message again.
    unlessWaiting: channel === 'conversation',
  }
}
