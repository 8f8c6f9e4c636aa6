/**
 * What Attendee's answers mean. Pure.
 *
 * Source: attendee-labs/attendee, bots/models.py (states, event types and sub-types), bots/serializers.py, bots/bots_api_utils.py.
 */
import { type Static, Type } from '@sinclair/typebox'
import type { BotReport, JoinRequest, RecorderFailure, Utterance } from '../recorder.ts'
import { momentOf, type Refusal, refusalOfStatus, shownCode } from './http.rules.ts'

const Text = Type.String()
const MaybeText = Type.Optional(Type.Union([Text, Type.Null()]))

export const AttendeeBot = Type.Object({
  id: Type.String({ pattern: '^[A-Za-z0-9_-]{1,100}$' }),
  state: Text,
  recording_state: MaybeText,
  metadata: Type.Optional(Type.Unknown()),
  events: Type.Array(Type.Object({ type: MaybeText, sub_type: MaybeText, created_at: MaybeText })),
})
type Bot = Static<typeof AttendeeBot>

export const AttendeeBots = Type.Object({ results: Type.Array(AttendeeBot) })

export const AttendeeRecording = Type.Object({
  url: Text,
  start_timestamp_ms: Type.Union([Type.Number(), Type.Null()]),
})

export const AttendeeTranscript = Type.Array(
  Type.Object({
    speaker_name: MaybeText,
    timestamp_ms: Type.Number(),
    duration_ms: Type.Number(),
    transcription: Type.Unknown(),
  }),
)

type Running = Exclude<BotReport['state'], 'ended' | 'failed'>

/** `ended`, `fatal_error` and `data_deleted` are final. */
const STATES: Readonly<Record<string, Running>> = {
  scheduled: 'scheduled',
  staged: 'scheduled',
  ready: 'joining',
  joining: 'joining',
  waiting_room: 'waiting_room',
  joined_not_recording: 'recording',
  joined_recording: 'recording',
  joined_recording_paused: 'recording',
  joined_recording_permission_denied: 'recording',
  joining_breakout_room: 'recording',
  leaving_breakout_room: 'recording',
  leaving: 'processing',
  post_processing: 'processing',
}

/** Sub-types of `could_not_join_meeting` and `fatal_error`; all others are `recorder_failed`. */
const FAILURES: Readonly<Record<string, RecorderFailure>> = {
  meeting_not_found: 'meeting_not_found',
  meeting_not_started_waiting_for_host: 'join_timeout',
  authorized_user_not_in_meeting_timeout_exceeded: 'join_timeout',
  bot_not_launched: 'join_timeout',
  waiting_room_timeout_exceeded: 'waiting_room_timeout',
}

const LEFT = new Set(['left_meeting', 'meeting_ended', 'fatal_error'])

/** A state of a newer version counts as recording once the bot has joined, and as joining before. */
export function reportOf({ state, recording_state, events }: Bot): BotReport {
  const joinedAt = momentOf(events.find(({ type }) => type === 'joined_meeting')?.created_at)
  const endedAt = joinedAt && momentOf(events.findLast(({ type }) => LEFT.has(type ?? ''))?.created_at)
  const times = { ...(joinedAt && { joinedAt }), ...(endedAt && { endedAt }) }
  const hasMedia = recording_state === 'complete'
  if (state === 'ended') return { state: 'ended', hasMedia, ...times }
  if (state === 'data_deleted') return { state: 'ended', hasMedia: false, ...times }
  // A bot that dies in the meeting may have saved its recording before.
  if (state === 'fatal_error')
    return hasMedia ? { state: 'ended', hasMedia, ...times } : { ...failureOf(events), ...times }
  const known = Object.hasOwn(STATES, state) ? STATES[state] : undefined
  return { state: known ?? (joinedAt === undefined ? 'joining' : 'recording'), ...times }
}

function failureOf(events: Bot['events']) {
  const subType = events.findLast(({ sub_type }) => typeof sub_type === 'string')?.sub_type ?? 'unknown'
  const code = Object.hasOwn(FAILURES, subType) ? FAILURES[subType] : undefined
  return {
    state: 'failed',
    code: code ?? 'recorder_failed',
    detail: `Attendee reports ${shownCode(subType)}.`,
  } as const
}

/** Metadata of a bot are strings only: Attendee signs them, and a number may change its text on the way. */
export const JOIN_ID = 'earshotJoinId'

/** Times in the past are refused by Attendee, and the request takes a moment. */
const MIN_AHEAD_MS = 30_000

/** The body of `POST /bots`. */
export function creationOf({ joinId, meetingUrl, botName, joinAt, nudgeUrl }: JoinRequest, now: Date) {
  const isAhead = joinAt !== null && joinAt.getTime() - now.getTime() >= MIN_AHEAD_MS
  return {
    meeting_url: meetingUrl,
    bot_name: nameOf(botName),
    deduplication_key: joinId,
    metadata: { [JOIN_ID]: joinId },
    ...(isAhead ? { join_at: joinAt.toISOString() } : {}),
    // Other addresses than https are refused with the whole bot. Polling does without.
    ...(nudgeUrl?.startsWith('https://')
      ? { webhooks: [{ url: nudgeUrl, triggers: ['bot.state_change'] }] }
      : {}),
  }
}

/** Attendee refuses names with characters outside the Basic Multilingual Plane. */
function nameOf(botName: string): string {
  const name = [...botName].filter((character) => character.length === 1 && character.isWellFormed()).join('')
  return name.trim().slice(0, 100) || 'Earshot'
}

/**
 * Why `POST /bots` was refused. Attendee has no codes, so its text decides: `{"error": "…"}`, or `{field: ["…"]}`.
 * `used`: a bot with this deduplication key is at work.
 */
export function refusalOf(status: number, json: unknown): Refusal | 'used' {
  if (status !== 400) return refusalOfStatus(status)
  const body = typeof json === 'object' && json !== null ? json : {}
  if ('meeting_url' in body)
    return { detail: 'does not know this meeting link', kind: 'terminal', code: 'meeting_not_found' }
  const text = 'error' in body && typeof body.error === 'string' ? body.error : ''
  if (/^Deduplication key already in use/i.test(text)) return 'used'
  if (/maximum number of concurrent bots/i.test(text))
    return { detail: 'has no free bot', kind: 'retryable', code: 'recorder_failed' }
  // "Error ID" stands in errors of Attendee itself.
  if (/Error ID:/i.test(text))
    return { detail: 'had an internal error', kind: 'retryable', code: 'recorder_failed' }
  if (/credits/i.test(text) && !/credentials/i.test(text))
    return { detail: 'has run out of credits', kind: 'terminal', code: 'recorder_failed' }
  if (/Zoom App credentials/i.test(text))
    return { detail: 'needs Zoom credentials', kind: 'terminal', code: 'recorder_failed' }
  return refusalOfStatus(status)
}

/** Times are in milliseconds since 1970; without a start of the recording the first utterance begins at 0. */
export function utterancesOf(
  items: Static<typeof AttendeeTranscript>,
  startMs: number | null,
): readonly Utterance[] {
  const spoken = items.toSorted((a, b) => a.timestamp_ms - b.timestamp_ms)
  const zero = startMs ?? spoken[0]?.timestamp_ms ?? 0
  return spoken.flatMap(({ speaker_name, timestamp_ms, duration_ms, transcription }) => {
    const text = textOf(transcription).trim()
    if (text === '') return []
    const startSec = Math.max(0, (timestamp_ms - zero) / 1_000)
    const endSec = startSec + Math.max(0, duration_ms / 1_000)
    return [{ speaker: speaker_name?.trim() || null, startSec, endSec, text }]
  })
}

/** `{"transcript": "…", "words": […]}`, or the text itself in older versions. */
function textOf(transcription: unknown): string {
  if (typeof transcription === 'string') return transcription
  if (typeof transcription !== 'object' || transcription === null || !('transcript' in transcription))
    return ''
  return typeof transcription.transcript === 'string' ? transcription.transcript : ''
}
