/**
 * The effects of a session's turn: which signals and responses its events make, and which processing status follows. Pure.
 * progress.rules.ts selects the events.
 */
import type { ProcessingStatus } from '../model.ts'
import { type FeedbackSignal, type ProgressEvent, signalOf } from './progress.rules.ts'

/** A stored event as a turn reads it. */
export interface TurnEvent extends ProgressEvent {
  /** True for an assistant response with visible content. Ingestion decides it when the event arrives. */
  readonly visible: boolean
  /** True where the settings that the event was stored under capture content. */
  readonly captured: boolean
}

export interface Effects {
  readonly signals: readonly FeedbackSignal[]
  /** Ids of feedback events that make no signal now, but may have made one in an earlier revision. */
  readonly retracted: readonly string[]
  /** Visible final assistant responses with captured content. Each is metered once, and analysed. */
  readonly responses: readonly TurnEvent[]
  /** Ids of events that are no response now, but may have been one in an earlier revision. */
  readonly withdrawn: readonly string[]
  /** Sequences of changed events. The nearest responses around them must be analysed again. */
  readonly changedAround: readonly number[]
}

/** The effects of late events and of the next events. Both are in order of sequence. */
export function effectsOf(late: readonly TurnEvent[], next: readonly TurnEvent[]): Effects {
  const events = [...late, ...next]
  const firstResponse = next.findIndex(isResponse)
  // A user message after the first new response has only new responses around it, which are analysed anyway.
  const beforeIt = firstResponse === -1 ? next : next.slice(0, firstResponse)
  return {
    signals: events.map(signalOf).filter((signal) => signal !== null),
    retracted: late
      .filter((event) => event.type === 'feedback' && event.final && signalOf(event) === null)
      .map((event) => event.externalEventId),
    responses: events.filter(isResponse),
    withdrawn: late
      .filter((event) => event.type === 'assistant_message' && !isResponse(event))
      .map((event) => event.externalEventId),
    changedAround: [
      ...late.filter((event) => event.type === 'assistant_message' || isUserMessage(event)),
      ...beforeIt.filter(isUserMessage),
    ].map((event) => event.sequence),
  }
}

function isResponse(event: TurnEvent): boolean {
  return event.type === 'assistant_message' && event.final && event.visible && event.captured
}

function isUserMessage(event: TurnEvent): boolean {
  return event.type === 'user_message' && event.final
}

export interface ProcessingState {
  /** By the application's present settings. */
  readonly captureContent: boolean
  /** True where stored events are not processed yet, or wait beyond a gap. */
  readonly unprocessed: boolean
  /** Number of responses that wait for credits. */
  readonly blocked: number
  /** Number of responses that wait for analysis. */
  readonly metered: number
  /** Number of responses whose analysis failed. */
  readonly failed: number
}

/**
 * The processing status of a session. The first condition that holds wins: capture is off, responses wait for credits, responses are
 * analysed, events are not processed yet. Otherwise the session has failed or is completed. Ingestion answers in the same order.
 */
export function processingStatusOf(state: ProcessingState): ProcessingStatus {
  if (!state.captureContent) return 'capture_disabled'
  if (state.blocked > 0) return 'billing_blocked'
  if (state.metered > 0) return 'processing'
  if (state.unprocessed) return 'pending'
  return state.failed > 0 ? 'failed' : 'completed'
}

/** The processing status by the first count of responses that is not 0. `none`: all counts are 0. */
export interface StatusByCount {
  readonly blocked: ProcessingStatus
  readonly metered: ProcessingStatus
  readonly failed: ProcessingStatus
  readonly none: ProcessingStatus
}

/** All results of `processingStatusOf`, for a statement that counts the responses itself. */
export function statusByCount(state: Pick<ProcessingState, 'captureContent' | 'unprocessed'>): StatusByCount {
  const none = { ...state, blocked: 0, metered: 0, failed: 0 }
  return {
    blocked: processingStatusOf({ ...none, blocked: 1 }),
    metered: processingStatusOf({ ...none, metered: 1 }),
    failed: processingStatusOf({ ...none, failed: 1 }),
    none: processingStatusOf(none),
  }
}
