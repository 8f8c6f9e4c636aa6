/**
 * The analysis of a session's metered responses: reads a page of them, asks the analyser outside of any transaction,
 * and makes its findings the session's qualitative signals.
 *
 * The rule: a turn handles one page; where more is left, or came in meanwhile, it writes to itself. It decides that under
 * the session's row lock, which whoever adds responses holds too, so none is left behind.
 */
import type { ActorDefinition, GiveUp, LongTurn, Send } from '../actors/types.ts'
import { type Analyzer, AnalyzerError, type Exchange, type Finding } from '../analyze/analyzer.ts'
import { createAnalyzer } from '../analyze/create.ts'
import { textOf } from '../analyze/text.ts'
import type { Deps } from '../container.ts'
import type { Tx } from '../platform/db/pool.ts'
import { closeResponses, type PendingResponse, readPending } from './analysis.store.ts'
import { countResponses } from './responses.store.ts'
import { analyzeLetter, isTerminal } from './session.rules.ts'
import { type NewSignal, replaceInferences } from './signal-writes.store.ts'
import { processingStatusOf } from './turn.rules.ts'
import { hasUnwalked, type LockedSession, lockSession, saveProcessingStatus } from './walk.store.ts'

/** Responses of one turn. */
const PAGE = 50

type AnalysisDeps = Pick<Deps, 'config' | 'newId'>

interface Outcome {
  readonly state: 'analyzed' | 'failed'
  readonly findings: readonly Finding[]
}

/** `analyze`: responses of the session are in state `metered`. */
export function analysisActor(
  deps: AnalysisDeps,
  analyzer: Analyzer = createAnalyzer(deps.config),
): ActorDefinition {
  return {
    kind: 'analysis',
    pool: 'long',
    maxAttempts: 8,
    giveUp,
    handlers: { analyze: (turn) => analyze(deps, analyzer, turn) },
  }
}

async function analyze(deps: AnalysisDeps, analyzer: Analyzer, turn: LongTurn): Promise<void> {
  const { id } = turn.message
  const pending = await turn.step((tx) => readPending(tx, id, PAGE))
  const outcome = await ask(analyzer, pending, turn)
  await turn.finish(async (tx, send) => {
    const session = await lockSession(tx, id)
    if (session === null) return
    const accepted = await closeResponses(tx, session, pending, outcome.state)
    await replaceInferences(tx, session, deps.newId, accepted, signalsOf(pending, accepted, outcome.findings))
    await conclude(tx, send, session, pending.length === PAGE)
  })
}

/** A refusal of these very exchanges is an outcome; anything else fails the turn, which is tried again. */
async function ask(
  analyzer: Analyzer,
  pending: readonly PendingResponse[],
  { log, signal }: LongTurn,
): Promise<Outcome> {
  if (pending.length === 0) return { state: 'analyzed', findings: [] }
  try {
    return { state: 'analyzed', findings: await analyzer.analyze(pending.map(toExchange), signal) }
  } catch (error) {
    if (!(error instanceof AnalyzerError) || error.retryable) throw error
    log.warn({ analyzer: analyzer.name, err: error.message, responses: pending.length }, 'analysis refused')
    return { state: 'failed', findings: [] }
  }
}

/** The page that could not be analysed is marked as failed; the rest of the session goes on. */
const giveUp: GiveUp = async (message, tx, send) => {
  const session = await lockSession(tx, message.id)
  if (session === null) return 'handled'
  const pending = await readPending(tx, message.id, PAGE)
  const failed = await closeResponses(tx, session, pending, 'failed')
  // What an older version of them had shown is not true of them any more.
  await replaceInferences(tx, session, () => '', failed, [])
  await conclude(tx, send, session, pending.length === PAGE)
  return 'handled'
}

/** Says how far the session is, and goes on where responses are left; `full`: the page that was read was. */
async function conclude(tx: Tx, send: Send, session: LockedSession, full: boolean): Promise<void> {
  const { captureContent, sessionId } = session
  const [counts, unwalked] = await Promise.all([countResponses(tx, session), hasUnwalked(tx, session)])
  await saveProcessingStatus(tx, session, processingStatusOf({ captureContent, unwalked, ...counts }))
  if (counts.metered > 0) await send([analyzeLetter(sessionId, full || isTerminal(session.status))])
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
