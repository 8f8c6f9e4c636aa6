/**
 * What Recall.ai's answers mean. Pure.
 *
 * Source: docs.recall.ai: reference/bot_create, bot_retrieve, bot_list, docs/sub-codes, docs/receive-a-recording, docs/download-urls.
 * Recall adds codes at any time, so unknown ones are tolerated.
 */
import { type Static, Type } from '@sinclair/typebox'
import type { BotReport, JoinRequest, RecorderFailure, Utterance } from '../recorder.ts'
import { JOIN_ID } from './attendee.rules.ts'
import { momentOf, type Refusal, refusalOfStatus, shownCode } from './http.rules.ts'

const Text = Type.String()
const maybe = <T extends Parameters<typeof Type.Array>[0]>(type: T) =>
  Type.Optional(Type.Union([type, Type.Null()]))

const File = Type.Object({
  status: maybe(Type.Object({ code: maybe(Text) })),
  data: maybe(Type.Object({ download_url: maybe(Text) })),
})

const Recording = Type.Object({
  media_shortcuts: maybe(
    Type.Object({ video_mixed: maybe(File), audio_mixed: maybe(File), transcript: maybe(File) }),
  ),
})

export const RecallBot = Type.Object({
  id: Type.String({ pattern: '^[A-Za-z0-9-]{1,100}$' }),
  join_at: maybe(Text),
  metadata: Type.Optional(Type.Unknown()),
  status_changes: Type.Array(Type.Object({ code: Text, sub_code: maybe(Text), created_at: maybe(Text) })),
  recordings: maybe(Type.Array(Recording)),
})
type Bot = Static<typeof RecallBot>

/** Answers to `POST /bot/` need no more. */
export const RecallCreated = Type.Object({ id: RecallBot.properties.id })

export const RecallBots = Type.Object({ results: Type.Array(RecallBot) })

export const RecallTranscript = Type.Array(
  Type.Object({
    participant: maybe(Type.Object({ name: maybe(Text) })),
    words: Type.Array(
      Type.Object({
        text: Text,
        start_timestamp: maybe(Type.Object({ relative: maybe(Type.Number()) })),
        end_timestamp: maybe(Type.Object({ relative: maybe(Type.Number()) })),
      }),
    ),
  }),
)

type Running = Exclude<BotReport['state'], 'ended' | 'failed'>

/** `done` and `fatal` are final. */
const CODES: Readonly<Record<string, Running>> = {
  joining_call: 'joining',
  in_waiting_room: 'waiting_room',
  in_call_not_recording: 'recording',
  recording_permission_allowed: 'recording',
  recording_permission_denied: 'recording',
  in_call_recording: 'recording',
  breakout_room_entered: 'recording',
  breakout_room_left: 'recording',
  breakout_room_opened: 'recording',
  breakout_room_closed: 'recording',
  call_ended: 'processing',
  recording_done: 'processing',
}

/** Sub-codes of `fatal`, and of `call_ended` before anything was recorded; all others of `fatal` are `recorder_failed`. */
const FAILURES: Readonly<Record<string, RecorderFailure>> = {
  meeting_not_found: 'meeting_not_found',
  meeting_link_expired: 'meeting_not_found',
  meeting_link_invalid: 'meeting_not_found',
  meeting_ended: 'meeting_not_found',
  meeting_not_started: 'join_timeout',
  failed_to_launch_in_time: 'join_timeout',
  zoom_join_timeout: 'join_timeout',
  google_meet_meeting_room_not_ready: 'join_timeout',
  microsoft_teams_event_not_started_for_external: 'join_timeout',
  timeout_exceeded_waiting_room: 'waiting_room_timeout',
  call_ended_by_platform_waiting_room_timeout: 'waiting_room_timeout',
}

/** Sub-codes of `call_ended` with which the bot was never in the meeting. */
const NEVER_IN = new Set([
  'timeout_exceeded_waiting_room',
  'call_ended_by_platform_waiting_room_timeout',
  'bot_kicked_from_waiting_room',
])

const IN_CALL = /^in_call_/

export function reportOf(bot: Bot): BotReport {
  const changes = bot.status_changes
  const joinedAt = momentOf(changes.find(({ code }) => IN_CALL.test(code))?.created_at)
  const ending = changes.findLast(({ code }) => code === 'call_ended')
  const endedAt = momentOf(ending?.created_at)
  const times = { ...(joinedAt && { joinedAt }), ...(endedAt && { endedAt }) }
  const hasMedia = mediaOf(bot) !== null
  const fatal = changes.findLast(({ code }) => code === 'fatal')
  // What was recorded before a fatal error is kept.
  if (fatal !== undefined && !hasMedia) return { ...failureOf(fatal.sub_code), ...times }
  if (fatal !== undefined || changes.some(({ code }) => code === 'done')) {
    const isNeverIn = NEVER_IN.has(ending?.sub_code ?? '') && joinedAt === undefined
    return isNeverIn ? { ...failureOf(ending?.sub_code), ...times } : { state: 'ended', hasMedia, ...times }
  }
  return { state: runningOf(bot, joinedAt !== undefined), ...times }
}

/** The last code that is known decides. Without any, the bot waits for its time, or sets out. */
function runningOf({ status_changes, join_at }: Bot, hasJoined: boolean): Running {
  const last = status_changes.findLast(({ code }) => Object.hasOwn(CODES, code))
  if (last !== undefined) return CODES[last.code] ?? 'joining'
  if (hasJoined) return 'recording'
  return typeof join_at === 'string' ? 'scheduled' : 'joining'
}

function failureOf(subCode: string | null | undefined) {
  const reason = subCode ?? 'unknown'
  const code = (Object.hasOwn(FAILURES, reason) ? FAILURES[reason] : undefined) ?? 'recorder_failed'
  return { state: 'failed', code, detail: `Recall reports ${shownCode(reason)}.` } as const
}

type Shortcut = 'video_mixed' | 'audio_mixed' | 'transcript'

/** The download URL of the first recording that has this file ready. */
function downloadOf({ recordings }: Bot, shortcut: Shortcut): string | null {
  for (const { media_shortcuts } of recordings ?? []) {
    const file = media_shortcuts?.[shortcut]
    const url = file?.data?.download_url
    if (file?.status?.code === 'done' && typeof url === 'string') return url
  }
  return null
}

/** Video comes before sound. */
export function mediaOf(bot: Bot): string | null {
  return downloadOf(bot, 'video_mixed') ?? downloadOf(bot, 'audio_mixed')
}

export const transcriptOf = (bot: Bot) => downloadOf(bot, 'transcript')

/** The body of `POST /bot/`. Captions of the platform bring the names of speakers and cost nothing; Earshot transcribes better itself. */
export function creationOf({ joinId, meetingUrl, botName, joinAt }: JoinRequest, now: Date) {
  return {
    meeting_url: meetingUrl,
    bot_name: botName.trim().slice(0, 100) || 'Earshot',
    metadata: { [JOIN_ID]: joinId },
    recording_config: { video_mixed_mp4: {}, transcript: { provider: { meeting_captions: {} } } },
    ...(joinAt !== null && joinAt > now ? { join_at: joinAt.toISOString() } : {}),
  }
}

/** Why `POST /bot/` was refused. 409: a twin of the request is at work. */
export function refusalOf(status: number, json: unknown): Refusal {
  if (status === 409)
    return { detail: 'is still at work on this join', kind: 'retryable', code: 'recorder_failed' }
  if (status === 400 && typeof json === 'object' && json !== null && 'meeting_url' in json)
    return { detail: 'does not know this meeting link', kind: 'terminal', code: 'meeting_not_found' }
  return refusalOfStatus(status)
}

/** Consecutive words of one participant are an utterance. Times are seconds since the recording began. */
export function utterancesOf(items: Static<typeof RecallTranscript>): readonly Utterance[] {
  return items
    .flatMap(({ participant, words }) => {
      const spoken = words.filter(({ text }) => text.trim() !== '')
      const startSec = Math.max(0, spoken[0]?.start_timestamp?.relative ?? 0)
      const endSec = Math.max(startSec, spoken.at(-1)?.end_timestamp?.relative ?? startSec)
      const text = spoken.map((word) => word.text.trim()).join(' ')
      return text === '' ? [] : [{ speaker: participant?.name?.trim() || null, startSec, endSec, text }]
    })
    .toSorted((a, b) => a.startSec - b.startSec)
}
