/**
 * The analysis of a session's metered responses: reads a page of them, asks the analyser outside of any transaction,
 * and makes its findings the session's qualitative signals.
 *
 * A turn handles one page. Where more is left, or came in meanwhile, it sends another message to itself. It decides that under
 * the session's row lock, which whoever adds responses holds too, so none is left behind.
 *
 * Sessions share turns where the analyser takes many conversations at once: one statement reads for all of them, and one transaction
 * writes for all of them. A server that is asked about one conversation at a time has a turn for each.
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

/** Responses of one session in a turn. */
const PAGE = 50
/** Responses of all sessions of a turn, so that many long sessions take no more memory together than a few. */
const PAGE_TOGETHER = 128

type AnalysisDeps = Pick<Deps, 'config' | 'newId' | 'textWork'>

/** A page of a session's responses. */
interface Page {
  readonly sessionId: string
  readonly pending: readonly PendingResponse[]
  /** There may be more. */
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

/** The outcome of each page. A refusal of these very exchanges is one; anything else fails the turn, which is tried again. */
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
    // Whose exchanges were refused is known where one session was asked about.
    if (pages.length > 1 || !(error instanceof AnalyzerError) || error.retryable) throw error
    const responses = pages.reduce((sum, { pending }) => sum + pending.length, 0)
    log.warn({ analyzer: analyzer.name, err: error.message, responses }, 'analysis refused')
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

/** The page that could not be analysed is marked as failed; the rest of the session goes on. */
async function giveUp(deps: AnalysisDeps, { id }: Message, tx: Tx, send: Send): Promise<'handled'> {
  const pages = await readPages(tx, [id], false)
  // What an older version of them had shown is not true of them any more.
  await conclude(deps.newId, tx, send, pages, [{ state: 'failed', findings: [] }])
  return 'handled'
}

/**
 * Makes the outcomes those of the responses that are still what was asked about, says how far the sessions are, and goes on where
 * responses are left. In two trips: statements of one are sent together and run in the order in which they are written, all of
 * them under the locks that the first one takes.
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

/** A response that was never analysed: nothing has been inferred from it. */
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

/** The signals of what was accepted; each names the user who spoke. */
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
