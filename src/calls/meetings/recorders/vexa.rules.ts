/**
 * What the answers of Vexa 0.12 mean. Pure.
 *
 * Source: Vexa-ai/vexa, core/gateway/contracts/api.v1/api.schema.json, docs/docs/api/meetings.mdx, meeting_api/bot_spawn/router.py and
 * service.py, meeting_api/lifecycle/machine.py.
 */
import { type Static, Type } from '@sinclair/typebox'
import type { BotReport, JoinRequest, RecorderFailure, Utterance } from '../recorder.ts'
import { momentOf, type Refusal, refusalOfStatus, shownCode } from './http.rules.ts'

const Text = Type.String()
const MaybeText = Type.Optional(Type.Union([Text, Type.Null()]))
const Id = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })

const VexaRecording = Type.Object({
  id: Id,
  media_files: Type.Optional(Type.Array(Type.Object({ type: MaybeText, format: MaybeText }))),
})

const meeting = <D extends Parameters<typeof Type.Object>[0]>(data: D) =>
  Type.Object({
    id: Id,
    platform: MaybeText,
    native_meeting_id: MaybeText,
    status: Text,
    start_time: MaybeText,
    end_time: MaybeText,
    created_at: MaybeText,
    completion_reason: MaybeText,
    data: Type.Optional(Type.Union([Type.Object({ title: MaybeText, ...data }), Type.Null()])),
  })

export const VexaMeeting = meeting({
  completion_reason: MaybeText,
  recordings: Type.Optional(Type.Union([Type.Array(VexaRecording), Type.Null()])),
})
type Meeting = Static<typeof VexaMeeting>

/** Rows of lists have no recordings. */
export const VexaMeetings = Type.Object({ meetings: Type.Array(meeting({})) })

export const VexaMaster = Type.Object({ raw_url: MaybeText })

export const VexaTranscript = Type.Object({
  segments: Type.Array(
    Type.Object({
      start: Type.Number(),
      end: Type.Number(),
      text: Text,
      speaker: MaybeText,
      completed: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
      source: MaybeText,
    }),
  ),
})

type Running = Exclude<BotReport['state'], 'ended' | 'failed'>

/** `idle`: planned, and the bot is not sent yet. `completed` and `failed` are final. */
const STATES: Readonly<Record<string, Running>> = {
  idle: 'joining',
  scheduled: 'scheduled',
  requested: 'joining',
  joining: 'joining',
  awaiting_admission: 'waiting_room',
  needs_help: 'waiting_room',
  needs_human_help: 'waiting_room',
  active: 'recording',
  stopping: 'processing',
}

/** Reasons of `failed` that are no failure: somebody ended it, or nobody came. */
const ENDED = new Set([
  'stopped',
  'stopped_before_admission',
  'stopped_with_no_audio',
  'left_alone',
  'startup_alone',
])

/** Reasons of `failed`; all others are `recorder_failed`. */
const FAILURES: Readonly<Record<string, RecorderFailure>> = {
  awaiting_admission_timeout: 'waiting_room_timeout',
}

/** A status of a newer version counts as recording once the bot has joined, and as joining before. */
export function reportOf(meeting: Meeting): BotReport {
  const { status, start_time, end_time } = meeting
  const [joinedAt, endedAt] = [momentOf(start_time), momentOf(end_time)]
  const times = { ...(joinedAt && { joinedAt }), ...(endedAt && { endedAt }) }
  const hasMedia = mediaOf(meeting) !== null
  if (status === 'completed') return { state: 'ended', hasMedia, ...times }
  if (status === 'failed') {
    const reason = meeting.completion_reason ?? meeting.data?.completion_reason ?? 'unknown'
    // A bot that fails in the meeting keeps what it has recorded until then.
    if (hasMedia || ENDED.has(reason)) return { state: 'ended', hasMedia, ...times }
    const code = (Object.hasOwn(FAILURES, reason) ? FAILURES[reason] : undefined) ?? 'recorder_failed'
    return { state: 'failed', code, detail: `Vexa reports ${shownCode(reason)}.`, ...times }
  }
  const known = Object.hasOwn(STATES, status) ? STATES[status] : undefined
  return { state: known ?? (joinedAt === undefined ? 'joining' : 'recording'), ...times }
}

export interface VexaMedia {
  readonly recordingId: number
  readonly type: 'audio' | 'video'
  readonly contentType: string | undefined
}

/** The last recording of the meeting, whose sound comes before its video. */
export function mediaOf({ data }: Meeting): VexaMedia | null {
  for (const { id, media_files = [] } of (data?.recordings ?? []).toReversed())
    for (const type of ['audio', 'video'] as const) {
      const file = media_files.find((candidate) => candidate.type === type)
      if (file !== undefined) return { recordingId: id, type, contentType: typeOf(type, file.format) }
    }
  return null
}

function typeOf(type: string, format: string | null | undefined): string | undefined {
  if (format === 'wav') return 'audio/wav'
  return format === 'webm' ? `${type}/webm` : undefined
}

/** The title of a plan is kept when its bot is sent, so it carries the join. No other member of the caller's is. */
export function titleOf(joinId: string): string {
  return `${TITLE}${joinId}`
}
const TITLE = 'Earshot '

const STALE_MS = 3_600_000

/** A plan of a join that was given up long ago, before its bot was sent. It would keep all later bots from the meeting. */
export function isStalePlan(
  { status, data, created_at }: Static<typeof VexaMeetings>['meetings'][number],
  now: Date,
): boolean {
  const createdAt = momentOf(created_at)
  if (status !== 'idle' || data?.title?.startsWith(TITLE) !== true || createdAt === undefined) return false
  return now.getTime() - createdAt.getTime() > STALE_MS
}

/** Vexa sends the bot by itself some minutes before `scheduled_at`. A time that is near or past is none. */
const MIN_AHEAD_MS = 180_000

/** The body of `POST /meetings`. */
export function planOf({ joinId, meetingUrl, joinAt }: JoinRequest, now: Date) {
  const isAhead = joinAt !== null && joinAt.getTime() - now.getTime() >= MIN_AHEAD_MS
  return {
    title: titleOf(joinId),
    meeting_url: meetingUrl,
    ...(isAhead ? { scheduled_at: joinAt.toISOString(), auto_join: true } : { auto_join: false }),
  }
}

/** The body of `POST /bots`. Vexa derives platform, native id and passcode from the link. */
export function creationOf({ meetingUrl, botName }: JoinRequest, transcribe: boolean) {
  return {
    meeting_url: meetingUrl,
    bot_name: botName.trim().slice(0, 100) || 'Earshot',
    recording_enabled: true,
    transcribe_enabled: transcribe,
  }
}

/** 503 because no speech recogniser is configured: the bot can record all the same. */
export function lacksTranscription(status: number, json: unknown): boolean {
  return status === 503 && /transcription backend/i.test(detailOf(json))
}

/** `{"detail": "…"}`; '' for lists and objects. */
function detailOf(json: unknown): string {
  if (typeof json !== 'object' || json === null || !('detail' in json)) return ''
  return typeof json.detail === 'string' ? json.detail : ''
}

/** Why `POST /meetings` or `POST /bots` was refused. */
export function refusalOf(status: number): Refusal {
  if (status === 409) {
    const detail = 'has another bot or plan for this meeting, or the bot was stopped'
    return { detail, kind: 'terminal', code: 'recorder_failed' }
  }
  if (status === 404 || status === 405) {
    const detail = `does not know this request (${status}): Vexa 0.12 or newer is needed`
    return { detail, kind: 'terminal', code: 'recorder_failed' }
  }
  if (status === 422)
    return { detail: 'does not know this meeting link', kind: 'terminal', code: 'meeting_not_found' }
  if (status === 503) return { detail: 'is not available (503)', kind: 'retryable', code: 'recorder_failed' }
  return refusalOfStatus(status)
}

/** Drafts (`completed` false) and chat messages are left out. Times are seconds since the session began. */
export function utterancesOf({ segments }: Static<typeof VexaTranscript>): readonly Utterance[] {
  return segments
    .filter(({ completed, source, text }) => completed !== false && source !== 'chat' && text.trim() !== '')
    .map(({ start, end, text, speaker }) => {
      const startSec = Math.max(0, start)
      return {
        speaker: speaker?.trim() || null,
        startSec,
        endSec: Math.max(startSec, end),
        text: text.trim(),
      }
    })
    .toSorted((a, b) => a.startSec - b.startSec)
}
