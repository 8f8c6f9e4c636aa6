/** The turn that sends missed events of a period again, in order. A long period takes several turns. */

import type { PayloadOf } from '../../actors/declaration.ts'
import type { LongTurn } from '../../actors/types.ts'
import { webhookRecoveryMessages } from '../../kernel/messages/webhook.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { waitForDisk } from '../../platform/db/wait-for-disk.ts'
import { openSecrets } from './attempt.ts'
import * as store from './sending.store.ts'
import { attempt, finish, type Outcome, record, type SendingDeps, step } from './sending.ts'

type Period = PayloadOf<typeof webhookRecoveryMessages, 'recover'>

const PAGE = 10
const TURN_MS = 10_000

interface Found extends store.EventPage {
  readonly receiver: store.Receiver
}

export async function recover(deps: SendingDeps, turn: LongTurn<Period>): Promise<void> {
  const period = turn.message.payload
  const until = deps.clock.now().getTime() + TURN_MS
  let { after } = period
  let found = await step(deps, turn as LongTurn, (tx) => read(tx, turn, after))
  while (found !== null && found.upTo !== null && deps.clock.now().getTime() < until) {
    const { receiver, events, upTo } = found
    const outcomes = await sendAll(deps, turn, receiver, events)
    after = upTo
    found = await step(deps, turn as LongTurn, async (tx, send) => {
      const present = await store.lockReceiver(tx, receiver.organizationId, receiver.id)
      if (present === null) return null
      await record(deps, tx, send, receiver, outcomes, null)
      return read(tx, turn, upTo)
    })
  }
  const isOver = found === null || found.upTo === null
  await finish(deps, turn as LongTurn, async (_, send) => {
    const { message, organization: organizationId } = turn
    if (!isOver)
      await send([
        webhookRecoveryMessages.message(message.id, 'recover', {
          organizationId,
          payload: { ...period, after },
        }),
      ])
  })
}

async function read(tx: Tx, turn: LongTurn<Period>, after: number): Promise<Found | null> {
  const { organization, message } = turn
  const receiver = await store.lockReceiver(tx, organization, message.id)
  if (receiver === null || !receiver.enabled) return null
  const page = await store.readMissed(tx, receiver, { ...message.payload, after }, PAGE)
  if (page.events.length > 0) await waitForDisk(tx)
  return { receiver, ...page }
}

async function sendAll(
  deps: SendingDeps,
  turn: LongTurn<Period>,
  receiver: store.Receiver,
  events: readonly store.Sendable[],
): Promise<readonly Outcome[]> {
  const secrets = events.length === 0 ? [] : await openSecrets(deps.seal, receiver)
  const outcomes: Outcome[] = []
  for (const event of events) {
    const outcome = await attempt(deps, receiver, secrets, event, turn.signal, { ordering: 'relaxed' })
    // It is put aside at once: only events of the subscription's own order hold up others.
    const { verdict } = outcome
    outcomes.push(
      verdict.status === 'pending' ? { ...outcome, verdict: { ...verdict, status: 'retrying' } } : outcome,
    )
  }
  return outcomes
}
