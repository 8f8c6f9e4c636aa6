/** Recall.ai as docs.recall.ai describes it: bots, idempotency, files and webhooks, which the package of Svix signs. */
import { randomUUID } from 'node:crypto'
import { Webhook } from 'svix'
import type { FakeRecorder, Spoken, Stage, WebhookOptions } from './fake.ts'
import { RECORDING } from './fake.ts'
import schema from './schemas/recall.json' with { type: 'json' }
import { createValidate, json, startFakeServer } from './server.ts'

const validate = createValidate(schema)
const KEY = 'recall-key-19aa'
const SECRET = `whsec_${Buffer.from('recall webhook secret, 24+ b').toString('base64')}`

interface Change {
  readonly code: string
  readonly message: string | null
  readonly created_at: string
  readonly sub_code: string | null
}

interface Bot {
  id: string
  meeting_url: object | null
  bot_name: string
  join_at: string | null
  metadata: Record<string, string>
  status_changes: Change[]
  recordings: object[]
}

export interface FakeRecall extends FakeRecorder, Disposable {
  /** Bots that wait to be sent at once. */
  pool: number
  /** Any code and sub-code. */
  set(botId: string, code: string, subCode?: string): void
  /** With the headers of older workspaces. */
  svixWebhook(botId: string): { headers: Headers; body: Uint8Array }
  /** Where downloads of transcripts lead. */
  redirectTranscripts(to: string): void
}

export function startRecall(): FakeRecall {
  const bots = new Map<string, Bot>()
  const every = new Set<string>()
  const left = new Set<string>()
  const erased = new Set<string>()
  const spoken = new Map<string, readonly Spoken[]>()
  const tokens = new Map<string, string>()
  const stored = new Map<string, { status: number; body: unknown } | 'working'>()
  let redirect: string | null = null
  const fake = { pool: 100 }

  const shown = (bot: Bot) => {
    const answer = { ...bot, recordings: bot.recordings.length === 0 ? [] : [recordingOf(bot)] }
    validate('Bot', answer)
    return answer
  }
  /** Links are signed anew for each answer, and expire. */
  const fileOf = (bot: Bot, kind: string) => {
    const token = randomUUID()
    tokens.set(token, `${kind} ${bot.id}`)
    const url = `${server.url}/files/${token}`
    const status = { code: 'done', sub_code: null, updated_at: '2026-11-22T10:40:00Z' }
    return { id: randomUUID(), status, data: { download_url: url }, format: kind === 'video' ? 'mp4' : null }
  }
  const recordingOf = (bot: Bot) => ({
    id: randomUUID(),
    started_at: '2026-11-22T10:00:00Z',
    media_shortcuts: {
      video_mixed: fileOf(bot, 'video'),
      transcript: spoken.has(bot.id) ? fileOf(bot, 'transcript') : null,
    },
  })

  const create = async (request: Request, body: Record<string, unknown>) => {
    validate('CreateBot', body)
    const key = request.headers.get('idempotency-key')
    const before = key === null ? undefined : stored.get(key)
    if (before === 'working') return json({ code: 'conflict', detail: 'in progress' }, 409)
    if (before !== undefined) return json(before.body, before.status)
    if (key !== null) stored.set(key, 'working')
    const { status, body: answer } = made(body)
    if (key !== null) stored.set(key, { status, body: answer })
    return json(answer, status)
  }
  const made = (body: Record<string, unknown>) => {
    if (!/^https:\/\/(?:[\w.]*zoom\.us|meet\.google\.com)\//.test(String(body.meeting_url)))
      return { status: 400, body: { meeting_url: ['Enter a valid meeting URL.'] } }
    if (body.join_at === undefined && fake.pool-- <= 0)
      return { status: 507, body: { code: 'no_adhoc_bots', detail: 'Out of adhoc bots' } }
    const bot: Bot = {
      id: randomUUID(),
      meeting_url: { platform: 'zoom' },
      bot_name: String(body.bot_name ?? 'Meeting Notetaker'),
      join_at: (body.join_at as string | undefined) ?? null,
      metadata: body.metadata as Bot['metadata'],
      status_changes: [],
      recordings: [],
    }
    bots.set(bot.id, bot)
    every.add(bot.id)
    if (bot.join_at === null) change(bot, 'joining_call')
    return { status: 201, body: shown(bot) }
  }
  const list = (url: URL) => {
    const filters = [...url.searchParams].filter(([name]) => name.startsWith('metadata__'))
    const results = [...bots.values()].filter((bot) =>
      filters.every(([name, value]) => bot.metadata[name.slice('metadata__'.length)] === value),
    )
    const answer = { count: results.length, next: null, previous: null, results: results.map(shown) }
    validate('BotList', answer)
    return json(answer)
  }
  const change = (bot: Bot, code: string, subCode: string | null = null) => {
    const time = new Date(Date.parse('2026-11-22T10:00:00Z') + bot.status_changes.length * 60_000)
    bot.status_changes.push({ code, message: null, created_at: time.toISOString(), sub_code: subCode })
  }
  const isOver = (bot: Bot) => bot.status_changes.some(({ code }) => code === 'done' || code === 'fatal')
  const leave = (bot: Bot) => {
    if (bot.status_changes.length === 0)
      return json({ code: 'cannot_command_unstarted_bot', detail: 'not started' }, 400)
    if (isOver(bot)) return json({ code: 'cannot_command_completed_bot', detail: 'completed' }, 400)
    left.add(bot.id)
    change(bot, 'call_ended', 'bot_received_leave_call')
    return json(shown(bot))
  }
  const remove = (bot: Bot) => {
    if (bot.status_changes.length > 0) return json({ detail: 'Method "DELETE" not allowed.' }, 405)
    bots.delete(bot.id)
    left.add(bot.id)
    return new Response(null, { status: 204 })
  }
  const deleteMedia = (bot: Bot) => {
    if (!isOver(bot))
      return json({ code: 'cannot_delete_media', detail: 'the bot is still in the call' }, 400)
    erased.add(bot.id)
    bot.recordings = []
    change(bot, 'media_expired')
    return json(shown(bot))
  }
  const file = (token: string) => {
    const [kind, id = ''] = tokens.get(token)?.split(' ') ?? []
    if (!tokens.delete(token)) return new Response('<Error>expired</Error>', { status: 403 })
    if (kind === 'video') return new Response(RECORDING, { headers: { 'content-type': 'audio/wav' } })
    if (redirect !== null) return Response.redirect(redirect, 302)
    return json(transcriptOf(spoken.get(id) ?? []))
  }
  const transcriptOf = (items: readonly Spoken[]) => {
    const moment = (relative: number) => ({ relative, absolute: '2026-11-22T10:00:00Z' })
    const answer = items.map(({ speaker, start, end, text }, index) => ({
      participant: { id: index, name: speaker, is_host: null, platform: 'unknown', extra_data: null },
      language_code: 'en',
      words: text.split(' ').map((word, at, words) => ({
        text: word,
        start_timestamp: moment(start + ((end - start) * at) / words.length),
        end_timestamp: moment(start + ((end - start) * (at + 1)) / words.length),
      })),
    }))
    validate('Transcript', answer)
    return answer
  }

  const server = startFakeServer((request, url, body) => {
    const token = /^\/files\/(.+)$/.exec(url.pathname)?.[1]
    // The storage refuses a request with two kinds of authentication, as S3 does.
    if (token !== undefined)
      return request.headers.has('authorization') ? new Response(null, { status: 400 }) : file(token)
    if (request.headers.get('authorization') !== `Token ${KEY}`)
      return json({ code: 'authentication_failed', detail: 'Invalid API token' }, 401)
    const [, id, operation = ''] = /^\/api\/v1\/bot\/(?:([^/]+)\/(?:(\w+)\/)?)?$/.exec(url.pathname) ?? []
    if (!/^\/api\/v1\/bot\/.*(?<=\/)$/.test(url.pathname)) return json({ detail: 'Not found.' }, 404)
    if (id === undefined)
      return request.method === 'POST' ? create(request, body as Record<string, unknown>) : list(url)
    const bot = bots.get(id)
    if (bot === undefined) return json({ code: 'not_found', detail: 'Not found.' }, 404)
    switch (`${request.method} ${operation}`) {
      case 'GET ':
        return json(shown(bot))
      case 'DELETE ':
        return remove(bot)
      case 'POST leave_call':
        return leave(bot)
      case 'POST delete_media':
        return deleteMedia(bot)
      default:
        return json({ detail: 'Not found.' }, 404)
    }
  })

  const known = (botId: string) => {
    const bot = bots.get(botId)
    if (bot === undefined) throw new Error(`no bot ${botId}`)
    return bot
  }
  const enter = (bot: Bot) => {
    change(bot, 'in_call_not_recording')
    change(bot, 'in_call_recording')
  }
  const over = (bot: Bot, subCode: string) => {
    change(bot, 'call_ended', subCode)
    change(bot, 'done')
  }
  const stages: Readonly<Record<Stage, (bot: Bot) => void>> = {
    waiting_room: (bot) => change(bot, 'in_waiting_room'),
    recording: enter,
    processing: (bot) => change(bot, 'call_ended', 'call_ended_by_host'),
    ended: (bot) => {
      enter(bot)
      bot.recordings = [{}]
      over(bot, 'call_ended_by_host')
    },
    ended_empty: (bot) => over(bot, 'timeout_exceeded_noone_joined'),
    join_timeout: (bot) => change(bot, 'fatal', 'meeting_not_started'),
    waiting_room_timeout: (bot) => over(bot, 'timeout_exceeded_waiting_room'),
    meeting_not_found: (bot) => change(bot, 'fatal', 'meeting_not_found'),
    recorder_failed: (bot) => change(bot, 'fatal', 'bot_errored'),
  }

  return Object.assign(fake, {
    server,
    settings: { url: server.url, apiKey: KEY, webhookSecret: SECRET },
    otherSecret: `whsec_${Buffer.from('another webhook secret, 24+').toString('base64')}`,
    signsTime: true,
    namesJoin: true,
    hasDrafts: false,
    creation: /^POST \/api\/v1\/bot\/$/,
    reading: /^GET \/api\/v1\/bot\/[^/]+\/$/,
    botIds: () => [...every],
    nameOf: (botId: string) => bots.get(botId)?.bot_name,
    move: (botId: string, stage: Stage) => stages[stage](known(botId)),
    isGone: (botId: string) => left.has(botId),
    speak: (botId: string, items: readonly Spoken[]) => void spoken.set(botId, items),
    isDeleted: (botId: string) => erased.has(botId),
    webhook: (botId: string, options?: WebhookOptions) => webhookOf(known(botId), 'webhook', options),
    svixWebhook: (botId: string) => webhookOf(known(botId), 'svix'),
    set: (botId: string, code: string, subCode?: string) => change(known(botId), code, subCode),
    redirectTranscripts: (to: string) => {
      redirect = to
    },
    [Symbol.dispose]: () => server[Symbol.dispose](),
  })
}

function webhookOf(
  { id, metadata, status_changes }: Bot,
  prefix: 'svix' | 'webhook',
  { secret = SECRET, at = new Date() }: WebhookOptions = {},
) {
  const last = status_changes.at(-1)
  const body = JSON.stringify({
    event: `bot.${last?.code}`,
    data: {
      data: { code: last?.code, sub_code: last?.sub_code, updated_at: last?.created_at },
      bot: { id, metadata },
    },
  })
  const headers = new Headers({
    'content-type': 'application/json',
    [`${prefix}-id`]: 'msg_2Lh9KRb0pzN4LePd3XiA4v12Axj',
    [`${prefix}-timestamp`]: String(Math.floor(at.getTime() / 1_000)),
    [`${prefix}-signature`]: new Webhook(secret).sign('msg_2Lh9KRb0pzN4LePd3XiA4v12Axj', at, body),
  })
  return { headers, body: new TextEncoder().encode(body) }
}
