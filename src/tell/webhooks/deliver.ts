/** The turn of a subscription: sends events in order. */
import type { LongTurn, Send } from '../../actors/types.ts'
import { webhookMessages } from '../../kernel/messages/webhook.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { waitForDisk } from '../../platform/db/wait-for-disk.ts'
import { openSecrets } from './attempt.ts'
import * as store from './sending.store.ts'
import { attempt, finish, type Outcome, record, type SendingDeps, step } from './sending.ts'

/** Events that one statement reads. Each may have 256 KiB. */
const PAGE = 10
/** A turn ends after this time, so that others get its place. */
const TURN_MS = 10_000
/** Outcomes are recorded together, but not later than this after the first. They are repeated if the worker ends before. */
const RECORD_MS = 250

/** What is to be done next. */
type Next =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'wait'; readonly ms: number }
  | {
      readonly kind: 'send'
      readonly receiver: store.Receiver
      readonly events: readonly store.Sendable[]
      /** The cursor after all of them; null: unchanged. */
      readonly upTo: number | null
    }

const NOTHING: Next = { kind: 'nothing' }

export async function deliver(deps: SendingDeps, turn: LongTurn): Promise<void> {
  const until = deps.clock.now().getTime() + TURN_MS
  let next = await step(deps, turn, (tx) => readNext(tx, turn))
  while (next.kind === 'send' && deps.clock.now().getTime() < until) next = await sendPage(deps, turn, next)
  await finish(deps, turn, (tx, send) => conclude(tx, send, turn, next))
}

async function readNext(tx: Tx, turn: LongTurn): Promise<Next> {
  const receiver = await store.lockReceiver(tx, turn.organization, turn.message.id)
  if (receiver === null || !receiver.enabled) return NOTHING
  if (receiver.pausedMs > 0) return { kind: 'wait', ms: receiver.pausedMs }
  const pending = await store.findPending(tx, receiver)
  if (pending !== null)
    return pending.dueMs > 0
      ? { kind: 'wait', ms: pending.dueMs }
      : { kind: 'send', receiver, events: [pending], upTo: null }
  const { events, upTo } = await store.readEvents(tx, receiver, receiver.cursor, PAGE)
  // An event that a crash undoes happens again, under another id.
  if (events.length > 0) await waitForDisk(tx)
  return upTo === null ? NOTHING : { kind: 'send', receiver, events, upTo }
}

/** Sends the events until one fails, records the outcomes, and reads what is next. */
async function sendPage(
  deps: SendingDeps,
  turn: LongTurn,
  { receiver, events, upTo }: Extract<Next, { kind: 'send' }>,
): Promise<Next> {
  const secrets = await openSecrets(deps.seal, receiver)
  let unrecorded: Outcome[] = []
  let since = 0
  for (const event of events) {
    const outcome = await attempt(deps, receiver, secrets, event, turn.signal, receiver)
    if (unrecorded.length === 0) since = deps.clock.now().getTime() - outcome.attempted.durationMs
    unrecorded.push(outcome)
    if (outcome.verdict.status !== 'delivered')
      return step(deps, turn, async (tx, send) => {
        await save(deps, tx, send, receiver, unrecorded, event.seq)
        return readNext(tx, turn)
      })
    if (deps.clock.now().getTime() - since < RECORD_MS) continue
    const isSame = await step(deps, turn, (tx, send) => save(deps, tx, send, receiver, unrecorded, event.seq))
    unrecorded = []
    if (!isSame) return step(deps, turn, (tx) => readNext(tx, turn))
  }
  return step(deps, turn, async (tx, send) => {
    await save(deps, tx, send, receiver, unrecorded, upTo)
    return readNext(tx, turn)
  })
}

/** @returns false if the subscription was changed, disabled or deleted since it was read */
async function save(
  deps: SendingDeps,
  tx: Tx,
  send: Send,
  receiver: store.Receiver,
  outcomes: readonly Outcome[],
  cursor: number | null,
): Promise<boolean> {
  const present = await store.lockReceiver(tx, receiver.organizationId, receiver.id)
  if (present === null) return false
  await record(deps, tx, send, receiver, outcomes, cursor)
  return present.version === receiver.version
}

/** Sends itself a message if there is more to do. A message that another transaction left out, because this one waits, is not lost. */
async function conclude(tx: Tx, send: Send, turn: LongTurn, next: Next): Promise<void> {
  const { organization, message } = turn
  const again = (delayMs: number) =>
    send([webhookMessages.message(message.id, 'deliver', { organizationId: organization, delayMs })])
  if (next.kind === 'send') return again(0)
  // The stream is locked before the subscription, as changes of it do. Such a change may have ended the wait since it was read.
  await store.holdStream(tx, organization)
  if (next.kind === 'wait') {
    const now = await readNext(tx, turn)
    if (now.kind !== 'nothing') await again(now.kind === 'wait' ? now.ms : 0)
  } else if (await store.hasEvents(tx, { organizationId: organization, id: message.id })) await again(0)
}
