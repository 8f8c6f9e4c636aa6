/**
 * `@earshot/sdk/ai-sdk`: hands over what `generateText` and `streamText` of the Vercel AI SDK (version 7) say, as a telemetry integration.
 * The messages of the call and its answer are the history; so give the call the whole history, as chats do.
 */
import {
  byConversationId,
  Running,
  type SessionOf,
  type Sessions,
  sessionFor,
  withoutId,
} from './session-of.ts'

interface Started {
  readonly callId: string
  readonly operationId: string
  readonly runtimeContext?: unknown
  readonly messages?: unknown
}

interface Ended {
  readonly callId: string
  readonly responseMessages?: unknown
}

/** The part of the AI SDK's `Telemetry` that is used. */
export interface EarshotTelemetry {
  onStart(event: unknown): void
  onEnd(event: unknown): void
  onError(event: unknown): void
  onAbort(event: unknown): void
}

/**
 * For `registerTelemetry(…)`, or for `telemetry.integrations` of one call.
 * @param sessionOf gets the call's `runtimeContext`, of which the AI SDK passes on only what `telemetry.includeRuntimeContext` names.
 * Default: its member `conversationId`
 */
export function earshotTelemetry(
  earshot: Sessions,
  sessionOf: SessionOf = byConversationId,
): EarshotTelemetry {
  const calls = new Running<Started>()
  const hand = (callId: string | undefined, answer: unknown) => {
    const call = calls.end(callId ?? '')
    if (call === null) return
    const history = [call.messages ?? [], answer ?? []].flat()
    sessionFor(earshot, sessionOf, call.runtimeContext)?.sync(history.map(withoutId))
  }
  return {
    onStart(event) {
      const call = event as Started
      if (TEXT_OPERATIONS.has(call.operationId)) calls.start(call.callId, call)
    },
    onEnd(event) {
      const { callId, responseMessages } = event as Ended
      hand(callId, responseMessages)
    },
    // The user's words count also where no answer came.
    onError: (event) => hand((event as Partial<Ended> | null)?.callId, []),
    onAbort: (event) => hand((event as Partial<Ended> | null)?.callId, []),
  }
}

const TEXT_OPERATIONS: ReadonlySet<string> = new Set(['ai.generateText', 'ai.streamText'])
