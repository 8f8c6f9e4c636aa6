/**
 * Session progress: how far a session advances through its stored events, in order of sequence. The watermark is the sequence up
 * to which all events are processed.
 *
 * An open session waits at a gap, because the missing event may still come. In a terminal session all gaps are permanent. In an open
 * session the idle time-out makes the gaps up to a given sequence permanent. Numbering starts at 0 or at 1.
 */

import type { EventBody } from '../events/sanitize.ts'
import type { Rating } from '../model.ts'

export interface ProgressInput<E> {
  /** Every sequence up to this one is processed; -1: none. */
  readonly watermark: number
  readonly terminal: boolean
  /** Gaps below this sequence are permanent; null: no gap is. */
  readonly gapsPermanentThrough: number | null
  /** The lowest stored events above the watermark, in order of sequence. */
  readonly next: readonly E[]
  /** True where more events are stored above these. */
  readonly hasMore: boolean
}

export interface ProgressStep<E> {
  /** In order of sequence. */
  readonly process: readonly E[]
  /** The watermark after the events of `process`. */
  readonly newWatermark: number
  /** True where events are stored beyond a gap that may still be filled. */
  readonly waitingAtGap: boolean
  /** True where more events can be processed at once. */
  readonly again: boolean
}

/** Selects the events to process now. */
export function advance<E extends { readonly sequence: number }>(input: ProgressInput<E>): ProgressStep<E> {
  let newWatermark = input.watermark
  let count = 0
  for (const event of input.next) {
    if (!input.terminal && isOpenGap(newWatermark, event.sequence, input.gapsPermanentThrough)) break
    newWatermark = event.sequence
    count++
  }
  const waitingAtGap = count < input.next.length
  return {
    process: input.next.slice(0, count),
    newWatermark,
    waitingAtGap,
    again: input.hasMore && !waitingAtGap,
  }
}

/** True where an event between the two sequences is missing and may still come. */
function isOpenGap(watermark: number, sequence: number, permanentThrough: number | null): boolean {
  if (permanentThrough !== null && sequence <= permanentThrough) return false
  // A session may start at 1, so a missing 0 is no gap.
  const expected = watermark === -1 ? 1 : watermark + 1
  return sequence > expected
}

/** A stored event as session progress reads it. */
export interface ProgressEvent {
  readonly externalEventId: string
  readonly sequence: number
  readonly revision: number
  readonly type: string
  readonly final: boolean
  readonly body: EventBody
}

/** An explicit-feedback signal as it is stored. A member is null where the event does not give it or content capture was off. */
export interface FeedbackSignal {
  readonly source: 'explicit_feedback'
  readonly kind: 'message_feedback'
  readonly externalEventId: string
  readonly targetEventExternalId: string | null
  readonly sequence: number
  readonly revision: number
  readonly rating: Rating | null
  readonly labels: readonly string[]
  readonly comment: string | null
  readonly participantExternalId: string | null
}

/**
 * The signal of an event. Every final feedback event makes exactly one, unless it is retracted. Other events make none: null.
 */
export function signalOf(event: ProgressEvent): FeedbackSignal | null {
  if (event.type !== 'feedback' || !event.final) return null
  const feedback = event.body.feedback ?? {}
  if (feedback.retracted) return null
  return {
    source: 'explicit_feedback',
    kind: 'message_feedback',
    externalEventId: event.externalEventId,
    targetEventExternalId: feedback.targetEventExternalId ?? null,
    sequence: event.sequence,
    revision: event.revision,
    rating: feedback.rating ?? null,
    labels: feedback.labels ?? [],
    comment: feedback.comment ?? null,
    participantExternalId: event.body.participantExternalId ?? null,
  }
}
