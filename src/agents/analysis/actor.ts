/**
 * The actor that analyses a session as soon as it has metered responses: the first pass. It reads the bounded conversation, has it
 * analysed by rules outside of any transaction, and stores the findings. The full analysis follows in the background
 * (`src/findings/actor.ts`).
 *
 * A turn closes one page of responses. If responses are left, or arrived in the meantime, the actor sends itself another message. It
 * decides this under the session's row lock. Every transaction that adds responses holds the same lock, so no response is missed.
 *
 * Sessions share turns: one statement reads for all of them, and one transaction writes for all of them.
 */
import { defineActor } from '../../actors/declaration.ts'
import type { ActorDefinition, GroupTurn, LongTurn, Message, Send } from '../../actors/types.ts'
import { createBuiltInAnalyzer } from '../../analyze/builtin/builtin.ts'
import type { Analyzer } from '../../analyze/insight.ts'
import type { Deps } from '../../container.ts'
import { type Analyzed, analyzeSources, readConversations, saveInsights } from '../../findings/service.ts'
import { analysisMessages } from '../../messages/analysis.ts'
import { toAnalyze } from '../../messages/insight.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { lockSessions, saveProcessingStatuses } from '../sessions/progress.store.ts'
import { analyzeMessage, isTerminal } from '../sessions/session.rules.ts'
import { processingStatusOf } from '../sessions/turn.rules.ts'
import { closeResponses, type PendingResponse, readPending, readProcessingStates } from './store.ts'

/** Responses that a turn reads of one session. */
const PAGE = 50
/** Responses of all sessions of a turn. */
const PAGE_TOGETHER = 128

type AnalysisDeps = Pick<Deps, 'newId' | 'textWork'>

/** A page of a session's responses. */
interface Page {
  readonly sessionId: string
  readonly pending: readonly PendingResponse[]
  /** True where there may be more responses. */
  readonly full: boolean
}

/** The actor that analyses sessions with metered responses. */
export function analysisActor(
  deps: AnalysisDeps,
  analyzer: Analyzer = createBuiltInAnalyzer(deps.textWork, 'rules'),
): ActorDefinition {
  const together = (turn: GroupTurn) => analyze(deps, analyzer, turn)
  const alone = (turn: LongTurn) =>
    together({ ...partsOf(turn), messages: [turn.message], organizations: [turn.organization] })
  return defineActor(analysisMessages, {
    maxAttempts: 8,
    giveUp: (message, tx, send) => giveUp(deps, analyzer, message, tx, send),
    handlers: { analyze: { together, alone } },
  })
}

const partsOf = (turn: LongTurn): Omit<GroupTurn, 'messages' | 'organizations'> => ({
  signal: turn.signal,
  log: turn.log,
  read: (work) => turn.read(work),
  finish: (work) => turn.finish(work),
})

async function analyze(deps: AnalysisDeps, analyzer: Analyzer, turn: GroupTurn): Promise<void> {
  const ids = turn.messages.map(({ id }) => id)
  const { pages, sources } = await turn.read(async (tx) => ({
    pages: await readPages(tx, ids),
    sources: await readConversations(tx, ids),
  }))
  const analyzed = await analyzeSources(analyzer, sources, turn.signal)
  await turn.finish((tx, send) => conclude(deps, analyzer, { tx, send }, pages, 'analyzed', analyzed))
}

async function readPages(tx: Tx, ids: readonly string[]): Promise<readonly Page[]> {
  const size = Math.min(PAGE, Math.ceil(PAGE_TOGETHER / ids.length))
  const found = await readPending(tx, ids, size)
  return ids.map((sessionId) => {
    const pending = found.get(sessionId) ?? []
    return { sessionId, pending, full: pending.length === size }
  })
}

/** Marks the page that could not be analysed as failed. The session keeps the findings that it has. */
async function giveUp(
  deps: AnalysisDeps,
  analyzer: Analyzer,
  { id }: Message,
  tx: Tx,
  send: Send,
): Promise<'handled'> {
  await conclude(deps, analyzer, { tx, send }, await readPages(tx, [id]), 'failed', [])
  return 'handled'
}

/**
 * Stores the outcome of the responses that have not changed since they were read and the findings of sessions without such a change,
 * updates the processing status of the sessions, and sends a message where responses are left. A session whose responses changed is
 * analysed again, because they are metered again.
 */
async function conclude(
  { newId }: AnalysisDeps,
  version: Analyzer,
  { tx, send }: { readonly tx: Tx; readonly send: Send },
  pages: readonly Page[],
  state: 'analyzed' | 'failed',
  analyzed: readonly Analyzed[],
): Promise<void> {
  const ids = pages.map(({ sessionId }) => sessionId)
  const asked = pages.flatMap(({ pending }) => pending.map((response) => ({ ...response, state })))
  const [sessions, closed, progress] = await Promise.all([
    lockSessions(tx, ids),
    closeResponses(tx, asked),
    readProcessingStates(tx, ids),
  ])
  const concluded = sessions.flatMap((scope) => {
    const page = pages.find(({ sessionId }) => sessionId === scope.sessionId)
    const counts = progress.get(scope.sessionId)
    if (page === undefined || counts === undefined) return []
    const { captureContent, sessionId } = scope
    const isUnchanged = page.pending.length > 0 && closed.get(sessionId)?.size === page.pending.length
    const processingStatus = processingStatusOf({ captureContent, ...counts })
    const again = counts.metered > 0 ? [analyzeMessage(scope, page.full || isTerminal(scope.status))] : []
    return [{ scope, processingStatus, again, isUnchanged }]
  })
  const unchanged = new Map(
    concluded.filter(({ isUnchanged }) => isUnchanged).map(({ scope }) => [scope.sessionId, scope]),
  )
  const results = analyzed.filter(({ source }) => source.isCaptured && unchanged.has(source.id))
  await Promise.all([
    saveInsights(tx, { newId, version, pass: 'first' }, results),
    saveProcessingStatuses(tx, concluded),
  ])
  const full = results.map(({ source: { organizationId, id } }) =>
    toFull(organizationId, id, unchanged.get(id)?.status),
  )
  await send([...concluded.flatMap(({ again }) => again), ...full])
}

const toFull = (
  organizationId: string,
  sessionId: string,
  status: 'open' | 'ended' | 'abandoned' | undefined,
) => toAnalyze(organizationId, 'conversation', sessionId, status === 'open')
