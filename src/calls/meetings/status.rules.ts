/** The states of a meeting, their order and their deadlines. Pure. */
import type { MeetingsConfig } from '../../kernel/config.ts'
import type { RecorderFailure, RecorderName } from './recorder.ts'

/** In the order in which a meeting goes through them; it may leave some out. The last two are final. */
export const MEETING_STATUSES = [
  'scheduled',
  'joining',
  'waiting_room',
  'recording',
  'processing',
  'ended',
  'failed',
] as const
export type MeetingStatus = (typeof MEETING_STATUSES)[number]

/** While a meeting is in one of these states, no other recording of it begins. */
export type ActiveStatus = Exclude<MeetingStatus, 'ended' | 'failed'>

/** The part of a join that decides when something is due. */
export interface Timed {
  readonly status: MeetingStatus
  readonly statusSince: Date
  readonly joinAt: Date | null
  readonly now: Date
}

export function isActive(status: MeetingStatus): status is ActiveStatus {
  return status !== 'ended' && status !== 'failed'
}

/** The state after a report. It never goes back, so a bot that flaps between two states cannot postpone its deadline. */
export function furtherStatus(present: MeetingStatus, reported: MeetingStatus): MeetingStatus {
  return MEETING_STATUSES.indexOf(reported) > MEETING_STATUSES.indexOf(present) ? reported : present
}

/**
 * Seconds before `joinAt` at which the recorder is asked. A recorder that keeps a schedule starts its bot in time; the others
 * are asked at the moment itself.
 */
const LEAD_SECONDS: Readonly<Record<RecorderName, number>> = { attendee: 300, recall: 900, vexa: 0, none: 0 }

/** When to ask the recorder to join. */
export function joinMoment(joinAt: Date, recorder: RecorderName): Date {
  return after(joinAt, -LEAD_SECONDS[recorder])
}

/** When an active state must be over. */
export function deadlineOf({ status, statusSince, joinAt }: Timed, times: MeetingsConfig): Date {
  switch (status) {
    case 'scheduled':
      return after(joinAt ?? statusSince, times.joinSeconds)
    case 'joining':
      return after(statusSince, times.joinSeconds)
    case 'waiting_room':
      return after(statusSince, times.waitingRoomSeconds)
    case 'recording':
      return after(statusSince, times.recordingSeconds)
    default:
      return after(statusSince, times.processingSeconds)
  }
}

/** Why a state that took too long fails. A recording does not fail: its bot leaves. */
export const OVERDUE: Readonly<Record<Exclude<ActiveStatus, 'recording'>, RecorderFailure>> = {
  scheduled: 'join_timeout',
  joining: 'join_timeout',
  waiting_room: 'waiting_room_timeout',
  processing: 'recorder_failed',
}

/** The rarest questions, in seconds. People watch a bot join; a recording changes once. */
const RAREST: Readonly<Record<MeetingStatus, number>> = {
  scheduled: 60,
  joining: 15,
  waiting_room: 15,
  recording: 60,
  processing: 60,
  ended: 600,
  failed: 600,
}

/** When to ask again: a tenth of the age of the state, within limits, and not after its deadline. */
export function nextQuestion(join: Timed, times: MeetingsConfig): Date {
  const { status, statusSince, now } = join
  const age = (now.getTime() - statusSince.getTime()) / 1_000
  const pause = Math.min(Math.max(age / 10, times.pollSeconds), Math.max(RAREST[status], times.pollSeconds))
  const next = after(now, pause)
  if (!isActive(status)) return next
  const deadline = deadlineOf(join, times)
  return deadline > now && deadline < next ? deadline : next
}

/** After so many failed requests in a row. `askedFor`: seconds that the recorder itself named. */
export function afterFailures(
  { now }: Timed,
  failures: number,
  askedFor: number | null,
  times: MeetingsConfig,
): Date {
  const pause = Math.min(times.pollSeconds * 2 ** Math.min(failures - 1, 10), 120)
  return after(now, Math.min(Math.max(askedFor ?? 0, pause), 600))
}

export function after(moment: Date, seconds: number): Date {
  return new Date(moment.getTime() + seconds * 1_000)
}
