/**
 * The session's actor: walks stored events in order of sequence, makes explicit-feedback signals, and meters visible
 * finalised assistant responses (specification, "Agent conversation ingestion", rule 8, and "Effects").
 *
 * The rule: a turn is one transaction that starts with the session's row lock and goes by the watermark, so it may be run any
 * number of times and messages carry nothing. All sessions of a transaction take their turns together, in two round trips:
 * read, and apply. Each is decided for by itself, as if it were alone. Statements of a trip are sent together and run in
 * the order in which they are written.
 */
import type {
  ActorDefinition,
  ActorKey,
  BulkHandler,
  GiveUp,
  Letter,
  Send,
  Visit,
} from '../../actors/types.ts'
import type { Deps } from '../../container.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { advance, type ProgressStep } from './progress.rules.ts'
import {
  deleteLateEvents,
  highestSequences,
  type LockedSession,
  lockSession,
  lockSessions,
  readWaiting,
  type SessionProgress,
  saveProcessingStatuses,
  saveProgress,
  type Waiting,
} from './progress.store.ts'
import { grantCredits, reopenAround, storeResponses, withdrawResponses } from './responses.store.ts'
import { analyzeLetter, isTerminal } from './session.rules.ts'
import { type PerSession, scopesOf } from './session-table.store.ts'
import { deleteFeedback, writeSignals } from './signals.store.ts'
import { type Effects, effectsOf, statusByCount } from './turn.rules.ts'

/** Events of a session's turn. A longer session takes several, and other sessions get their turn in between. */
const PAGE = 1_000
/** Events of all turns of a transaction, so that many long sessions take no more memory together than a few. */
const PAGE_TOGETHER = 4_000

type ActorDeps = Pick<Deps, 'newId'>

interface SessionTurn extends Waiting {
  readonly scope: LockedSession
  /** As many events of either sort as a turn takes: there may be more. */
  readonly page: number
}

/** What is to be done in a turn. */
interface Decision extends SessionTurn {
  readonly step: ProgressStep<SessionTurn['next'][number]>
  readonly gapsPermanentThrough: number | null
  readonly again: boolean
  readonly effects: Effects
  /** Its responses pass by way of the organization's credits. */
  readonly byCredits: boolean
}

const NOTHING: Waiting = { lateEvents: [], next: [], blocked: false }

/**
 * - `events_stored`: events were stored or revised, or the status changed.
 * - `credits_added`: responses that waited for credits can be metered.
 * - `gap_timeout`: the session may have been idle for too long with a gap.
 *
 * All three do the whole walk: what is due is read, not told.
 */
export function sessionActor(deps: ActorDeps): ActorDefinition {
  const walkOn: BulkHandler = { visit: (visits, tx, send) => advanceSessions(deps, visits, tx, send) }
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
  const scope = await lockSession(tx, message.id)
  if (scope === null) return 'handled'
  await saveProcessingStatuses(tx, [{ scope, processingStatus: 'failed' }])
  return 'dead_letter'
}

/** Sessions that were deleted have nothing to do. @returns the actors of those that have more to do. */
async function advanceSessions(
  deps: ActorDeps,
  visits: readonly Visit[],
  tx: Tx,
  send: Send,
): Promise<ReadonlySet<ActorKey>> {
  const turns = await read(
    tx,
    visits.map(({ id }) => id),
  )
  if (turns.length === 0) return new Set()
  const decisions = await decide(tx, turns)
  const metered = await apply(deps, tx, decisions)
  // A letter that waits has not been read: its turn locks the session first.
  await send(decisions.filter(({ scope }) => metered.has(scope.sessionId)).map(toLetter))
  return new Set(
    decisions.filter(({ again }) => again).map(({ scope }): ActorKey => `session:${scope.sessionId}`),
  )
}

async function read(tx: Tx, ids: readonly string[]): Promise<readonly SessionTurn[]> {
  const page = Math.min(PAGE, Math.ceil(PAGE_TOGETHER / ids.length))
  const [sessions, waiting] = await Promise.all([lockSessions(tx, ids), readWaiting(tx, ids, page)])
  return sessions.map((scope) => ({ ...NOTHING, ...waiting.get(scope.sessionId), scope, page }))
}

/** How far to walk. A gap at which an idle session waits becomes permanent, with all that are stored beyond it. */
async function decide(tx: Tx, turns: readonly SessionTurn[]): Promise<readonly Decision[]> {
  const idle = turns.filter(({ scope }) => scope.idle)
  const overdue = idle.filter((turn) => stepOf(turn, turn.scope.gapsPermanentThrough).waitingAtGap)
  const highest = await highestSequences(tx, scopesOf(overdue))
  return turns.map((turn) => {
    const { scope, lateEvents, page, blocked } = turn
    const gapsPermanentThrough = highest.get(scope.sessionId) ?? scope.gapsPermanentThrough
    const step = stepOf(turn, gapsPermanentThrough)
    const effects = effectsOf(lateEvents, step.process)
    return {
      ...turn,
      step,
      gapsPermanentThrough,
      effects,
      again: step.again || lateEvents.length === page,
      byCredits: blocked || (scope.limited && effects.responses.length > 0),
    }
  })
}

function stepOf({ scope, next, page }: SessionTurn, gapsPermanentThrough: number | null) {
  const terminal = isTerminal(scope.status)
  const hasMore = next.length === page
  return advance({ watermark: scope.watermark, terminal, gapsPermanentThrough, next, hasMore })
}

/** Writes what the events mean, and how far the sessions are then. @returns the ids of those that have responses to analyse. */
async function apply(deps: ActorDeps, tx: Tx, decisions: readonly Decision[]): Promise<ReadonlySet<string>> {
  const parts = <T>(rowsOf: (decision: Decision) => readonly T[]): readonly PerSession<T>[] =>
    decisions
      .map((decision) => ({ scope: decision.scope, rows: rowsOf(decision) }))
      .filter(({ rows }) => rows.length > 0)
  const signals = parts(({ effects }) => effects.signals)
  const withdrawn = parts(({ effects }) => effects.withdrawn)
  // The first walk has nothing behind it whose context could have changed.
  const changed = parts(({ scope, effects }) => (scope.watermark < 0 ? [] : effects.changedAround))
  const late = parts(({ lateEvents }) => lateEvents.map((event) => event.externalEventId))
  const written = [
    writeSignals(tx, deps.newId, signals),
    deleteFeedback(
      tx,
      parts(({ effects }) => effects.retracted),
    ),
    withdrawResponses(tx, withdrawn),
    storeResponses(tx, parts(responsesOf)),
    reopenAround(tx, changed),
    deleteLateEvents(tx, late),
    grantCredits(tx, scopesOf(decisions.filter(({ byCredits }) => byCredits))),
  ]
  const [metered] = await Promise.all([saveProgress(tx, decisions.map(toSave)), ...written])
  return metered
}

function responsesOf({ effects, byCredits }: Decision) {
  const state = byCredits ? ('billing_blocked' as const) : ('metered' as const)
  return effects.responses.map((response) => ({ ...response, state }))
}

function toSave({ scope, step, again, gapsPermanentThrough }: Decision): SessionProgress {
  const unprocessed = again || step.waitingAtGap
  return {
    scope,
    watermark: step.newWatermark,
    gapsPermanentThrough,
    waitSeconds: step.waitingAtGap ? scope.gapTimeoutSeconds : null,
    statuses: statusByCount({ captureContent: scope.captureContent, unprocessed }),
  }
}

function toLetter({ scope }: Decision): Letter {
  return { ...analyzeLetter(scope, isTerminal(scope.status)), unlessWaiting: true }
}
