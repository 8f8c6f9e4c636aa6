/**
 * The actor of a session. It advances through the stored events in order of sequence, makes signals of explicit feedback, and
 * meters visible final assistant responses (specification, "Agent conversation ingestion", rule 8, and "Effects").
 *
 * A turn is one transaction. It locks the session's row first and continues at the watermark. So a turn can run any number of
 * times, and messages need no payload. All sessions of a transaction take their turns together, in two round trips: one reads, one
 * writes. The actor decides about each session separately. The statements of a trip are sent together and run in the order of
 * the source text.
 */
import { defineActor } from '../../../actors/declaration.ts'
import type {
  ActorDefinition,
  ActorKey,
  BulkHandler,
  GiveUp,
  NewMessage,
  Send,
  Visit,
} from '../../../actors/types.ts'
import type { Deps } from '../../../kernel/deps.ts'
import { toReanalyze } from '../../../kernel/messages/analysis.ts'
import { passageMessages } from '../../../kernel/messages/passage.ts'
import { sessionMessages } from '../../../kernel/messages/session.ts'
import { createPeople, type People } from '../../../people/service.ts'
import type { Tx } from '../../../platform/db/pool.ts'
import { type Linked, linkPeople } from './people.ts'
import { advance, type ProgressStep } from './progress.rules.ts'
import {
  deleteLateEvents,
  highestSequences,
  type LockedSession,
  lockSession,
  lockSessions,
  type OpenResponses,
  readWaiting,
  type SessionProgress,
  saveProcessingStatuses,
  saveProgress,
  type Waiting,
} from './progress.store.ts'
import { grantCredits, reopenAround, storeResponses, withdrawResponses } from './responses.store.ts'
import { analyzeMessage, isTerminal } from './session.rules.ts'
import { type PerSession, scopesOf } from './session-table.store.ts'
import { deleteFeedback, writeSignals } from './signals.store.ts'
import { type Effects, effectsOf, statusByCount } from './turn.rules.ts'

/** Events that a turn reads of one session. A longer session takes several turns, and other sessions run in between. */
const PAGE = 1_000
/** Events of all turns of a transaction. It bounds the memory of a transaction with many long sessions. */
const PAGE_TOGETHER = 4_000

type ActorDeps = Pick<Deps, 'newId'>

/** Time that an open session has for an answer, before its conversation is analysed without one. */
const UNANSWERED_DELAY_MS = 30_000

/** Time until the next turn of a session whose people are being merged or erased. */
const PEOPLE_DELAY_MS = 1_000

interface SessionTurn extends Waiting {
  readonly scope: LockedSession
  /** The limit for late events and for next events. A full page means that there may be more. */
  readonly page: number
}

/** What a turn writes. */
interface TurnPlan extends SessionTurn {
  readonly step: ProgressStep<SessionTurn['next'][number]>
  readonly gapsPermanentThrough: number | null
  readonly again: boolean
  readonly effects: Effects
  /** True where its responses need credits of the organization. */
  readonly byCredits: boolean
}

const NOTHING: Waiting = { lateEvents: [], next: [], blocked: false }

/** All types of messages run the same handler, which reads from the tables what is due. */
export function sessionActor(deps: ActorDeps): ActorDefinition {
  const people = createPeople(deps)
  const handler: BulkHandler = {
    visit: (visits, tx, send) => advanceSessions(deps, people, visits, tx, send),
  }
  return defineActor(sessionMessages, {
    maxAttempts: 10,
    giveUp,
    handlers: { events_stored: handler, credits_added: handler, gap_timeout: handler },
  })
}

/** Marks the session as failed. The message becomes a dead letter, which an operator can send again. */
const giveUp: GiveUp = async (message, tx) => {
  const scope = await lockSession(tx, message.id)
  if (scope === null) return 'handled'
  await saveProcessingStatuses(tx, [{ scope, processingStatus: 'failed' }])
  return 'dead_letter'
}

/** Skips deleted sessions. @returns the actors of the sessions that need another turn */
async function advanceSessions(
  deps: ActorDeps,
  people: People,
  visits: readonly Visit[],
  tx: Tx,
  send: Send,
): Promise<ReadonlySet<ActorKey>> {
  const turns = await read(
    tx,
    visits.map(({ id }) => id),
  )
  if (turns.length === 0) return new Set()
  const plans = await decide(tx, turns)
  // Before the signals, which then know who spoke.
  const linked = await linkPeople(
    people,
    tx,
    turns.map(({ scope }) => scope),
  )
  const open = await apply(deps, tx, plans, linked)
  const isMetered = ({ scope }: TurnPlan) => (open.get(scope.sessionId)?.metered ?? 0) > 0
  await send(plans.filter(isMetered).map(toMessage))
  await send(plans.filter((plan) => isUnanswered(plan, open)).map(toReanalysis))
  await send(plans.filter(({ scope }) => linked.later.has(scope.sessionId)).map(toNextLook))
  await send(plans.flatMap(toSearch))
  return new Set(plans.filter(({ again }) => again).map(({ scope }) => sessionMessages.key(scope.sessionId)))
}

async function read(tx: Tx, ids: readonly string[]): Promise<readonly SessionTurn[]> {
  const page = Math.min(PAGE, Math.ceil(PAGE_TOGETHER / ids.length))
  const [sessions, waiting] = await Promise.all([lockSessions(tx, ids), readWaiting(tx, ids, page)])
  return sessions.map((scope) => ({ ...NOTHING, ...waiting.get(scope.sessionId), scope, page }))
}

/** Decides how far each session advances. Where an idle session waits at a gap, all its present gaps become permanent. */
async function decide(tx: Tx, turns: readonly SessionTurn[]): Promise<readonly TurnPlan[]> {
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

/** Writes the effects of the events and the progress of the sessions. @returns the responses of each session that are open */
async function apply(
  deps: ActorDeps,
  tx: Tx,
  plans: readonly TurnPlan[],
  linked: Linked,
): Promise<ReadonlyMap<string, OpenResponses>> {
  const parts = <T>(rowsOf: (plan: TurnPlan) => readonly T[]): readonly PerSession<T>[] =>
    plans.map((plan) => ({ scope: plan.scope, rows: rowsOf(plan) })).filter(({ rows }) => rows.length > 0)
  const signals = parts(({ effects }) => effects.signals)
  const withdrawn = parts(({ effects }) => effects.withdrawn)
  // On the first turn there are no earlier responses whose context could have changed.
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
    grantCredits(tx, scopesOf(plans.filter(({ byCredits }) => byCredits))),
  ]
  const [open] = await Promise.all([
    saveProgress(
      tx,
      plans.map((plan) => toSave(plan, linked)),
    ),
    ...written,
  ])
  return open
}

function responsesOf({ effects, byCredits }: TurnPlan) {
  const state = byCredits ? ('billing_blocked' as const) : ('metered' as const)
  return effects.responses.map((response) => ({ ...response, state }))
}

function toSave({ scope, step, again, gapsPermanentThrough }: TurnPlan, linked: Linked): SessionProgress {
  const unprocessed = again || step.waitingAtGap
  return {
    scope,
    watermark: step.newWatermark,
    gapsPermanentThrough,
    waitSeconds: step.waitingAtGap ? scope.gapTimeoutSeconds : null,
    statuses: statusByCount({ captureContent: scope.captureContent, unprocessed }),
    linked: linked.done.has(scope.sessionId),
  }
}

function toNextLook({ scope: { sessionId, organizationId } }: TurnPlan): NewMessage {
  return sessionMessages.message(sessionId, 'events_stored', { organizationId, delayMs: PEOPLE_DELAY_MS })
}

function toMessage({ scope }: TurnPlan): NewMessage {
  return { ...analyzeMessage(scope, isTerminal(scope.status)), unless: 'waiting' }
}

/** True where the customer said something that no response leads to the analysis of. Responses that wait for credits will. */
function isUnanswered(
  { scope, step, lateEvents }: TurnPlan,
  open: ReadonlyMap<string, OpenResponses>,
): boolean {
  const { metered = 0, blocked = 0 } = open.get(scope.sessionId) ?? {}
  if (metered > 0 || blocked > 0) return false
  return [...lateEvents, ...step.process].some(
    ({ type, final, captured }) => type === 'user_message' && final && captured,
  )
}

function toReanalysis({ scope: { organizationId, sessionId, status } }: TurnPlan): NewMessage {
  return toReanalyze(organizationId, sessionId, isTerminal(status) ? 0 : UNANSWERED_DELAY_MS)
}

/** Has the messages that this turn processed made searchable. A late event may have become invisible. */
function toSearch({ scope, step, lateEvents }: TurnPlan): readonly NewMessage[] {
  const late = lateEvents.filter(isMessage).map(({ sequence }) => sequence)
  const hasNews = step.process.some((event) => isMessage(event) && event.final && event.captured)
  if (late.length === 0 && !hasNews) return []
  const payload = { after: scope.watermark, through: hasNews ? step.newWatermark : scope.watermark, late }
  const { organizationId, sessionId } = scope
  return [passageMessages.message(sessionId, 'session', { organizationId, payload })]
}

const isMessage = ({ type }: { readonly type: string }) =>
  type === 'user_message' || type === 'assistant_message'
