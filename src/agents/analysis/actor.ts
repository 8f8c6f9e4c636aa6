/**
 * The actor that sends a session's metered responses to the analyser. It reads a page of them, asks the analyser outside of any
 * transaction, and stores the findings as signals.
 *
 * A turn handles one page. If responses are left, or arrived in the meantime, the actor sends itself another message. It decides
 * this under the session's row lock. Every transaction that adds responses holds the same lock, so no response is missed.
 *
 * Where the analyser takes many conversations at once, sessions share turns: one statement reads for all of them, and one
 * transaction writes for all of them. Where the analyser is a server that takes one conversation at a time, each session has its own
 * turn.
 */
import { defineActor } from '../../actors/declaration.ts'
import type { ActorDefinition, GroupTurn, LongHandler, LongTurn, Message, Send } from '../../actors/types.ts'
import {
  type Analyzer,
  AnalyzerError,
  type Conversation,
  type Exchange,
  type Finding,
} from '../../analyze/analyzer.ts'
import { createAnalyzer } from '../../analyze/create.ts'
import { textOf } from '../../analyze/text.ts'
import type { Deps } from '../../container.ts'
import { analysisMessages } from '../../messages/analysis.ts'
import type { Tx } from '../../platform/db/pool.ts'
import type { NewId } from '../../platform/ids.ts'
import { lockSessions, saveProcessingStatuses } from '../sessions/progress.store.ts'
import { analyzeMessage, isTerminal } from '../sessions/session.rules.ts'
import type { NewSignal } from '../sessions/signals.store.ts'
import { processingStatusOf } from '../sessions/turn.rules.ts'
import {
  closeResponses,
  type PendingResponse,
  readPending,
  readProcessingStates,
  replaceInferences,
} from './store.ts'

/** Responses that a turn reads of one session. */
const PAGE = 50
/** Responses of all sessions of a turn. It bounds the memory of a turn with many long sessions. */
const PAGE_TOGETHER = 128

type AnalysisDeps = Pick<Deps, 'config' | 'newId' | 'textWork'>

/** A page of a session's responses. */
interface Page {
  readonly sessionId: string
  readonly pending: readonly PendingResponse[]
  /** True where there may be more responses. */
  readonly full: boolean
}

interface Outcome {
  readonly state: 'analyzed' | 'failed'
  readonly findings: readonly Finding[]
}

const NOTHING: Outcome = { state: 'analyzed', findings: [] }

/** The actor that analyses the responses of a session. */
export function analysisActor(
  deps: AnalysisDeps,
  analyzer: Analyzer = createAnalyzer(deps.config, deps.textWork),
): ActorDefinition {
  const alone: LongHandler = (turn) =>
    analyze(deps, analyzer, {
      ...partsOf(turn),
      messages: [turn.message],
      organizations: [turn.organization],
    })
  const together = (turn: GroupTurn) => analyze(deps, analyzer, turn)
  return defineActor(analysisMessages, {
    maxAttempts: 8,
    giveUp: (message, tx, send) => giveUp(deps, message, tx, send),
    handlers: { analyze: analyzer.analyzeMany === undefined ? alone : { together, alone } },
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
  const pages = await turn.read((tx) => readPages(tx, ids, analyzer.ignoresAnswers !== true))
  const outcomes = await ask(analyzer, pages, turn)
  await turn.finish((tx, send) => conclude(deps.newId, tx, send, pages, outcomes))
}

async function readPages(tx: Tx, ids: readonly string[], withContent: boolean): Promise<readonly Page[]> {
  const size = Math.min(PAGE, Math.ceil(PAGE_TOGETHER / ids.length))
  const found = await readPending(tx, ids, size, withContent)
  return ids.map((sessionId) => {
    const pending = found.get(sessionId) ?? []
    return { sessionId, pending, full: pending.length === size }
  })
}

/** The outcome of each page. Where the analyser refuses the exchanges, the outcome is `failed`. Other errors fail the turn. */
async function ask(
  analyzer: Analyzer,
  pages: readonly Page[],
  { log, signal, organizations }: GroupTurn,
): Promise<readonly Outcome[]> {
  const conversations = pages.map(({ pending }, n) => {
    return { exchanges: pending.map(toExchange), organization: organizations[n] }
  })
  if (conversations.every(({ exchanges }) => exchanges.length === 0)) return pages.map(() => NOTHING)
  try {
    const found = await findingsOf(analyzer, conversations, signal)
    return found.map((findings) => ({ state: 'analyzed', findings }))
  } catch (error) {
    // With several sessions it is unknown which exchanges were refused. Then each session gets a turn of its own.
    if (pages.length > 1 || !(error instanceof AnalyzerError) || error.retryable) throw error
    const responses = pages.reduce((sum, { pending }) => sum + pending.length, 0)
    log.warn({ analyzer: analyzer.name, err: error.message, responses }, 'the analyser refused the exchanges')
    return pages.map(() => ({ state: 'failed', findings: [] }))
  }
}

async function findingsOf(
  analyzer: Analyzer,
  conversations: readonly Conversation[],
  signal: AbortSignal,
): Promise<readonly (readonly Finding[])[]> {
  if (analyzer.analyzeMany !== undefined) return analyzer.analyzeMany(conversations, signal)
  const findings: (readonly Finding[])[] = []
  for (const { exchanges, organization } of conversations)
    findings.push(await analyzer.analyze(exchanges, signal, organization))
  return findings
}

/** Marks the page that could not be analysed as failed. The analysis of the session's other responses goes on. */
async function giveUp(deps: AnalysisDeps, { id }: Message, tx: Tx, send: Send): Promise<'handled'> {
  const pages = await readPages(tx, [id], false)
  // No findings: signals of an earlier version of the responses are deleted, because they are outdated.
  await conclude(deps.newId, tx, send, pages, [{ state: 'failed', findings: [] }])
  return 'handled'
}

/**
 * Stores the outcomes of the responses that have not changed since they were read, updates the processing status of the sessions, and
 * sends a message where responses are left. It takes two round trips. The statements of a trip are sent together and run in the
 * order of the source text, under the locks of the first statement.
 */
async function conclude(
  newId: NewId,
  tx: Tx,
  send: Send,
  pages: readonly Page[],
  outcomes: readonly Outcome[],
): Promise<void> {
  const ids = pages.map(({ sessionId }) => sessionId)
  const asked = pages.flatMap(({ pending }, n) =>
    pending.map((response) => ({ ...response, state: outcomes[n]!.state })),
  )
  const [sessions, closed, progress] = await Promise.all([
    lockSessions(tx, ids),
    closeResponses(tx, asked),
    readProcessingStates(tx, ids),
  ])
  const concluded = sessions.flatMap((scope) => {
    const [n, counts] = [ids.indexOf(scope.sessionId), progress.get(scope.sessionId)]
    const [page, outcome] = [pages[n], outcomes[n]]
    if (page === undefined || outcome === undefined || counts === undefined) return []
    const accepted = page.pending.filter((one) => closed.get(scope.sessionId)?.has(one.externalEventId))
    const processingStatus = processingStatusOf({ captureContent: scope.captureContent, ...counts })
    const signals = signalsOf(accepted, outcome.findings)
    const known = accepted.filter(({ version }) => version > FIRST_VERSION).map((one) => one.externalEventId)
    const again = counts.metered > 0 ? [analyzeMessage(scope, page.full || isTerminal(scope.status))] : []
    return [{ scope, processingStatus, signals, known, again }]
  })
  await Promise.all([replaceInferences(tx, newId, concluded), saveProcessingStatuses(tx, concluded)])
  await send(concluded.flatMap(({ again }) => again))
}

/** A response of this version was never analysed before, so it has no inferred signals. */
const FIRST_VERSION = 1

function toExchange(response: PendingResponse): Exchange {
  const question = textOf(response.question?.content)
  return {
    eventId: response.externalEventId,
    question: question === '' ? null : question,
    answer: textOf(response.content),
    followUps: response.followUps.map((message) => textOf(message.content)).filter((text) => text !== ''),
  }
}

/** The signals of the accepted findings. Each names the user who spoke. */
function signalsOf(accepted: readonly PendingResponse[], findings: readonly Finding[]): readonly NewSignal[] {
  const responses = new Map(accepted.map((response) => [response.externalEventId, response]))
  return findings.flatMap(({ eventId, kind, rating, comment }) => {
    const response = responses.get(eventId)
    if (response === undefined) return []
    const speaker = response.followUps[0] ?? response.question
    return [
      {
        source: 'qualitative_inference',
        kind,
        externalEventId: eventId,
        targetEventExternalId: eventId,
        rating,
        labels: [],
        comment,
        participantExternalId: speaker?.participantExternalId ?? null,
      },
    ]
  })
}
