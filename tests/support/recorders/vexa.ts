/**
 * Vexa 0.12 as its project defines it: meeting_api/collector/app.py (plans, lists, deletion), bot_spawn/router.py, lifecycle/stop_router.py,
 * recordings/router.py and webhooks/delivery.py of Vexa-ai/vexa at 4647c96.
 */
import { createHmac } from 'node:crypto'
import type { FakeRecorder, Spoken, Stage, WebhookOptions } from './fake.ts'
import { RECORDING } from './fake.ts'
import schema from './schemas/vexa.json' with { type: 'json' }
import { createValidate, json, startFakeServer } from './server.ts'

const validate = createValidate(schema)
const KEY = 'vxa_bot_key-77d0'
const SECRET = 'vexa webhook secret'
const PLANNED = new Set(['idle', 'scheduled'])
const TERMINAL = new Set(['completed', 'failed'])

interface Meeting {
  id: number
  user_id: number
  platform: string
  native_meeting_id: string
  constructed_meeting_url: string
  status: string
  bot_container_id: string | null
  start_time: string | null
  end_time: string | null
  completion_reason: string | null
  failure_stage: string | null
  data: Record<string, unknown>
  created_at: string
  updated_at: string
}

export interface FakeVexa extends FakeRecorder, Disposable {
  /** No speech recogniser is configured: a bot that shall transcribe is 503. */
  withoutTranscription(): void
  /** A bot or plan that somebody else made. */
  add(url: string, status: string, title: string | null, createdAt?: Date): number
  /** Any status, completion reason and stage. */
  set(botId: string, status: string, reason?: string, stage?: string): void
}

export function startVexa(): FakeVexa {
  const rows = new Map<number, Meeting>()
  const every = new Set<number>()
  const left = new Set<number>()
  const erased = new Set<number>()
  const names = new Map<number, string>()
  const spoken = new Map<number, readonly Spoken[]>()
  let transcribes = true

  const shown = (row: Meeting, isList = false) => {
    const { recordings, ...light } = row.data
    const answer = { ...row, shared: false, data: isList ? light : row.data }
    validate('MeetingResponse', answer)
    return answer
  }
  const newest = () => [...rows.values()].toSorted((a, b) => b.id - a.id)
  const insert = (link: readonly [string, string], url: string, status: string, data: Meeting['data']) => {
    const id = 1_000 + every.size
    const now = new Date().toISOString()
    const row: Meeting = {
      id,
      user_id: 7,
      platform: link[0],
      native_meeting_id: link[1],
      constructed_meeting_url: url,
      status,
      bot_container_id: null,
      start_time: null,
      end_time: null,
      completion_reason: null,
      failure_stage: null,
      data,
      created_at: now,
      updated_at: now,
    }
    rows.set(id, row)
    every.add(id)
    return row
  }
  const at = ([platform, native]: readonly [string, string]) =>
    newest().filter((row) => row.platform === platform && row.native_meeting_id === native)

  const plan = (body: Record<string, string>) => {
    validate('PlannedMeeting', body)
    const link = linkOf(body.meeting_url ?? '')
    if (link === null) return json({ detail: "unrecognized 'meeting_url'" }, 422)
    if (at(link).some(({ status }) => !TERMINAL.has(status)))
      return json({ detail: `A meeting already exists for ${link.join('/')}` }, 409)
    const { meeting_url = '', ...data } = body
    const row = insert(link, meeting_url, body.scheduled_at === undefined ? 'idle' : 'scheduled', data)
    return json(shown(row), 201)
  }

  const send = (body: Record<string, unknown>) => {
    validate('MeetingCreate', body)
    const url = String(body.meeting_url)
    const link = linkOf(url)
    if (link === null)
      return json({ detail: "'native_meeting_id' is required: it could not be derived" }, 422)
    if (!transcribes && body.transcribe_enabled !== false)
      return json({ detail: 'no transcription backend configured — set it in Settings' }, 503)
    const busy = at(link).find(({ status }) => !TERMINAL.has(status) && !PLANNED.has(status))
    if (busy !== undefined)
      return json({ detail: `An active meeting already exists for ${link.join('/')}` }, 409)
    const planned = at(link).find(({ status }) => PLANNED.has(status))
    const row = planned ?? insert(link, url, 'requested', {})
    row.status = 'requested'
    row.bot_container_id = `mtg-${row.id}`
    names.set(row.id, String(body.bot_name))
    return json(shown(row), 201)
  }

  const stop = (link: readonly [string, string]) => {
    const pending = at(link).filter((row) => !TERMINAL.has(row.status) && !row.data.stop_requested)
    if (pending.length === 0) return json({ detail: 'No active meeting for this bot' }, 404)
    for (const row of pending) {
      left.add(row.id)
      row.data.stop_requested = true
      if (row.status === 'active') row.status = 'stopping'
      else Object.assign(row, { status: 'failed', completion_reason: 'stopped' })
    }
    return json({ message: 'Stop requested' })
  }

  const remove = (row: Meeting) => {
    if (PLANNED.has(row.status)) {
      rows.delete(row.id)
      left.add(row.id)
      return new Response(null, { status: 204 })
    }
    if (!TERMINAL.has(row.status))
      return json({ detail: 'Meeting artifacts can only be deleted after the lifecycle is terminal' }, 409)
    erased.add(row.id)
    delete row.data.recordings
    return new Response(null, { status: 204 })
  }

  const transcript = (row: Meeting) => {
    if (erased.has(row.id)) return json({ detail: `Meeting ${row.id} not found` }, 404)
    const segments = (spoken.get(row.id) ?? []).map(({ speaker, start, end, text, isDraft }, index) => ({
      segment_id: `s${index}`,
      start,
      end,
      text,
      language: 'en',
      speaker: speaker ?? '',
      completed: isDraft !== true,
    }))
    const answer = { ...shown(row), segments }
    validate('TranscriptionResponse', answer)
    return json(answer)
  }

  const recordings = (request: Request, url: URL, rest: string) => {
    const owner = newest().find((row) => String(row.id * 10) === rest.split('/')[0])
    if (owner === undefined || erased.has(owner.id)) return json({ detail: 'Recording not found' }, 404)
    if (rest.endsWith('/master')) {
      const type = url.searchParams.get('type') ?? 'audio'
      if (type !== 'audio') return json({ detail: 'No such media file to finalize' }, 404)
      return json({
        id: owner.id * 10,
        type,
        storage_path: 'recordings/master.webm',
        media_file_id: 5,
        raw_url: `/recordings/${owner.id * 10}/media/5/raw?type=${type}`,
        duration_seconds: null,
      })
    }
    const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.get('range') ?? '')
    if (range === null) return new Response(RECORDING, { headers: { 'content-type': 'audio/wav' } })
    return new Response(RECORDING.slice(Number(range[1]), Number(range[2]) + 1), { status: 206 })
  }

  const server = startFakeServer((request, url, body) => {
    if (request.headers.get('x-api-key') !== KEY) return json({ detail: 'Invalid API key' }, 401)
    const [, head = '', rest = ''] = /^\/(\w+)\/?(.*)$/.exec(url.pathname) ?? []
    const row = rows.get(Number(rest.replace('by-id/', '')))
    switch (`${request.method} ${head}${rest === '' ? '' : '/'}`) {
      case 'POST meetings':
        return plan(body as Record<string, string>)
      case 'POST bots':
        return send(body as Record<string, unknown>)
      case 'GET meetings': {
        const { platform, limit = '50', offset = '0' } = Object.fromEntries(url.searchParams)
        const found = newest().filter((one) => platform === undefined || one.platform === platform)
        const page = found.slice(Number(offset), Number(offset) + Number(limit))
        return json({ meetings: page.map((one) => shown(one, true)) })
      }
      case 'DELETE bots/':
        return stop(rest.split('/').map(decodeURIComponent) as [string, string])
      case 'GET recordings/':
        return recordings(request, url, rest)
      case 'GET meetings/':
        return row === undefined ? json({ detail: 'Meeting not found' }, 404) : json(shown(row))
      case 'DELETE meetings/':
        return row === undefined ? json({ detail: 'Meeting not found' }, 404) : remove(row)
      case 'GET transcripts/':
        return row === undefined ? json({ detail: 'Meeting not found' }, 404) : transcript(row)
      default:
        return json({ detail: 'Not Found' }, 404)
    }
  })

  const known = (botId: string) => {
    const row = rows.get(Number(botId))
    if (row === undefined) throw new Error(`no meeting ${botId}`)
    return row
  }
  const enter = (row: Meeting) => {
    row.status = 'active'
    row.start_time ??= '2026-11-22T10:00:00Z'
    row.data.recordings = [
      { id: row.id * 10, meeting_id: row.id, media_files: [{ id: 5, type: 'audio', format: 'wav' }] },
    ]
  }
  const end = (row: Meeting, status: string, reason: string) =>
    Object.assign(row, { status, completion_reason: reason, end_time: '2026-11-22T10:30:00Z' })
  const stages: Readonly<Record<Stage, (row: Meeting) => void>> = {
    waiting_room: (row) => Object.assign(row, { status: 'awaiting_admission' }),
    recording: enter,
    processing: (row) => Object.assign(row, { status: 'stopping' }),
    ended: (row) => {
      enter(row)
      end(row, 'completed', 'left_alone')
    },
    ended_empty: (row) => end(row, 'failed', 'startup_alone'),
    waiting_room_timeout: (row) => end(row, 'failed', 'awaiting_admission_timeout'),
    recorder_failed: (row) => end(row, 'failed', 'join_failure'),
    // Vexa does not tell these two.
    join_timeout: (row) => end(row, 'failed', 'join_failure'),
    meeting_not_found: (row) => end(row, 'failed', 'validation_error'),
  }

  return {
    server,
    settings: { url: server.url, apiKey: KEY, webhookSecret: SECRET },
    otherSecret: 'another webhook secret',
    signsTime: true,
    namesJoin: false,
    hasDrafts: true,
    creation: /^POST \/bots$/,
    reading: /^GET \/meetings\/\d+$/,
    botIds: () => [...every].map(String),
    nameOf: (botId) => names.get(Number(botId)),
    move: (botId, stage) => void stages[stage](known(botId)),
    isGone: (botId) => left.has(Number(botId)),
    speak: (botId, items) => void spoken.set(Number(botId), items),
    isDeleted: (botId) => erased.has(Number(botId)),
    webhook: (botId, options) => webhookOf(known(botId), options),
    withoutTranscription: () => {
      transcribes = false
    },
    add: (url, status, title, createdAt = new Date()) => {
      const link = linkOf(url)
      if (link === null) throw new Error(`no meeting: ${url}`)
      const row = insert(link, url, status, title === null ? {} : { title })
      row.created_at = createdAt.toISOString()
      return row.id
    },
    set: (botId, status, reason, stage) =>
      void Object.assign(known(botId), {
        status,
        completion_reason: reason ?? null,
        failure_stage: stage ?? null,
      }),
    [Symbol.dispose]: () => server[Symbol.dispose](),
  }
}

/** `collector/meeting_link.py`, for the links of the tests. */
function linkOf(text: string): readonly [string, string] | null {
  const url = URL.parse(text)
  if (url?.hostname === 'meet.google.com') return ['google_meet', url.pathname.slice(1)]
  const zoom = url?.hostname.includes('zoom') ? /\d{9,11}/.exec(url.pathname)?.[0] : undefined
  return zoom === undefined ? null : ['zoom', zoom]
}

function webhookOf(row: Meeting, { secret = SECRET, at = new Date() }: WebhookOptions = {}) {
  const body = JSON.stringify({
    event_id: 'evt_0123456789abcdef0123456789abcdef',
    event_type: 'meeting.status_change',
    api_version: '2026-03-01',
    created_at: at.toISOString(),
    data: { meeting: row, status_change: { old_status: 'joining', new_status: row.status } },
  })
  const timestamp = String(Math.floor(at.getTime() / 1_000))
  const signature = createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex')
  const headers = new Headers({
    'content-type': 'application/json',
    authorization: `Bearer ${secret}`,
    'x-webhook-signature': `sha256=${signature}`,
    'x-webhook-timestamp': timestamp,
  })
  return { headers, body: new TextEncoder().encode(body) }
}
