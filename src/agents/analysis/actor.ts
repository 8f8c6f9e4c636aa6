/**
 * The actor that analyses sessions. It reads a page of metered responses and the conversation around them, asks the analyser outside of
 * any transaction, and stores the findings as signals and the outcome of the session.
 *
 * A turn handles one page of responses and looks at the whole conversation. If responses are left, or arrived in the meantime, the
 * actor sends itself another message. It decides this under the session's row lock. Every transaction that adds responses holds the
 * same lock, so no response is missed.
 *
 * With the built-in analyser sessions share turns: one statement reads for all of them, and one transaction writes for all of them. It
 * reads twice. The first time it applies rules only, which take well below a millisecond, so that the session is `completed` soon. A few
 * seconds later it also asks the trained head, which takes some ten milliseconds.
 *
 * A model server reads once. It takes one conversation at a time, so each session then has its own turn.
 */
import { defineActor } from '../../actors/declaration.ts'
import type {
  ActorDefinition,
  GroupTurn,
  LongHandler,
  LongTurn,
  Message,
  NewMessage,
  Send,
} from '../../actors/types.ts'
import { AnalyzerError } from '../../analyze/analyzer-error.ts'
import { createBuiltInAnalyzer } from '../../analyze/builtin/builtin.ts'
import { createAnalyzer } from '../../analyze/create.ts'
import type { Analyzer, Insight } from '../../analyze/insight.ts'
import type { Deps } from '../../container.ts'
import { type Result, resultOf } from '../../findings/finding.rules.ts'
import { saveSessionResults } from '../../findings/service.ts'
import { analysisMessages } from '../../messages/analysis.ts'
import type { Tx } from '../../platform/db/pool.ts'
import type { NewId } from '../../platform/ids.ts'
import { type LockedSession, lockSessions, saveProcessingStatuses } from '../sessions/progress.store.ts'
import { analyzeMessage, isTerminal } from '../sessions/session.rules.ts'
import { processingStatusOf } from '../sessions/turn.rules.ts'
import { type Conversation, conversationOf, findingsOf } from './conversation.rules.ts'
import { readConversations } from './conversation.store.ts'
import { replaceFindings } from './findings.store.ts'
import { closeResponses, type PendingResponse, readPending, readProcessingStates } from './store.ts'

/** Responses that a turn reads of one session. */
const PAGE = 50
/** Responses of all sessions of a turn. It bounds the memory of a turn with many long sessions. */
const PAGE_TOGETHER = 128

type AnalysisDeps = Pick<Deps, 'config' | 'newId' | 'textWork'>

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

/** Time until the second reading. More messages often come within it, and a burst of sessions is `completed` first. */
const REFINE_DELAY_MS = 5_000

/** How sessions are analysed. */
export interface Readings {
  readonly first: Analyzer
  /** Null: the first reading is complete. */
  readonly second: Analyzer | null
  /** True if an analyser takes many conversations at once. */
  readonly together: boolean
}

function readingsOf({ config, textWork }: AnalysisDeps): Readings {
  const complete = createAnalyzer(config, textWork)
  if (config.analyze !== null) return { first: complete, second: null, together: false }
  return { first: createBuiltInAnalyzer(textWork, 'rules'), second: complete, together: true }
}

/** The actor that analyses sessions. */
export function analysisActor(deps: AnalysisDeps, readings: Readings = readingsOf(deps)): ActorDefinition {
  const handlerOf = (work: (turn: GroupTurn) => Promise<void>) => {
    const alone: LongHandler = (turn) =>
      work({ ...partsOf(turn), messages: [turn.message], organizations: [turn.organization] })
    return readings.together ? { together: work, alone } : alone
  }
  return defineActor(analysisMessages, {
    maxAttempts: 8,
    giveUp: {
      analyze: (message, tx, send) => giveUp(deps, readings, message, tx, send),
      // The session keeps what the first reading found.
      refine: async () => 'handled',
    },
    handlers: {
      analyze: handlerOf((turn) => analyze(deps, readings, turn)),
      refine: handlerOf((turn) => refine(deps, readings.second ?? readings.first, turn)),
    },
  })
}

const partsOf = (turn: LongTurn): Omit<GroupTurn, 'messages' | 'organizations'> => ({
  signal: turn.signal,
  log: turn.log,
  read: (work) => turn.read(work),
  finish: (work) => turn.finish(work),
})

async function analyze(deps: AnalysisDeps, readings: Readings, turn: GroupTurn): Promise<void> {
  const ids = turn.messages.map(({ id }) => id)
  const pages = await turn.read((tx) => readPages(tx, ids))
  const outcomes = await ask(readings.first, pages, turn)
  await turn.finish((tx, send) => conclude(deps.newId, readings, tx, send, pages, outcomes))
}

/** The second reading. A message that changes meanwhile is not quoted; it has the session analysed again. */
async function refine({ newId }: AnalysisDeps, analyzer: Analyzer, turn: GroupTurn): Promise<void> {
  const ids = turn.messages.map(({ id }) => id)
  const pages = await turn.read(async (tx) => {
    const spoken = await readConversations(tx, ids)
    return ids.map((sessionId) => ({ sessionId, conversation: conversationOf(spoken.get(sessionId) ?? []) }))
  })
  const insights = await insightsOf(analyzer, pages, turn.organizations, turn.signal)
  await turn.finish(async (tx) => {
    const sessions = await lockSessions(tx, ids)
    const read = sessions.map((scope) => {
      const n = ids.indexOf(scope.sessionId)
      const { conversation } = pages[n]!
      return { scope, conversation, result: toResult(insights[n]!, conversation, analyzer) }
    })
    await saveReadings(tx, newId, read, true)
  })
}

/** What a session has after a reading. `result` is null if the analyser refused the conversation. */
interface Reading {
  readonly scope: LockedSession
  readonly conversation: Conversation
  readonly result: Result | null
}

async function saveReadings(
  tx: Tx,
  newId: NewId,
  readings: readonly Reading[],
  isComplete: boolean,
  analyzer?: Analyzer,
): Promise<void> {
  // Without a result there are no findings: those of an earlier analysis may quote what is no longer there.
  const parts = readings.map(({ scope, conversation, result }) => {
    return { scope, rows: result === null ? [] : findingsOf(conversation, result) }
  })
  const results = readings.flatMap(({ scope, result }) => {
    const { organizationId, applicationId, sessionId, createdAt } = scope
    const subject = { channel: 'conversation' as const, organizationId, applicationId, sessionId }
    const stored = result ?? (analyzer === undefined ? null : failure(analyzer))
    return stored === null ? [] : [{ subject, occurredAt: createdAt, result: stored }]
  })
  await Promise.all([replaceFindings(tx, newId, parts, !isComplete), saveSessionResults(tx, newId, results)])
}

function toResult(insight: Insight, { subject }: Conversation, analyzer: Analyzer): Result {
  return resultOf(
    insight,
    subject.said.map(({ text }) => text),
    analyzer,
  )
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
    const insights = await insightsOf(analyzer, pages, organizations, signal)
    return pages.map(({ conversation }, n) => {
      return { state: 'analyzed', result: toResult(insights[n]!, conversation, analyzer) }
    })
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

/** One request to the analyser for each organization. @returns insights in the order of the pages */
async function insightsOf(
  analyzer: Analyzer,
  pages: readonly Pick<Page, 'conversation'>[],
  organizations: GroupTurn['organizations'],
  signal: AbortSignal,
): Promise<readonly Insight[]> {
  const insights: Insight[] = []
  const numbers = Map.groupBy(pages.keys(), (n) => organizations[n])
  for (const [organization, ns] of numbers) {
    const subjects = ns.map((n) => pages[n]!.conversation.subject)
    const found = await analyzer.analyze(subjects, signal, organization)
    for (const [place, n] of ns.entries()) insights[n] = found[place]!
  }
  return insights
}

/** Marks the page that could not be analysed as failed. The analysis of the session's other responses goes on. */
async function giveUp(
  deps: AnalysisDeps,
  readings: Readings,
  { id }: Message,
  tx: Tx,
  send: Send,
): Promise<'handled'> {
  const pages = await readPages(tx, [id])
  await conclude(deps.newId, readings, tx, send, pages, [{ state: 'failed', result: null }])
  return 'handled'
}

/**
 * Stores the outcomes, updates the processing status of the sessions, and sends a message where responses are left. A response that
 * changed since it was read stays metered, so its session is analysed again. It takes two round trips. The statements of a trip are
 * sent together and run in the order of the source text, under the locks of the first statement.
 */
async function conclude(
  newId: NewId,
  { first, second }: Readings,
  tx: Tx,
  send: Send,
  pages: readonly Page[],
  outcomes: readonly Outcome[],
): Promise<void> {
  const ids = pages.map(({ sessionId }) => sessionId)
  const asked = pages.flatMap(({ pending }, n) =>
    pending.map((response) => ({ ...response, state: outcomes[n]!.state })),
  )
  const [sessions, , progress] = await Promise.all([
    lockSessions(tx, ids),
    closeResponses(tx, asked),
    readProcessingStates(tx, ids),
  ])
  const concluded = sessions.flatMap((scope) => {
    const [n, counts] = [ids.indexOf(scope.sessionId), progress.get(scope.sessionId)]
    const [page, outcome] = [pages[n], outcomes[n]]
    if (page === undefined || outcome === undefined || counts === undefined) return []
    const processingStatus = processingStatusOf({ captureContent: scope.captureContent, ...counts })
    const again = counts.metered > 0 ? [analyzeMessage(scope, page.full || isTerminal(scope.status))] : []
    const { conversation } = page
    return [{ scope, processingStatus, conversation, result: outcome.result, again }]
  })
  await Promise.all([
    saveReadings(tx, newId, concluded, second === null, first),
    saveProcessingStatuses(tx, concluded),
  ])
  await send(concluded.flatMap(({ again }) => again))
  if (second === null) return
  const analyzed = concluded.filter(({ result }) => result?.state === 'analyzed')
  await send(analyzed.map(({ scope }) => refineMessage(scope)))
}

function refineMessage({ sessionId, organizationId }: LockedSession): NewMessage {
  const options = { organizationId, delayMs: REFINE_DELAY_MS }
  return { ...analysisMessages.message(sessionId, 'refine', options), unlessWaiting: true }
}

function failure({ name, version }: Analyzer) {
  return {
    state: 'failed' as const,
    language: null,
    outcome: null,
    sentiment: null,
    analyzer: { name, version },
  }
}
