/**
 * Attendee as its project defines it: bots/bots_api_views.py, bots_api_utils.py, models.py (states and events), webhook_utils.py and
 * tasks/deliver_webhook_task.py of attendee-labs/attendee at 77e990e.
 */
import { createHmac, randomUUID } from 'node:crypto'
import type { FakeRecorder, Spoken, Stage, WebhookOptions } from './fake.ts'
import { RECORDING } from './fake.ts'
import schema from './schemas/attendee.json' with { type: 'json' }
import { createValidate, json, startFakeServer } from './server.ts'

const validate = createValidate(schema)
const KEY = 'attendee-key-5c1f'
const SECRET = Buffer.from('attendee webhook secret, 32 byte').toString('base64')
const RECORDING_START = 1_790_000_000_000
const TERMINAL = new Set(['ended', 'fatal_error', 'data_deleted'])

interface Event {
  readonly type: string
  readonly sub_type?: string
  readonly created_at: string
}

interface Bot {
  id: string
  name: string
  metadata: unknown
  meeting_url: string
  state: string
  events: Event[]
  transcription_state: string
  recording_state: string
  join_at: string | null
  deduplication_key: string | null
}

export interface FakeAttendee extends FakeRecorder, Disposable {
  /** Refuses the next bot with this text. */
  refuse(error: string): void
  /** Any state, event and sub-type. */
  set(botId: string, state: string, event?: { type: string; sub_type?: string }): void
}

export function startAttendee(): FakeAttendee {
  const bots = new Map<string, Bot>()
  const left = new Set<string>()
  const spoken = new Map<string, readonly Spoken[]>()
  const tokens = new Set<string>()
  let refusal: string | null = null

  const shown = (bot: Bot) => {
    const { name: _, ...rest } = bot
    validate('Bot', rest)
    return rest
  }
  const at = (bot: Bot, state: string, type?: string, subType?: string) => {
    bot.state = state
    const time = new Date(RECORDING_START + bot.events.length * 60_000).toISOString()
    if (type !== undefined)
      bot.events.push({ type, ...(subType === undefined ? {} : { sub_type: subType }), created_at: time })
  }

  const create = (body: unknown) => {
    validate('CreateBotRequest', body)
    const asked = body as Record<string, string> & { metadata: unknown; webhooks?: { url: string }[] }
    if (refusal !== null) {
      const error = refusal
      refusal = null
      return json({ error }, 400)
    }
    if (!/^https:\/\/(?:[\w.]*zoom\.us|meet\.google\.com|teams\.)/.test(asked.meeting_url ?? ''))
      return json({ meeting_url: ['Invalid meeting URL'] }, 400)
    if ([...(asked.bot_name ?? '')].some((character) => character.length > 1))
      return json({ bot_name: ['Bot name cannot contain emojis or rare script characters.'] }, 400)
    if (asked.join_at !== undefined && new Date(asked.join_at) < new Date())
      return json({ join_at: ['join_at cannot be in the past'] }, 400)
    if (asked.webhooks?.some(({ url }) => !url.startsWith('https://')))
      return json({ error: 'Webhook URL must start with https://' }, 400)
    const key = asked.deduplication_key ?? null
    const twin = [...bots.values()].find((bot) => bot.deduplication_key === key && !TERMINAL.has(bot.state))
    if (key !== null && twin !== undefined)
      return json(
        {
          error:
            'Deduplication key already in use. A bot in a non-terminal state with this deduplication key already exists. Please use a different deduplication key or wait for that bot to terminate.',
        },
        400,
      )
    const bot: Bot = {
      id: `bot_${randomUUID().replaceAll('-', '').slice(0, 16)}`,
      name: asked.bot_name ?? '',
      metadata: asked.metadata ?? null,
      meeting_url: asked.meeting_url ?? '',
      state: 'scheduled',
      events: [],
      transcription_state: 'not_started',
      recording_state: 'not_started',
      join_at: asked.join_at ?? null,
      deduplication_key: key,
    }
    bots.set(bot.id, bot)
    if (asked.join_at === undefined) at(bot, 'joining', 'join_requested')
    return json(shown(bot), 201)
  }

  const list = (url: URL) => {
    const key = url.searchParams.get('deduplication_key')
    const results = [...bots.values()].filter((bot) => key === null || bot.deduplication_key === key)
    const answer = { next: null, previous: null, results: results.slice(0, 25).map(shown) }
    validate('PaginatedBotList', answer)
    return json(answer)
  }

  const leave = (bot: Bot) => {
    if (!/^(?:joining|waiting_room|joined_|joining_|leaving_)/.test(bot.state))
      return json({ error: `Event Leave requested not allowed when bot is in state ${bot.state}.` }, 400)
    left.add(bot.id)
    at(bot, 'leaving', 'leave_requested', 'user_requested')
    return json(shown(bot))
  }

  const remove = (bot: Bot) => {
    if (bot.state !== 'scheduled')
      return json(
        { error: `Bot is in state ${bot.state} but can only be deleted when in scheduled state` },
        400,
      )
    left.add(bot.id)
    bots.delete(bot.id)
    return new Response(null, { status: 200 })
  }

  const deleteData = (bot: Bot) => {
    if (bot.state !== 'ended' && bot.state !== 'fatal_error')
      return json({ error: 'Bot is not in a state where the data deleted event can be created' }, 400)
    spoken.delete(bot.id)
    at(bot, 'data_deleted', 'data_deleted')
    return json(shown(bot))
  }

  const recording = (bot: Bot, url: URL) => {
    if (bot.recording_state !== 'complete' || bot.state === 'data_deleted')
      return json({ error: 'No recording file found for bot' }, 404)
    const token = randomUUID()
    tokens.add(token)
    const answer = { url: `${url.origin}/files/${token}`, start_timestamp_ms: RECORDING_START }
    validate('Recording', answer)
    return json(answer)
  }

  const transcript = (bot: Bot) => {
    const items = (spoken.get(bot.id) ?? []).map(({ speaker, start, end, text }) => ({
      speaker_name: speaker ?? '',
      speaker_uuid: randomUUID(),
      speaker_user_uuid: null,
      speaker_is_host: false,
      timestamp_ms: RECORDING_START + start * 1_000,
      duration_ms: (end - start) * 1_000,
      transcription: { transcript: text },
    }))
    for (const item of items) validate('TranscriptUtterance', item)
    return json(items)
  }

  const server = startFakeServer((request, url, body) => {
    const file = /^\/files\/(.+)$/.exec(url.pathname)?.[1]
    if (file !== undefined)
      return tokens.delete(file)
        ? new Response(RECORDING, { headers: { 'content-type': 'audio/wav' } })
        : json({}, 403)
    if (request.headers.get('authorization') !== `Token ${KEY}`)
      return json({ detail: 'Invalid or disabled API key' }, 401)
    const [, id, operation = ''] = /^\/api\/v1\/bots(?:\/([^/]+)(?:\/(\w+))?)?$/.exec(url.pathname) ?? []
    if (!url.pathname.startsWith('/api/v1/bots')) return json({ error: 'Not found' }, 404)
    if (id === undefined) return request.method === 'POST' ? create(body) : list(url)
    const bot = bots.get(id)
    if (bot === undefined) return json({ error: 'Bot not found' }, 404)
    switch (`${request.method} ${operation}`) {
      case 'GET ':
        return json(shown(bot))
      case 'DELETE ':
        return remove(bot)
      case 'POST leave':
        return leave(bot)
      case 'POST delete_data':
        return deleteData(bot)
      case 'GET recording':
        return recording(bot, url)
      case 'GET transcript':
        return transcript(bot)
      default:
        return json({ error: 'Not found' }, 404)
    }
  })

  const known = (botId: string) => bots.get(botId) ?? raise(`no bot ${botId}`)
  const enter = (bot: Bot) => {
    if (!bot.events.some(({ type }) => type === 'joined_meeting'))
      at(bot, 'joined_not_recording', 'joined_meeting')
    bot.recording_state = 'in_progress'
    at(bot, 'joined_recording', 'recording_permission_granted')
  }
  const end = (bot: Bot, recordingState: string) => {
    at(bot, 'post_processing', 'meeting_ended')
    bot.recording_state = recordingState
    at(bot, 'ended', 'post_processing_completed')
  }
  const fail = (bot: Bot, subType: string) => at(bot, 'fatal_error', 'could_not_join_meeting', subType)
  const stages: Readonly<Record<Stage, (bot: Bot) => void>> = {
    waiting_room: (bot) => at(bot, 'waiting_room', 'put_in_waiting_room'),
    recording: enter,
    processing: (bot) => at(bot, 'post_processing', 'meeting_ended'),
    ended: (bot) => {
      enter(bot)
      end(bot, 'complete')
    },
    ended_empty: (bot) => end(bot, 'not_started'),
    join_timeout: (bot) => fail(bot, 'meeting_not_started_waiting_for_host'),
    waiting_room_timeout: (bot) => fail(bot, 'waiting_room_timeout_exceeded'),
    meeting_not_found: (bot) => fail(bot, 'meeting_not_found'),
    recorder_failed: (bot) => at(bot, 'fatal_error', 'fatal_error', 'heartbeat_timeout'),
  }

  return {
    server,
    settings: { url: server.url, apiKey: KEY, webhookSecret: SECRET },
    otherSecret: Buffer.from('another webhook secret, 32 bytes').toString('base64'),
    signsTime: false,
    namesJoin: true,
    hasDrafts: false,
    creation: /^POST \/api\/v1\/bots$/,
    reading: /^GET \/api\/v1\/bots\/[^/]+$/,
    botIds: () => [...new Set([...bots.keys(), ...left])],
    nameOf: (botId) => bots.get(botId)?.name,
    move: (botId, stage) => stages[stage](known(botId)),
    isGone: (botId) => left.has(botId),
    speak: (botId, items) => void spoken.set(botId, items),
    isDeleted: (botId) => bots.get(botId)?.state === 'data_deleted',
    webhook: (botId, options) => webhookOf(known(botId), options),
    refuse: (error) => {
      refusal = error
    },
    set: (botId, state, event) => at(known(botId), state, event?.type, event?.sub_type),
    [Symbol.dispose]: () => server[Symbol.dispose](),
  }
}

/** Signed over the canonical text, and sent as another one: `requests.post(json=…)` keeps the order and escapes what is not ASCII. */
function webhookOf(bot: Bot, { secret = SECRET }: WebhookOptions = {}) {
  const payload = {
    idempotency_key: randomUUID(),
    bot_id: bot.id,
    bot_metadata: bot.metadata,
    trigger: 'bot.state_change',
    data: {
      new_state: bot.state,
      old_state: 'joining',
      created_at: '2026-11-22T10:00:00.123456Z',
      event_type: bot.events.at(-1)?.type,
      event_sub_type: null,
      event_metadata: { room: 'Großer Saal 🎤', empty: {} },
    },
  }
  const signature = createHmac('sha256', Buffer.from(secret, 'base64'))
    .update(sorted(payload))
    .digest('base64')
  const sent = JSON.stringify(payload, null, 1).replaceAll(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  const headers = new Headers({
    'content-type': 'application/json',
    'user-agent': 'Attendee-Webhook/1.0',
    'x-webhook-signature': signature,
  })
  return { headers, body: new TextEncoder().encode(sent) }
}

/** Enough for this payload: its keys are ASCII, and it has no numbers. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_, member) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  )
}

function raise(message: string): never {
  throw new Error(message)
}
