/**
 * One check of a meeting join: does what is due, at most one request to the recorder, and stores its result.
 *
 * The intention to join is committed before the recorder is asked. If the worker dies or the answer is lost, a later check looks for the
 * bot by the id of the join, and asks again only when the first request can no longer arrive.
 */
import type { LongTurn, Send } from '../../actors/types.ts'
import type { Deps } from '../../kernel/deps.ts'
import { withTimeoutSignal } from '../../platform/concurrency/timeout.ts'
import type { Tx } from '../../platform/db/pool.ts'
import type { Seal } from '../../platform/secrets/seal.ts'
import { lockAsset } from '../assets/service.ts'
import { Busy, type CircuitBreaker, CircuitOpen } from './circuit-breaker.ts'
import { countStatus } from './metrics.ts'
import { apply, type CopyState, type Outcome, type Plan, planOf } from './plan.rules.ts'
import { type JoinRequest, type Recorder, RecorderError, type Utterance } from './recorder.ts'
import { type MeetingFacts, takeEffect } from './results.ts'
import * as store from './store.ts'

export interface CheckDeps extends Pick<Deps, 'config' | 'metrics' | 'clock'> {
  readonly facts: MeetingFacts
  readonly recorder: Recorder
  readonly circuitBreaker: CircuitBreaker
  readonly seal: Seal
}

/** Questions for a transcript that fail before a meeting ends without one. Our own transcriber then has the media. */
const TRANSCRIPT_FAILURES = 5

/** An operation may take several requests: so many times the limit of one. A check has two operations: a report and its transcript. */
const OPERATION = 4

interface Begun {
  readonly join: store.JoinRow
  readonly plan: Plan
}

/** Handles `check`. */
export async function check(deps: CheckDeps, turn: LongTurn): Promise<void> {
  const begun = await turn.step((tx) => begin(deps, tx, turn.message.id))
  if (begun === null) return turn.finish(async () => {})
  const outcome = await perform(deps, turn, begun)
  await turn.finish((tx, send) => saveOutcome(deps, turn, tx, send, begun, outcome))
}

/** Writes the intention to join before the recorder is asked. @returns null if nothing is left to do */
async function begin({ config }: CheckDeps, tx: Tx, id: string): Promise<Begun | null> {
  const found = await store.findJoin(tx, id)
  const join = found && (await store.lockJoin(tx, found))
  if (join === null) return null
  const plan = planOf(join, config.meetings)
  if (plan === 'nothing') return null
  if (plan === 'join') await store.saveJoin(tx, join, { ...join, joinSentAt: join.now })
  return { join, plan }
}

async function perform(deps: CheckDeps, turn: LongTurn, begun: Begun): Promise<Outcome> {
  const { plan, join } = begun
  if (plan === 'wait' || plan === 'cancel' || plan === 'nothing' || plan === 'media') return { kind: 'none' }
  const { callSeconds } = deps.config.meetings
  const late = () => new RecorderError('no answer in time', 'retryable')
  try {
    const request = join.botId === null ? await requestOf(deps, join) : null
    return await deps.circuitBreaker.run(() =>
      withTimeoutSignal(2 * OPERATION * callSeconds * 1_000, turn.signal, late, (signal) =>
        ask(deps, begun, request, signal),
      ),
    )
  } catch (error) {
    turn.signal.throwIfAborted()
    if (error instanceof CircuitOpen || error instanceof Busy)
      return { kind: 'busy', isHanging: error instanceof CircuitOpen, seconds: error.seconds }
    if (!(error instanceof RecorderError)) throw error
    turn.log.warn(
      { joinId: join.id, plan, err: error.message, kind: error.kind },
      'request to the recorder failed',
    )
    return { kind: 'error', error }
  }
}

async function ask(
  { recorder, config }: CheckDeps,
  { plan, join }: Begun,
  request: JoinRequest | null,
  signal: AbortSignal,
): Promise<Outcome> {
  const within = <T>(work: (signal: AbortSignal) => Promise<T>) => {
    const { callSeconds } = config.meetings
    const late = () => new RecorderError('no answer in time', 'retryable')
    return withTimeoutSignal(OPERATION * callSeconds * 1_000, signal, late, work)
  }
  if (request !== null) {
    const found = await within((s) =>
      plan === 'join' ? recorder.join(request, s) : recorder.find(request, s),
    )
    return { kind: 'bot', botId: found?.botId ?? null }
  }
  const botId = join.botId as string
  if (plan === 'leave') {
    await within((s) => recorder.leave(botId, s))
    return { kind: 'left' }
  }
  if (plan === 'delete') {
    await within((s) => recorder.deleteData(botId, s))
    return { kind: 'deleted' }
  }
  const report = await within((s) => recorder.status(botId, s))
  const utterances =
    report.state === 'ended' ? await transcriptOf(join, (s) => recorder.transcript(botId, s), within) : null
  return { kind: 'report', report, utterances }
}

type Within = <T>(work: (signal: AbortSignal) => Promise<T>) => Promise<T>

/** A transcript that cannot be read does not keep the media waiting for ever. */
async function transcriptOf(
  { failures }: store.JoinRow,
  read: (signal: AbortSignal) => Promise<readonly Utterance[] | null>,
  within: Within,
): Promise<readonly Utterance[] | null> {
  try {
    return await within(read)
  } catch (error) {
    if (!(error instanceof RecorderError)) throw error
    if (error.kind === 'retryable' && failures < TRANSCRIPT_FAILURES) throw error
    return null
  }
}

/** @throws RecorderError terminal if the link cannot be read any more */
async function requestOf({ seal, config }: CheckDeps, join: store.JoinRow): Promise<JoinRequest> {
  const meetingUrl = join.sealedUrl && (await seal.open(join.sealedUrl, join.id))
  if (meetingUrl === null)
    throw new RecorderError(
      'the link of the meeting cannot be read: the key of the service has changed',
      'terminal',
    )
  const { publicBaseUrl, recorder } = config
  const canNudge = publicBaseUrl !== null && recorder !== null && recorder.webhookSecret !== null
  return {
    joinId: join.id,
    meetingUrl,
    platform: join.platform,
    botName: join.botName,
    joinAt: join.joinAt !== null && join.joinAt > join.now ? join.joinAt : null,
    nudgeUrl: canNudge ? `${publicBaseUrl}/hooks/recorder/${recorder.name}` : null,
  }
}

/** Applies the outcome to the row as it is now: a leave or a deletion may have arrived meanwhile. */
async function saveOutcome(
  { config, metrics, facts }: CheckDeps,
  turn: LongTurn,
  tx: Tx,
  send: Send,
  { join: before, plan }: Begun,
  outcome: Outcome,
): Promise<void> {
  const asset = await lockAsset(tx, before)
  const join = await store.lockJoin(tx, before)
  if (join === null) return
  const copy: CopyState = asset === undefined ? 'gone' : copyOf(asset)
  const result: Outcome = plan === 'media' ? { kind: 'copy', state: copy } : outcome
  const { join: next, effect } = apply(join, plan, result, config.meetings)
  await store.saveJoin(tx, join, next)
  if (asset !== undefined && effect !== null) {
    const utterances = outcome.kind === 'report' ? outcome.utterances : null
    await takeEffect(facts, tx, send, { ...join, ...next }, effect, utterances)
  }
  if (next.status === join.status) return
  countStatus(metrics, join.platform, next.status, next.errorCode ?? 'none')
  turn.log.info({ joinId: join.id, from: join.status, to: next.status, code: next.errorCode }, 'meeting')
}

function copyOf({ status, hasUrl }: { readonly status: string | null; readonly hasUrl: boolean }): CopyState {
  if (status === 'completed') return 'complete'
  if (status === 'failed' || status === 'cancelled') return hasUrl ? 'retryable' : 'gone'
  return status === null ? 'gone' : 'awaited'
}
