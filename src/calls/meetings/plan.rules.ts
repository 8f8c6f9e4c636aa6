/**
 * What the actor of a meeting join does next, and what its result changes. Pure.
 *
 * A plan names at most one request to the recorder. Its result is applied to the row as it is by then, so that a leave or a deletion that
 * arrived meanwhile is not lost.
 */
import type { MeetingsConfig } from '../../kernel/config.ts'
import type { BotReport, RecorderError, RecorderFailure, RecorderName, Utterance } from './recorder.ts'
import {
  after,
  afterFailures,
  deadlineOf,
  furtherStatus,
  isActive,
  joinMoment,
  nextQuestion,
  OVERDUE,
  type Timed,
} from './status.rules.ts'

/** What is left to do after the end. */
type Duty = 'leave' | 'media' | 'delete'

export interface JoinState extends Timed {
  readonly recorder: RecorderName
  readonly errorCode: RecorderFailure | null
  readonly joinedAt: Date | null
  readonly endedAt: Date | null
  readonly joinSentAt: Date | null
  readonly botId: string | null
  readonly leaveRequestedAt: Date | null
  readonly leaveSentAt: Date | null
  readonly duty: Duty | null
  readonly mustDelete: boolean
  readonly failures: number
  readonly nextCheckAt: Date | null
}

export type Plan = 'nothing' | 'wait' | 'join' | 'find' | 'leave' | 'ask' | 'cancel' | 'media' | 'delete'

/** A request to join that was lost may still arrive for so many times the time limit of a request: a join has several. */
const GRACE = 4
/** Media that could not be fetched stays at the recorder for so long, because an operator may retry. */
const KEPT_SECONDS = 7 * 86_400
/** After so many failed requests in a row, a duty is given up: about a day. */
const MOST_FAILURES = 150

export function planOf(join: JoinState, times: MeetingsConfig): Plan {
  if (!isActive(join.status)) return dutyPlan(join)
  if (join.botId !== null)
    return join.leaveRequestedAt !== null && join.leaveSentAt === null ? 'leave' : 'ask'
  if (join.joinSentAt === null) {
    if (join.leaveRequestedAt !== null) return 'cancel'
    return join.joinAt !== null && join.now < joinMoment(join.joinAt, join.recorder) ? 'wait' : 'join'
  }
  // An earlier request was sent, and its outcome is unknown. It may still arrive, so a second one has to wait.
  return isLost(join, times) && join.leaveRequestedAt === null ? 'join' : 'find'
}

function dutyPlan({ duty, botId }: JoinState): Plan {
  if (duty === null) return 'nothing'
  if (duty === 'media') return 'media'
  return botId === null ? 'find' : duty
}

function isLost({ joinSentAt, now }: JoinState, times: MeetingsConfig): boolean {
  return joinSentAt === null || now > after(joinSentAt, GRACE * times.callSeconds)
}

/** State of the media here, for the duty `media`. */
export type CopyState = 'awaited' | 'retryable' | 'complete' | 'gone'

export type Outcome =
  | { readonly kind: 'none' }
  /** Other requests to the recorder are under way. `isHanging`: it does not answer them. */
  | { readonly kind: 'busy'; readonly isHanging: boolean; readonly seconds: number }
  | { readonly kind: 'bot'; readonly botId: string | null }
  | { readonly kind: 'left' }
  | { readonly kind: 'report'; readonly report: BotReport; readonly utterances: readonly Utterance[] | null }
  | { readonly kind: 'copy'; readonly state: CopyState }
  | { readonly kind: 'deleted' }
  | { readonly kind: 'error'; readonly error: Pick<RecorderError, 'kind' | 'code' | 'retryAfterSeconds'> }

/** What the recording gets, in the same transaction. */
export type Effect =
  | { readonly kind: 'failed'; readonly code: RecorderFailure | 'media_empty' }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'media' }

export interface Applied {
  readonly join: JoinState
  readonly effect: Effect | null
}

/** The join after the result of a plan. `join` is the row as it is now. */
export function apply(join: JoinState, plan: Plan, outcome: Outcome, times: MeetingsConfig): Applied {
  const settled = isActive(join.status)
    ? applyToActive(join, plan, outcome, times)
    : { join: applyToDuty(join, outcome, times), effect: null }
  return { ...settled, join: { ...settled.join, nextCheckAt: nextCheck(settled.join, outcome, times) } }
}

function applyToActive(join: JoinState, plan: Plan, outcome: Outcome, times: MeetingsConfig): Applied {
  const well = { ...join, failures: 0 }
  switch (outcome.kind) {
    case 'bot':
      return outcome.botId === null
        ? withoutBot(well, times)
        : judged({ ...well, botId: outcome.botId }, times)
    case 'left':
      return unchanged({ ...moved(well, 'processing'), leaveSentAt: join.now })
    case 'report':
      return reported(well, outcome.report, times)
    case 'error':
      return failedRequest(join, plan, outcome.error, times)
    case 'busy':
      return outcome.isHanging ? judged(join, times, 'recorder_failed') : unchanged(join)
    default:
      return plan === 'cancel' ? ended(join, { kind: 'cancelled' }, null) : judged(join, times)
  }
}

/** The recorder knows of no bot for this join. */
function withoutBot(join: JoinState, times: MeetingsConfig): Applied {
  if (join.leaveRequestedAt !== null && isLost(join, times)) return ended(join, { kind: 'cancelled' }, null)
  return judged(join, times)
}

function failedRequest(
  join: JoinState,
  plan: Plan,
  { kind, code, retryAfterSeconds }: Pick<RecorderError, 'kind' | 'code' | 'retryAfterSeconds'>,
  times: MeetingsConfig,
): Applied {
  const counted = { ...join, failures: join.failures + 1 }
  if (kind === 'retryable') {
    // A recorder that names a time has refused the request, so no bot can come of it.
    const wasRefused = plan === 'join' && retryAfterSeconds !== null
    return judged(wasRefused ? { ...counted, joinSentAt: null } : counted, times, 'recorder_failed')
  }
  // A join that is refused at once has no bot. After anything else there may be one.
  const hasNone = plan === 'join' && join.failures === 0 && join.botId === null
  return failed(counted, code, hasNone ? null : 'leave')
}

function reported(join: JoinState, report: BotReport, times: MeetingsConfig): Applied {
  const joinedAt = join.joinedAt ?? report.joinedAt ?? null
  const told = { ...join, joinedAt, endedAt: report.endedAt ?? join.endedAt }
  const cleanUp = times.deletesCopies || join.mustDelete ? 'delete' : null
  if (report.state === 'ended') {
    if (report.hasMedia) return ended(told, { kind: 'media' }, 'media')
    return ended(told, noMedia(join), cleanUp)
  }
  if (report.state === 'failed')
    return join.leaveRequestedAt === null
      ? failed(told, report.code, cleanUp)
      : ended(told, { kind: 'cancelled' }, cleanUp)
  const further = moved(told, furtherStatus(join.status, report.state))
  const isIn = report.state === 'recording' || report.state === 'processing'
  return judged(isIn ? { ...further, joinedAt: further.joinedAt ?? join.now } : further, times)
}

const noMedia = ({ leaveRequestedAt }: JoinState): Effect =>
  leaveRequestedAt === null ? { kind: 'failed', code: 'media_empty' } : { kind: 'cancelled' }

/** Ends a state that took too long. `code`: if the recorder could not be asked. */
function judged(join: JoinState, times: MeetingsConfig, code: RecorderFailure | null = null): Applied {
  if (!isActive(join.status) || join.now < deadlineOf(join, times)) return unchanged(join)
  if (join.status === 'recording') {
    if (code !== null && join.leaveRequestedAt !== null) return failed(join, code, 'leave')
    return unchanged({ ...join, leaveRequestedAt: join.leaveRequestedAt ?? join.now })
  }
  const mayHaveBot = join.joinSentAt !== null
  return failed(join, code ?? OVERDUE[join.status], mayHaveBot ? 'leave' : null)
}

function moved(join: JoinState, status: JoinState['status']): JoinState {
  return status === join.status ? join : { ...join, status, statusSince: join.now }
}

const unchanged = (join: JoinState): Applied => ({ join, effect: null })

function ended(join: JoinState, effect: Effect, duty: Duty | null): Applied {
  const end = { ...moved(join, 'ended'), failures: 0, endedAt: join.endedAt ?? join.now, duty }
  return {
    join: join.joinedAt === null && effect.kind === 'cancelled' ? { ...end, endedAt: null } : end,
    effect,
  }
}

function failed(join: JoinState, code: RecorderFailure, duty: Duty | null): Applied {
  const end = { ...moved(join, 'failed'), errorCode: code, failures: 0, duty }
  return { join: end, effect: { kind: 'failed', code } }
}

function applyToDuty(join: JoinState, outcome: Outcome, times: MeetingsConfig): JoinState {
  const well = { ...join, failures: 0 }
  const cleanUp = times.deletesCopies || join.mustDelete ? 'delete' : null
  switch (outcome.kind) {
    case 'bot':
      if (outcome.botId !== null) return { ...well, botId: outcome.botId }
      return isLost(join, times) ? { ...well, duty: null } : well
    case 'left':
      return { ...well, leaveSentAt: join.now, duty: 'delete' }
    case 'deleted':
      return { ...well, duty: null, botId: null }
    case 'copy':
      return isDone(join, outcome.state)
        ? { ...well, duty: outcome.state === 'complete' ? cleanUp : 'delete' }
        : well
    case 'error':
      return afterError(join, outcome.error)
    default:
      return join
  }
}

function isDone({ statusSince, now }: JoinState, state: CopyState): boolean {
  if (state === 'retryable') return now > after(statusSince, KEPT_SECONDS)
  return state !== 'awaited'
}

function afterError(join: JoinState, { kind }: Pick<RecorderError, 'kind'>): JoinState {
  const failures = join.failures + 1
  if (kind === 'retryable' && failures < MOST_FAILURES) return { ...join, failures }
  return { ...join, failures: 0, duty: join.duty === 'leave' && join.botId !== null ? 'delete' : null }
}

function nextCheck(join: JoinState, outcome: Outcome, times: MeetingsConfig): Date | null {
  if (!isActive(join.status) && join.duty === null) return null
  if (outcome.kind === 'busy') return after(join.now, outcome.seconds)
  if (join.failures > 0) {
    const askedFor = outcome.kind === 'error' ? outcome.error.retryAfterSeconds : null
    return notAfterDeadline(join, afterFailures(join, join.failures, askedFor, times), times)
  }
  if (isImmediate(join)) return join.now
  if (join.joinAt !== null && join.joinSentAt === null && isActive(join.status)) {
    const moment = joinMoment(join.joinAt, join.recorder)
    if (moment > join.now) return moment
  }
  return nextQuestion(join, times)
}

/** The next step needs no waiting: the bot has just become known, is to leave, or its copy can go. */
function isImmediate(join: JoinState): boolean {
  if (!isActive(join.status)) return join.duty !== 'media' && join.botId !== null
  return join.botId !== null && join.leaveRequestedAt !== null && join.leaveSentAt === null
}

function notAfterDeadline(join: JoinState, next: Date, times: MeetingsConfig): Date {
  if (!isActive(join.status)) return next
  const deadline = deadlineOf(join, times)
  return deadline > join.now && deadline < next ? deadline : next
}

/** The join after its recording was deleted: the bot leaves, and its copy goes. */
export function discarded(join: JoinState): JoinState {
  const { status, botId, joinSentAt, now, duty } = join
  const mustLeave = isActive(status) ? joinSentAt !== null : duty === 'leave'
  const next = mustLeave ? 'leave' : botId === null ? null : 'delete'
  const end = isActive(status) ? moved(join, 'ended') : join
  return { ...end, mustDelete: true, duty: next, nextCheckAt: next === null ? null : now }
}

/** The join after a request to leave. A bot that was never asked for is none. */
export function asLeaving(join: JoinState, times: MeetingsConfig): Applied {
  const leaving = { ...join, leaveRequestedAt: join.now }
  if (planOf(leaving, times) === 'cancel') return apply(leaving, 'cancel', { kind: 'none' }, times)
  return { join: { ...leaving, nextCheckAt: join.now }, effect: null }
}
