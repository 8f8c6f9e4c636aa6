/** The turns of one delivery outside of the order: its scheduled retries, and attempts that somebody asked for. */
import type { LongTurn, Send } from '../../actors/types.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { openSecrets } from './attempt.ts'
import * as store from './sending.store.ts'
import { attempt, finish, type Outcome, record, retryMessage, type SendingDeps, step } from './sending.ts'

interface Found {
  readonly receiver: store.Receiver
  readonly event: store.Sendable & { readonly status: string }
}

/** The next attempt of the schedule. */
export async function retry(deps: SendingDeps, turn: LongTurn): Promise<void> {
  const found = await step(deps, turn, (tx) => find(tx, turn))
  if (found === null || found.event.status !== 'retrying') return finish(deps, turn, async () => {})
  const { receiver, event } = found
  const { id } = turn.message
  if (!receiver.enabled)
    return finish(deps, turn, (tx) => store.giveUpDelivery(tx, receiver.organizationId, id))
  if (receiver.pausedMs > 0)
    return finish(deps, turn, (_, send) =>
      send([retryMessage(id, receiver.organizationId, receiver.pausedMs / 1_000)]),
    )
  const outcome = await tryOnce(deps, turn, found, false)
  await finish(deps, turn, (tx, send) => save(deps, tx, send, { receiver, event }, outcome))
}

/** One attempt, also while the subscription is disabled. It changes neither the schedule nor the record of failures. */
export async function redeliver(deps: SendingDeps, turn: LongTurn): Promise<void> {
  const found = await step(deps, turn, (tx) => find(tx, turn))
  if (found === null) return finish(deps, turn, async () => {})
  const outcome = await tryOnce(deps, turn, found, true)
  const wasDelivered = found.event.status === 'delivered'
  const verdict = wasDelivered ? { ...outcome.verdict, status: 'delivered' as const } : outcome.verdict
  await finish(deps, turn, (tx, send) => save(deps, tx, send, found, { ...outcome, verdict }))
}

async function find(tx: Tx, { organization, message }: LongTurn): Promise<Found | null> {
  const webhookId = await store.webhookOf(tx, organization, message.id)
  const receiver = webhookId === null ? null : await store.lockReceiver(tx, organization, webhookId)
  const event = receiver === null ? null : await store.findDelivery(tx, organization, message.id)
  return receiver === null || event === null ? null : { receiver, event }
}

async function tryOnce(
  deps: SendingDeps,
  turn: LongTurn,
  { receiver, event }: Found,
  isManual: boolean,
): Promise<Outcome> {
  const secrets = await openSecrets(deps.seal, receiver)
  // Other events of the subscription do not wait for this one, whatever its ordering says now.
  return attempt(deps, receiver, secrets, event, turn.signal, { ordering: 'relaxed', isManual })
}

async function save(
  deps: SendingDeps,
  tx: Tx,
  send: Send,
  { receiver }: Found,
  outcome: Outcome,
): Promise<void> {
  if ((await store.lockReceiver(tx, receiver.organizationId, receiver.id)) === null) return
  await record(deps, tx, send, receiver, [outcome], null)
}
