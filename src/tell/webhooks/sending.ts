/** What turns that send events have in common: they attempt, judge, and record. */
import type { LongTurn, Send } from '../../actors/types.ts'
import { webhookDeliveryMessages, webhookNoticeMessages } from '../../kernel/messages/webhook.ts'
import { type Semaphore, withPermit } from '../../platform/concurrency/semaphore.ts'
import type { Tx } from '../../platform/db/pool.ts'
import type { NewId } from '../../platform/ids.ts'
import { type AttemptDeps, type Attempted, attemptDelivery } from './attempt.ts'
import { GONE, isSuccess, type Ordering, type Verdict, verdictOf } from './delivery.rules.ts'
import type { DeliveryResults } from './metrics.ts'
import * as store from './sending.store.ts'

export interface SendingDeps extends AttemptDeps {
  readonly newId: NewId
  readonly retrySeconds: readonly number[]
  /** Nothing but failures for this long disables a subscription. */
  readonly maxFailingSeconds: number
  /** From 0 to 1. */
  readonly chance: () => number
  readonly results: DeliveryResults
  /** Transactions at a time, so that many slow receivers do not take all connections of the worker. */
  readonly transactions: Semaphore
}

/** An attempt with its consequences. */
export interface Outcome {
  readonly event: store.Sendable
  readonly deliveryId: string
  readonly attempted: Attempted
  readonly verdict: Verdict
  readonly isManual: boolean
}

export interface How {
  readonly ordering: Ordering
  readonly isManual?: boolean
}

export async function attempt(
  deps: SendingDeps,
  receiver: store.Receiver,
  secrets: readonly string[] | null,
  event: store.Sendable,
  signal: AbortSignal,
  { ordering, isManual = false }: How,
): Promise<Outcome> {
  const attempted = await attemptDelivery(deps, receiver.url, secrets, event, signal)
  const schedule = { retrySeconds: deps.retrySeconds, ordering, chance: deps.chance() }
  const verdict = isManual ? manualVerdict(attempted) : verdictOf(event.attempts + 1, attempted, schedule)
  return { event, deliveryId: event.deliveryId ?? deps.newId(), attempted, verdict, isManual }
}

const manualVerdict = ({ status }: Attempted): Verdict => ({
  status: isSuccess(status) ? 'delivered' : 'failed',
  delaySeconds: null,
  pauseSeconds: null,
})

/** A transaction of a turn, one of a few at a time. */
export async function step<T>(
  { transactions }: SendingDeps,
  turn: LongTurn,
  work: (tx: Tx, send: Send) => Promise<T>,
): Promise<T> {
  return withPermit(transactions, turn.signal, () => turn.step(work))
}

/** As `step`, for the last transaction of a turn. */
export async function finish(
  { transactions }: SendingDeps,
  turn: LongTurn,
  work: (tx: Tx, send: Send) => Promise<void>,
): Promise<void> {
  return withPermit(transactions, turn.signal, () => turn.finish(work))
}

/**
 * Records outcomes in the transaction that has locked the subscription. Deliveries that were put aside get a message for their own
 * actor. A subscription that this disables is announced to the team.
 * @param cursor the number of the last event that was handled; null: unchanged
 */
export async function record(
  deps: SendingDeps,
  tx: Tx,
  send: Send,
  receiver: Pick<store.Receiver, 'id' | 'organizationId'>,
  outcomes: readonly Outcome[],
  cursor: number | null,
): Promise<void> {
  const { organizationId } = receiver
  const deliveries = await store.saveAttempts(tx, receiver, outcomes.map(toRow))
  const automatic = outcomes.filter(({ isManual }) => !isManual)
  const newest = automatic.at(-1)
  const disabled = await store.saveProgress(tx, receiver, {
    cursor,
    succeeded: newest === undefined ? null : isSuccess(newest.attempted.status),
    pauseSeconds: automatic.reduce<number | null>(
      (longest, { verdict: { pauseSeconds } }) =>
        pauseSeconds === null ? longest : Math.max(longest ?? 0, pauseSeconds),
      null,
    ),
    isGone: automatic.some(({ attempted }) => attempted.status === GONE),
    maxFailingSeconds: deps.maxFailingSeconds,
  })
  for (const outcome of outcomes) deps.results.count(outcome)
  const aside = outcomes.filter(({ verdict }) => verdict.status === 'retrying')
  await send(
    aside.map(({ event, deliveryId, verdict }) =>
      retryMessage(deliveries.get(event.eventId) ?? deliveryId, organizationId, verdict.delaySeconds ?? 0),
    ),
  )
  if (disabled !== null)
    await send([
      webhookNoticeMessages.message(receiver.id, 'disabled', {
        organizationId,
        payload: { reason: disabled },
      }),
    ])
}

export const retryMessage = (deliveryId: string, organizationId: string, delaySeconds: number) =>
  webhookDeliveryMessages.message(deliveryId, 'retry', {
    organizationId,
    delayMs: Math.round(delaySeconds * 1_000),
  })

function toRow({ event, deliveryId, attempted, verdict, isManual }: Outcome): store.AttemptRow {
  const { retryAfterSeconds: _, ...shown } = attempted
  return {
    ...shown,
    deliveryId,
    eventId: event.eventId,
    type: event.type,
    deliveryStatus: verdict.status,
    attempts: event.attempts + (isManual ? 0 : 1),
    delaySeconds: verdict.delaySeconds,
    hasActor: isManual || verdict.status === 'retrying',
    isManual,
  }
}
