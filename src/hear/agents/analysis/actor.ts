/**
 * The actor that analyses sessions. It reads a page of metered responses and the conversation around them, asks the analyser outside of
 * any transaction, and stores the findings as signals and the outcome of the session.
 *
 * A turn handles one page of responses and looks at the whole conversation. If responses are left, or arrived in the meantime, the
 * actor sends itself another message. It decides this under the session's row lock. Every transaction that adds responses holds the
 * same lock, so no response is missed.
 *
 * With the built-in analyser sessions share turns: one statement reads for all of them, and one transaction writes for all of them. It
 * makes two passes. The first pass applies rules only, which take well below a millisecond, so that the session is `completed` soon. The
 * second pass (reanalysis.ts) follows a few seconds later. It also asks the trained head, which takes some ten milliseconds.
 *
 * A model server makes one pass. It takes one conversation at a time, so each session then has its own turn.
 */

import { defineActor } from '../../../actors/declaration.ts'
import {
  type ActorDefinition,
  asGroupTurn,
  type GroupTurn,
  type LongHandler,
  type Message,
  type Send,
} from '../../../actors/types.ts'
import { AnalyzerError } from '../../../analysis/analyze/analyzer-error.ts'
import { createBuiltInAnalyzer } from '../../../analysis/analyze/builtin/builtin.ts'
import type { AnalyzerDeps } from '../../../analysis/analyze/create.ts'
import { createAnalyzer } from '../../../analysis/analyze/create.ts'
import type { Analyzer } from '../../../analysis/analyze/insight.ts'
import type { Result } from '../../../analysis/findings/finding.rules.ts'
import type { Deps } from '../../../kernel/deps.ts'
import {
  analysisMessages,
  sessionReanalysisMessages,
  toReanalyze,
} from '../../../kernel/messages/analysis.ts'
import type { Tx } from '../../../platform/db/pool.ts'
import type { NewId } from '../../../platform/ids.ts'
import { lockSessions, saveProcessingStatuses } from '../sessions/progress.store.ts'
import { analyzeMessage, isTerminal } from '../sessions/session.rules.ts'
import { processingStatusOf } from '../sessions/turn.rules.ts'
import { type Conversation, conversationOf } from './conversation.rules.ts'
import { readConversations } from './conversation.store.ts'
import { readPresent, resultsOf, saveSessions } from './readings.ts'
import { closeResponses, type PendingResponse, readPending, readProcessingStates } from './store.ts'

/** Responses that a turn reads of one session. */
const PAGE = 50
/** Responses of all sessions of a turn. It bounds the memory of a turn with many long sessions. */
const PAGE_TOGETHER = 128

type AnalysisDeps = Pick<Deps & AnalyzerDeps, 'modelServer' | 'newId' | 'textWork' | 'tokenBudget'>

/** A page of a session's responses, and what was said in the session. */
interface Page {
  readonly sessionId: string
  readonly pending: readonly PendingResponse[]
  /** True where there may be more responses. */
  readonly full: boolean
  readonly conversation: Conversation
}

interface Outcome {
  readonly state: 'analyzed' | 'failed'
  /** Null where the analyser refused the conversation. */
  readonly result: Result | null
}

/** Time until the second pass. More messages often come within it, and a burst of sessions is `completed` first. */
const SECOND_PASS_DELAY_MS = 5_000

/** How sessions are analysed. */
export interface Passes {
  readonly first: Analyzer
  /** False: a second pass follows, with the trained head (reanalysis.ts). */
  readonly isComplete: boolean
  /** True if an analyser takes many conversations at once. */
  readonly together: boolean
}

function passesOf(deps: AnalysisDeps): Passes {
  const { modelServer, textWork } = deps
  if (modelServer !== null) return { first: createAnalyzer(deps), isComplete: true, together: false }
  return { first: createBuiltInAnalyzer(textWork, 'rules'), isComplete: false, together: true }
}

/** The actor that analyses sessions. */
export function analysisActor(deps: AnalysisDeps, passes: Passes = passesOf(deps)): ActorDefinition {
  const handlerOf = (work: (turn: GroupTurn) => Promise<void>) => {
    const alone: LongHandler = (turn) => work(asGroupTurn(turn))
    return passes.together ? { together: work, alone } : alone
  }
  return defineActor(analysisMessages, {
    maxAttempts: 8,
    giveUp: { analyze: (message, tx, send) => giveUp(deps, passes, message, tx, send) },
    handlers: {
      analyze: handlerOf((turn) => analyze(deps, passes, turn)),
      refine: handlerOf(passOn),
    },
  })
}

/** A message of an older version, whose second pass had no actor of its own. */
async function passOn(turn: GroupTurn): Promise<void> {
  const messages = turn.messages.map(({ id }) => sessionReanalysisMessages.message(id, 'conversation'))
  await turn.finish((_, send) => send(messages))
}

async function analyze(deps: AnalysisDeps, passes: Passes, turn: GroupTurn): Promise<void> {
  const ids = turn.messages.map(({ id }) => id)
  const pages = await turn.read((tx) => readPages(tx, ids))
  const outcomes = await ask(passes.first, pages, turn)
  await turn.finish((tx, send) => conclude(deps.newId, passes, tx, send, pages, outcomes))
}

async function readPages(tx: Tx, ids: readonly string[]): Promise<readonly Page[]> {
  const size = Math.min(PAGE, Math.ceil(PAGE_TOGETHER / ids.length))
  const [found, spoken] = await Promise.all([readPending(tx, ids, size), readConversations(tx, ids)])
  return ids.map((sessionId) => {
    const pending = found.get(sessionId) ?? []
    const conversation = conversationOf(spoken.get(sessionId) ?? [])
    return { sessionId, pending, full: pending.length === size, conversation }
  })
}

/** The outcome of each page. Where the analyser refuses the conversation, the outcome is `failed`. Other errors fail the turn. */
async function ask(
  analyzer: Analyzer,
  pages: readonly Page[],
  { log, signal, organizations }: GroupTurn,
): Promise<readonly Outcome[]> {
  try {
    const conversations = pages.map(({ conversation }) => conversation)
    const results = await resultsOf(analyzer, conversations, organizations, signal)
    return results.map((result) => ({ state: 'analyzed', result }))
  } catch (error) {
    // With several sessions it is unknown which conversation was refused. Then each session gets a turn of its own.
    if (pages.length > 1 || !(error instanceof AnalyzerError) || error.retryable) throw error
    const responses = pages.reduce((sum, { pending }) => sum + pending.length, 0)
    log.warn(
      { analyzer: analyzer.name, err: error.message, responses },
      'the analyser refused the conversation',
    )
    return pages.map(() => ({ state: 'failed', result: null }))
  }
}

/** Marks the page that could not be analysed as failed. The analysis of the session's other responses goes on. */
async function giveUp(
  deps: AnalysisDeps,
  passes: Passes,
  { id }: Message,
  tx: Tx,
  send: Send,
): Promise<'handled'> {
  const pages = await readPages(tx, [id])
  await conclude(deps.newId, passes, tx, send, pages, [{ state: 'failed', result: null }])
  return 'handled'
}

/**
 * Stores the outcomes, updates the processing status of the sessions, and sends a message where responses are left. A response that
 * changed since it was read stays metered, so its session is analysed again. It takes two round trips. The statements of a trip are
 * sent together and run in the order of the source text, under the locks of the first statement.
 */
async function conclude(
  newId: NewId,
  { first, isComplete }: Passes,
  tx: Tx,
  send: Send,
  pages: readonly Page[],
  outcomes: readonly Outcome[],
): Promise<void> {
  const ids = pages.map(({ sessionId }) => sessionId)
  const asked = pages.flatMap(({ pending }, n) =>
    pending.map((response) => ({ ...response, state: outcomes[n]!.state })),
  )
  const reads = pages.map((page, n) => ({ ...page, result: outcomes[n]!.result }))
  const [sessions, , progress, present] = await Promise.all([
    lockSessions(tx, ids),
    closeResponses(tx, asked),
    readProcessingStates(tx, ids),
    readPresent(tx, reads),
  ])
  const concluded = sessions.flatMap((scope) => {
    const [n, counts] = [ids.indexOf(scope.sessionId), progress.get(scope.sessionId)]
    const read = reads[n]
    if (read === undefined || counts === undefined) return []
    const processingStatus = processingStatusOf({ captureContent: scope.captureContent, ...counts })
    const again =
      counts.metered > 0
        ? [{ ...analyzeMessage(scope, read.full || isTerminal(scope.status)), unless: 'waiting' as const }]
        : []
    return [{ ...read, scope, processingStatus, again }]
  })
  const options = { newId, analyzer: first, keepsLikely: !isComplete, outdatesOthers: true }
  await Promise.all([saveSessions(tx, options, present, concluded), saveProcessingStatuses(tx, concluded)])
  await send(concluded.flatMap(({ again }) => again))
  if (isComplete) return
  const analyzed = concluded.filter(({ result }) => result?.state === 'analyzed')
  await send(
    analyzed.map(({ scope }) => toReanalyze(scope.organizationId, scope.sessionId, SECOND_PASS_DELAY_MS)),
  )
}
