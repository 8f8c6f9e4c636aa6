/**
 * Generates random agent conversations and random ways to send them, for property tests. Also computes the expected
 * result with a model that is too simple to be wrong.
 */
import fc from 'fast-check'
import { assistantMessage, feedbackOn, type SentEvent, userMessage } from './agents.ts'

/** An event in all its revisions, lowest first. */
export interface Thread {
  readonly id: string
  readonly sequence: number
  readonly type: string
  readonly revisions: readonly SentEvent[]
}

/**
 * One step of a client: several events in one request, sent in several copies, together with some earlier requests. All
 * of them are concurrent.
 */
export interface Step {
  /** Which of the events with unsent revisions, by position. */
  readonly picks: readonly number[]
  /** The maximum number of revisions of each event in the request, newest first. */
  readonly revisions: number
  readonly copies: number
  /** Which of the earlier accepted requests, by position. */
  readonly repeats: readonly number[]
}

export interface Plan {
  readonly threads: readonly Thread[]
  readonly steps: readonly Step[]
  /** The step after which the session ends. Null: it stays open. */
  readonly endsAt: number | null
}

const USER_TEXTS = [
  'How do I export my data?',
  'That did not work',
  'Thanks, that worked',
  'This is terrible!',
  'ok',
]

const slot = fc.record({
  kind: fc.constantFrom('user', 'user', 'assistant', 'assistant', 'feedback', 'tool'),
  /** How many sequence numbers are skipped before it. */
  gap: fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(2) }),
  partials: fc.nat(2),
  finals: fc.nat(2),
  isVisible: fc.boolean(),
  texts: fc.array(fc.constantFrom(...USER_TEXTS), { minLength: 5, maxLength: 5 }),
  ratings: fc.array(fc.constantFrom('positive', 'negative'), { minLength: 5, maxLength: 5 }),
  target: fc.nat(),
  /** The last of several revisions of feedback retracts it. */
  isRetracted: fc.boolean(),
  /** The time between two revisions. */
  leap: fc.integer({ min: 1, max: 3 }),
})
type Slot = typeof slot extends fc.Arbitrary<infer T> ? T : never

const step = fc.record({
  picks: fc.array(fc.nat(50), { minLength: 1, maxLength: 6 }),
  revisions: fc.integer({ min: 1, max: 3 }),
  copies: fc.integer({ min: 1, max: 3 }),
  repeats: fc.array(fc.nat(50), { maxLength: 2 }),
})

export const plan: fc.Arbitrary<Plan> = fc
  .record({
    start: fc.nat(2),
    slots: fc.array(slot, { minLength: 1, maxLength: 10 }),
    steps: fc.array(step, { maxLength: 12 }),
    endsAt: fc.option(fc.nat(12), { nil: null }),
  })
  .map(({ start, slots, steps, endsAt }) => ({ threads: threadsOf(start, slots), steps, endsAt }))

function threadsOf(start: number, slots: readonly Slot[]): readonly Thread[] {
  const threads: Thread[] = []
  let sequence = start - 1
  for (const one of slots) {
    sequence += 1 + one.gap
    const targets = threads.filter((thread) => thread.type === 'assistant_message')
    threads.push(threadOf(one, sequence, targets[one.target % Math.max(1, targets.length)]?.id))
  }
  return threads
}

function threadOf(one: Slot, sequence: number, target: string | undefined): Thread {
  const count = Math.max(1, one.partials + one.finals)
  const revisions = Array.from({ length: count }, (_, index) => ({
    ...eventOf(one, sequence, target, index),
    ...(one.isRetracted && one.kind === 'feedback' && target !== undefined && index > 0 && index === count - 1
      ? { feedback: { targetEventExternalId: target } }
      : {}),
    revision: 1 + index * one.leap,
    final: index >= one.partials || one.partials + one.finals === 0,
  }))
  const { externalEventId, type } = eventOf(one, sequence, target, 0)
  return { id: externalEventId, sequence, type, revisions }
}

function eventOf(one: Slot, sequence: number, target: string | undefined, index: number): SentEvent {
  const text = one.texts[index] ?? ''
  if (one.kind === 'assistant')
    return assistantMessage(sequence, { content: one.isVisible ? `${index} ${text}` : ' ' })
  if (one.kind === 'feedback' && target !== undefined)
    return feedbackOn(target, sequence, { rating: one.ratings[index], comment: text, labels: [text] })
  return userMessage(sequence, { content: text, ...(one.kind === 'tool' ? { type: 'tool_call' } : {}) })
}

/** The expected result of a conversation, however it is sent. */
export interface Outcome {
  readonly events: readonly { readonly id: string; readonly sequence: number; readonly revision: number }[]
  /** `<id> r<revision>` of each superseded revision. */
  readonly superseded: readonly string[]
  /** Every sequence up to this one is processed. -1: none. */
  readonly watermark: number
  /** Explicit feedback, in order. */
  readonly feedback: readonly {
    readonly event: string
    readonly target: unknown
    readonly rating: unknown
    readonly comment: unknown
    readonly revision: number
  }[]
  /** The events that cost a unit. */
  readonly units: readonly string[]
}

/** Events have their newest revision. An open session is processed up to its first gap. Numbering starts at 0 or at 1. */
export function outcomeOf(threads: readonly Thread[], hasEnded: boolean): Outcome {
  const newest = threads.map(
    (thread) => thread.revisions.at(-1) as SentEvent & { readonly feedback?: object },
  )
  let watermark = -1
  for (const { sequence } of threads)
    if (hasEnded || sequence <= Math.max(watermark + 1, 1)) watermark = sequence
    else break
  const processed = newest.filter((event) => event.final === true && event.sequence <= watermark)
  return {
    events: newest.map(({ externalEventId, sequence, revision }) => ({
      id: externalEventId,
      sequence,
      revision,
    })),
    superseded: threads.flatMap((thread) =>
      thread.revisions.slice(0, -1).map((event) => `${thread.id} r${event.revision}`),
    ),
    watermark,
    feedback: processed.flatMap((event) => {
      if (event.feedback === undefined) return []
      const { targetEventExternalId: target, rating, comment } = event.feedback as Record<string, unknown>
      return rating === undefined
        ? []
        : [{ event: event.externalEventId, target, rating, comment, revision: event.revision }]
    }),
    units: processed
      .filter((event) => event.type === 'assistant_message' && String(event.content).trim() !== '')
      .map((event) => event.externalEventId),
  }
}
