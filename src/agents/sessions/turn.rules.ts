/**
 * What a turn of the session's actor does with the events that it walks or goes back for, and what the session then
 * says of its progress. Pure; which events are walked is decided in progress.rules.ts.
 */
import type { ProcessingStatus } from '../model.ts'
import { type FeedbackSignal, type ProgressEvent, signalOf } from './progress.rules.ts'

/** A stored event as a turn reads it. */
export interface TurnEvent extends ProgressEvent {
  /** An assistant response that its reader saw, judged when the event came in. */
  readonly visible: boolean
  /** Content was captured under the settings that the event was stored with. */
  readonly captured: boolean
}

export interface Effects {
  readonly signals: readonly FeedbackSignal[]
  /** Feedback events that may have made a signal in an earlier revision and make none now. */
  readonly retracted: readonly string[]
  /** Visible finalised assistant responses with content: metered once, and analysed. */
  readonly responses: readonly TurnEvent[]
  /** Events that may have been responses in an earlier revision and are none now. */
  readonly withdrawn: readonly string[]
  /** Sequences around which stored responses were read in a context that has changed. */
  readonly changedAround: readonly number[]
}

/** The effects of events that were revised or came late, and of the events walked now, both in order of sequence. */
export function effectsOf(late: readonly TurnEvent[], walked: readonly TurnEvent[]): Effects {
  const events = [...late, ...walked]
  const firstResponse = walked.findIndex(isResponse)
  // Behind the first response of this walk every neighbour is as new as the message itself.
  const beforeIt = firstResponse === -1 ? walked : walked.slice(0, firstResponse)
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

export interface Progress {
  /** By the application's present settings. */
  readonly captureContent: boolean
  /** Stored events are still to be walked, or wait beyond a gap. */
  readonly unprocessed: boolean
  /** Responses by what they wait for: credits, analysis, nobody. */
  readonly blocked: number
  readonly metered: number
  readonly failed: number
}

/**
 * `capture_disabled` before `billing_blocked`, as in the answer to an ingest request; then what is in progress before
 * what waits for events, and the result last.
 */
export function processingStatusOf(progress: Progress): ProcessingStatus {
  if (!progress.captureContent) return 'capture_disabled'
  if (progress.blocked > 0) return 'billing_blocked'
  if (progress.metered > 0) return 'processing'
  if (progress.unprocessed) return 'pending'
  return progress.failed > 0 ? 'failed' : 'completed'
}

/** What a session says by the first of its counts that is not 0; `none`: all are. */
export interface StatusByCount {
  readonly blocked: ProcessingStatus
  readonly metered: ProcessingStatus
  readonly failed: ProcessingStatus
  readonly none: ProcessingStatus
}

/** `processingStatusOf` for who has not counted yet. */
export function statusByCount(progress: Pick<Progress, 'captureContent' | 'unprocessed'>): StatusByCount {
  const none = { ...progress, blocked: 0, metered: 0, failed: 0 }
  return {
    blocked: processingStatusOf({ ...none, blocked: 1 }),
    metered: processingStatusOf({ ...none, metered: 1 }),
    failed: processingStatusOf({ ...none, failed: 1 }),
    none: processingStatusOf(none),
  }
}
