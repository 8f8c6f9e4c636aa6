/**
 * The analysis of a session's metered responses: reads a page of them, asks the analyser outside of any transaction,
 * and makes its findings the session's qualitative signals.
 *
 * The rule: a turn handles one page; where more is left, or came in meanwhile, it writes to itself. It decides that under
 * the session's row lock, which whoever adds responses holds too, so none is left behind.
 */
import type { ActorDefinition, LongTurn, Message, Send } from '../../actors/types.ts'
import { type Analyzer, AnalyzerError, type Exchange, type Finding } from '../../analyze/analyzer.ts'
import { createAnalyzer } from '../../analyze/create.ts'
import { textOf } from '../../analyze/text.ts'
import type { Deps } from '../../container.ts'
import type { Tx } from '../../platform/db/pool.ts'
import type { NewId } from '../../platform/ids.ts'
import { lockSession, saveProcessingStatus } from '../sessions/progress.store.ts'
import { analyzeLetter, isTerminal } from '../sessions/session.rules.ts'
import { type NewSignal, replaceInferences } from '../sessions/signals.store.ts'
import { processingStatusOf } from '../sessions/turn.rules.ts'
import { closeResponses, type PendingResponse, readPending, readProgress } from './store.ts'

/** Responses of one turn. */
const PAGE = 50

type AnalysisDeps = Pick<Deps, 'config' | 'newId' | 'textWork'>

interface Outcome {
  readonly state: 'analyzed' | 'failed'
  readonly findings: readonly Finding[]
}

/** `analyze`: responses of the session are in state `metered`. */
export function analysisActor(
  deps: AnalysisDeps,
  analyzer: Analyzer = createAnalyzer(deps.config, deps.textWork),
): ActorDefinition {
  return {
    kind: 'analysis',
    pool: 'long',
    maxAttempts: 8,
    giveUp: (message, tx, send) => giveUp(deps, message, tx, send),
    handlers: { analyze: (turn) => analyze(deps, analyzer, turn) },
  }
}

async function analyze(deps: AnalysisDeps, analyzer: Analyzer, turn: LongTurn): Promise<void> {
  const { id } = turn.message
  const pending = await turn.read((tx) => readPending(tx, id, PAGE))
  const outcome = await ask(analyzer, pending, turn)
  await turn.finish((tx, send) => conclude(deps.newId, tx, send, id, pending, outcome))
}

/** A refusal of these very exchanges is an outcome; anything else fails the turn, which is tried again. */
async function ask(
  analyzer: Analyzer,
  pending: readonly PendingResponse[],
  { log, signal, organization }: LongTurn,
): Promise<Outcome> {
  if (pending.length === 0) return { state: 'analyzed', findings: [] }
  try {
    const findings = await analyzer.analyze(pending.map(toExchange), signal, organization)
    return { state: 'analyzed', findings }
  } catch (error) {
    if (!(error instanceof AnalyzerError) || error.retryable) throw error
    log.warn({ analyzer: analyzer.name, err: error.message, responses: pending.length }, 'analysis refused')
    return { state: 'failed', findings: [] }
  }
}

/** The page that could not be analysed is marked as failed; the rest of the session goes on. */
async function giveUp(deps: AnalysisDeps, { id }: Message, tx: Tx, send: Send): Promise<'handled'> {
  const pending = await readPending(tx, id, PAGE)
  // What an older version of them had shown is not true of them any more.
  await conclude(deps.newId, tx, send, id, pending, { state: 'failed', findings: [] })
  return 'handled'
}

/**
 * Makes the outcome that of the responses that are still what was asked about, says how far the session is, and goes on where
 * responses are left. In two trips: statements of one are sent together and run in the order in which they are written, all of
 * them under the lock that the first one takes.
 */
async function conclude(
  newId: NewId,
  tx: Tx,
  send: Send,
  id: string,
  pending: readonly PendingResponse[],
  { state, findings }: Outcome,
): Promise<void> {
  const [session, accepted, progress] = await Promise.all([
    lockSession(tx, id),
    closeResponses(tx, id, pending, state),
    readProgress(tx, id),
  ])
  if (session === null) return
  const { captureContent, status } = session
  await Promise.all([
    replaceInferences(tx, session, newId, accepted, signalsOf(pending, accepted, findings)),
    saveProcessingStatus(tx, session, processingStatusOf({ captureContent, ...progress })),
  ])
  if (progress.metered === 0) return
  await send([analyzeLetter(session, pending.length === PAGE || isTerminal(status))])
}

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
function signalsOf(
  pending: readonly PendingResponse[],
  accepted: readonly string[],
  findings: readonly Finding[],
): readonly NewSignal[] {
  const responses = new Map(pending.map((response) => [response.externalEventId, response]))
  return findings
    .filter((finding) => accepted.includes(finding.eventId))
    .map(({ eventId, kind, rating, comment }) => {
      const response = responses.get(eventId)
      const speaker = response?.followUps[0] ?? response?.question
      return {
        source: 'qualitative_inference',
        kind,
        externalEventId: eventId,
        targetEventExternalId: eventId,
        rating,
        labels: [],
        comment,
        participantExternalId: speaker?.participantExternalId ?? null,
      }
    })
}
