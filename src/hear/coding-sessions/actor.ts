/** The actor of coding-agent sessions: work that is too long for a request. */
import { defineActor } from '../../actors/declaration.ts'
import type { ActorDefinition, LongHandler } from '../../actors/types.ts'
import { MAX_TURN_MS } from '../../calls/media/rules.ts'
import { codingSessionMessages } from '../../kernel/messages/coding-session.ts'
import { deleteEvents } from './events.store.ts'
import { giveUpUpload, type ProcessDeps, processUpload } from './process.ts'

const EVENTS_AT_ONCE = 5_000

export function codingSessionActor(deps: ProcessDeps): ActorDefinition {
  return defineActor(codingSessionMessages, {
    maxAttempts: 20,
    // The default time limit is too short for gigabytes.
    turnTimeoutMsOf: { process_upload: MAX_TURN_MS },
    handlers: { process_upload: processUpload(deps), delete_events: deleteAllEvents },
    giveUp: { process_upload: giveUpUpload },
  })
}

const deleteAllEvents: LongHandler = async (turn) => {
  const ref = { organizationId: turn.organization, sessionId: turn.message.id }
  for (;;) {
    turn.signal.throwIfAborted()
    if ((await turn.step((tx) => deleteEvents(tx, ref, EVENTS_AT_ONCE))) < EVENTS_AT_ONCE) break
  }
  await turn.finish(async () => {})
}
