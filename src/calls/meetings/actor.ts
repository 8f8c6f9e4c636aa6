/** The actor of a meeting join. Each message is a reason to check the join; what is due follows from its row. */

import { defineActor } from '../../actors/declaration.ts'
import type { ActorDefinition } from '../../actors/types.ts'
import type { Deps } from '../../kernel/deps.ts'
import { meetingMessages } from '../../kernel/messages/meeting.ts'
import { check } from './check.ts'
import { createCircuitBreaker } from './circuit-breaker.ts'
import type { RecorderDeps } from './recorder.ts'
import type { MeetingFacts } from './results.ts'
import { createLinkSeal } from './sealing.ts'

/** A check that keeps failing becomes a dead letter; maintenance sends the next one. */
export function meetingActor(
  deps: Pick<Deps & RecorderDeps, 'config' | 'metrics' | 'clock' | 'recorder'> & {
    readonly facts: MeetingFacts
  },
): ActorDefinition {
  const tools = { ...deps, circuitBreaker: createCircuitBreaker(), seal: createLinkSeal(deps.config) }
  return defineActor(meetingMessages, {
    maxAttempts: 20,
    handlers: { check: (turn) => check(tools, turn) },
  })
}
