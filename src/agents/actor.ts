/**
 * The session's actor: walks stored events in order of sequence, makes explicit-feedback signals, and meters visible
 * finalised assistant responses (specification, "Agent conversation ingestion", rule 8, and "Effects").
 *
 * The rule: a turn is one transaction that starts with the session's row lock and goes by the watermark, so it may be run any
 * number of times and messages carry nothing. Three round trips: read, apply, conclude. Statements of a trip are sent
 * together and run in the order in which they are written.
 */
import { isWaiting } from '../actors/mailbox.ts'
import type { ActorDefinition, GiveUp, Message, Send } from '../actors/types.ts'
import type { Deps } from '../container.ts'
import type { Tx } from '../platform/db/pool.ts'
import {
  countResponses,
  enterResponses,
  grantCredits,
  hasBlocked,
  meterResponses,
  reopenAround,
  withdrawResponses,
} from './responses.store.ts'
import { analyzeLetter, isTerminal } from './session.rules.ts'
import { writeSignals } from './signal-writes.store.ts'
import { type Effects, effectsOf, processingStatusOf, type TurnEvent } from './turn.rules.ts'
import { walk } from './walk.rules.ts'
import {
  deleteRevisits,
  highestSequence,
  type LockedSession,
  lockSession,
  readNext,
  readRevisits,
  saveProcessingStatus,
  saveWalk,
} from './walk.store.ts'

/** Events of one turn. A longer session takes several, and other sessions get their turn in between. */
const PAGE = 1_000

type ActorDeps = Pick<Deps, 'newId'>

interface Turn {
  readonly session: LockedSession
  readonly next: readonly TurnEvent[]
  readonly revisits: readonly TurnEvent[]
  /** Responses of earlier turns wait for credits. */
  readonly blocked: boolean
}

/**
 * - `events_stored`: events were stored or revised, or the status changed.
 * - `credits_added`: responses that waited for credits can be metered.
 * - `gap_timeout`: the session may have been idle for too long with a gap.
 *
 * All three do the whole walk: what is due is read, not told.
 */
export function sessionActor(deps: ActorDeps): ActorDefinition {
  const walkOn = (message: Message, tx: Tx, send: Send) => walkSession(deps, tx, send, message.id)
  return {
    kind: 'session',
    pool: 'short',
    maxAttempts: 10,
    giveUp,
    handlers: { events_stored: walkOn, credits_added: walkOn, gap_timeout: walkOn },
  }
}

/** The session says that it failed; an operator finds the message among the dead letters and can send it again. */
const giveUp: GiveUp = async (message, tx) => {
  const session = await lockSession(tx, message.id)
  if (session === null) return 'handled'
  await saveProcessingStatus(tx, session, 'failed')
  return 'dead_letter'
}

async function walkSession(deps: ActorDeps, tx: Tx, send: Send, id: string): Promise<'done' | 'again'> {
  const turn = await read(tx, id)
  if (turn === null) return 'done'
  const { session, revisits } = turn
  const { step, gapsPermanentThrough } = await decide(tx, turn)
  const again = step.again || revisits.length === PAGE
  const { counts, waiting } = await apply(deps, tx, turn, effectsOf(revisits, step.process))
  const processingStatus = processingStatusOf({
    captureContent: session.captureContent,
    unwalked: again || step.waitingAtGap,
    ...counts,
  })
  await Promise.all([
    saveWalk(tx, session, {
      watermark: step.newWatermark,
      gapsPermanentThrough,
      waitSeconds: step.waitingAtGap ? session.gapTimeoutSeconds : null,
      processingStatus,
    }),
    // Last, after all domain rows. A letter that waits has not been read: its turn locks the session first.
    counts.metered > 0 && !waiting ? send([analyzeLetter(id, isTerminal(session.status))]) : undefined,
  ])
  return again ? 'again' : 'done'
}

/** Null where the session was deleted. */
async function read(tx: Tx, id: string): Promise<Turn | null> {
  const [session, revisits, next, blocked] = await Promise.all([
    lockSession(tx, id),
    readRevisits(tx, id, PAGE),
    readNext(tx, id, PAGE),
    hasBlocked(tx, id),
  ])
  return session === null ? null : { session, next, revisits, blocked }
}

/** How far to walk. A gap at which an idle session waits becomes permanent, with all that are stored beyond it. */
async function decide(tx: Tx, { session, next }: Turn) {
  const input = {
    watermark: session.watermark,
    terminal: isTerminal(session.status),
    gapsPermanentThrough: session.gapsPermanentThrough,
    next,
    hasMore: next.length === PAGE,
  }
  const step = walk(input)
  if (!step.waitingAtGap || !session.idle) return { step, gapsPermanentThrough: session.gapsPermanentThrough }
  const gapsPermanentThrough = await highestSequence(tx, session)
  return { step: walk({ ...input, gapsPermanentThrough }), gapsPermanentThrough }
}

/** Writes what the events mean, and counts what is then still to do. */
async function apply(deps: ActorDeps, tx: Tx, { session, revisits, blocked }: Turn, effects: Effects) {
  const { signals, responses, withdrawn, changedAround } = effects
  const revisited = revisits.map((event) => event.externalEventId)
  const byCredits = blocked || (session.limited && responses.length > 0)
  const written = [
    writeSignals(tx, session, deps.newId, signals),
    withdrawResponses(tx, session, withdrawn),
    byCredits ? enterResponses(tx, session, responses) : meterResponses(tx, session, responses),
    // The first walk has nothing behind it whose context could have changed.
    session.watermark < 0 ? undefined : reopenAround(tx, session, changedAround),
    deleteRevisits(tx, session, revisited),
    byCredits ? grantCredits(tx, session) : undefined,
  ]
  const [counts, waiting] = await Promise.all([
    countResponses(tx, session),
    isWaiting(tx, `analysis:${session.sessionId}`, 'analyze'),
    ...written,
  ])
  return { counts, waiting }
}
