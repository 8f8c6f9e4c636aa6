/**
 * What the session's actor does next: walk the stored events in order of sequence, from a watermark.
 *
 * The rule: an open session waits at a gap, since the missing event may still come; a terminal one takes its gaps as
 * permanent, and so does an open one below the point that the idle time-out declared. Numbering starts at 0 or at 1.
 */

import type { EventBody } from '../events/sanitize.ts'
import type { Rating } from '../model.ts'

export interface ProgressInput<E> {
  /** Every sequence up to here was walked; -1: none. */
  readonly watermark: number
  readonly terminal: boolean
  /** Gaps below this sequence are permanent; null: none is. */
  readonly gapsPermanentThrough: number | null
  /** The lowest stored events above the watermark, in order of sequence. */
  readonly next: readonly E[]
  /** There are more stored events above these. */
  readonly hasMore: boolean
}

export interface ProgressStep<E> {
  /** In order of sequence. */
  readonly process: readonly E[]
  /** The watermark when these are processed. */
  readonly newWatermark: number
  /** Stored events lie beyond a gap that may still be filled. */
  readonly waitingAtGap: boolean
  /** There is more to walk right away. */
  readonly again: boolean
}

/** The events to process now. */
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

/** True where a sequence between the two is missing that may still come. */
function isOpenGap(watermark: number, sequence: number, permanentThrough: number | null): boolean {
  if (permanentThrough !== null && sequence <= permanentThrough) return false
  // Before the first event only 0 can be missing without being waited for.
  const expected = watermark === -1 ? 1 : watermark + 1
  return sequence > expected
}

/** The stored event as the actor reads it. */
export interface ProgressEvent {
  readonly externalEventId: string
  readonly sequence: number
  readonly revision: number
  readonly type: string
  readonly final: boolean
  readonly body: EventBody
}

/** An explicit-feedback signal as it is stored; null where a member was not given or not kept. */
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
 * The signal that an event makes: every final feedback event that is not retracted makes exactly one, from what is stored of
 * it. Others make none: null.
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
