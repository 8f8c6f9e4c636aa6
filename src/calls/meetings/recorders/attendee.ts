/** Attendee (attendee-labs/attendee, docs/openapi.yml): `{host}/api/v1`, no trailing slashes, `Authorization: Token KEY`. */
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { type JoinRequest, type Recorder, RecorderError } from '../recorder.ts'
import {
  AttendeeBot,
  AttendeeBots,
  AttendeeRecording,
  AttendeeTranscript,
  creationOf,
  JOIN_ID,
  refusalOf,
  reportOf,
  utterancesOf,
} from './attendee.rules.ts'
import {
  type Call,
  createRecorderHttp,
  expectBody,
  failingForGood,
  type RecorderHttp,
  refused,
  unexpected,
} from './http.ts'
import { attendeeNudge } from './nudges.ts'
import type { DriverDeps, RecorderSettings } from './settings.ts'

const bot = TypeCompiler.Compile(AttendeeBot)
const bots = TypeCompiler.Compile(AttendeeBots)
const recording = TypeCompiler.Compile(AttendeeRecording)
const transcript = TypeCompiler.Compile(AttendeeTranscript)

/** Word times of several hours. */
const MAX_TRANSCRIPT_BYTES = 64 * 1024 * 1024

export function createAttendee({ url, apiKey, webhookSecret }: RecorderSettings, deps: DriverDeps): Recorder {
  const headers = { authorization: `Token ${apiKey}` }
  const http = createRecorderHttp({ url, headers, apiPath: '/api/v1' }, deps)
  return {
    name: 'attendee',
    platforms: ['zoom', 'google_meet', 'teams'],
    join: (request, signal) => failingForGood(join(http, request, deps.now(), signal)),
    find: (request, signal) => find(http, request, signal),
    async status(botId, signal) {
      const reply = await http.call(get(botId), signal)
      if (isUnknown(reply))
        return { state: 'failed', code: 'recorder_failed', detail: 'Attendee does not know the bot.' }
      return reportOf(expectBody(reply, bot))
    },
    leave: (botId, signal) => leave(http, botId, signal),
    async media(botId, signal) {
      const found = await recordingOf(http, botId, signal)
      return found === null ? null : { url: found.url }
    },
    async transcript(botId, signal) {
      const reply = await http.call({ ...get(botId, '/transcript'), maxBytes: MAX_TRANSCRIPT_BYTES }, signal)
      if (reply.status === 404) return null
      const items = expectBody(reply, transcript)
      if (items.length === 0) return null
      const start = (await recordingOf(http, botId, signal))?.start_timestamp_ms ?? null
      return utterancesOf(items, start)
    },
    async deleteData(botId, signal) {
      const { status } = await http.call(post(botId, '/delete_data'), signal)
      if (status === 200 || status === 404) return
      // 400 in a wrong state: still at work, or deleted already.
      const reply = await http.call(get(botId), signal)
      if (isUnknown(reply) || expectBody(reply, bot).state === 'data_deleted') return
      throw unexpected(status)
    },
    verifyNudge: attendeeNudge(webhookSecret),
  }
}

const path = (botId: string, rest: string) => `/bots/${encodeURIComponent(botId)}${rest}`
const get = (botId: string, rest = ''): Call => ({ method: 'GET', path: path(botId, rest) })
const post = (botId: string, rest: string): Call => ({ method: 'POST', path: path(botId, rest), body: {} })

/** 404 with Attendee's own body; a proxy in front of it would answer with something else. */
function isUnknown({ status, json }: { readonly status: number; readonly json: unknown }): boolean {
  return status === 404 && typeof json === 'object' && json !== null && 'error' in json
}

async function join(http: RecorderHttp, request: JoinRequest, now: Date, signal: AbortSignal) {
  // A key is free again when its bot is terminal, so the key alone does not keep a repeated join from a second bot.
  const found = await find(http, request, signal)
  if (found !== null) return found
  const reply = await http.call({ method: 'POST', path: '/bots', body: creationOf(request, now) }, signal)
  if (reply.status === 201) return { botId: expectBody(reply, bot).id }
  const refusal = refusalOf(reply.status, reply.json)
  if (refusal !== 'used') throw refused(refusal, reply)
  // An earlier request was still on its way.
  const late = await find(http, request, signal)
  if (late !== null) return late
  throw new RecorderError('the bot of the join is not listed yet', 'retryable')
}

async function find(http: RecorderHttp, { joinId }: JoinRequest, signal: AbortSignal) {
  const query = { deduplication_key: joinId }
  const { results } = expectBody(await http.call({ method: 'GET', path: '/bots', query }, signal), bots)
  // Older versions ignore a parameter that they do not know, so the answer is checked.
  const own = results.filter(({ metadata }) => joinIdOf(metadata) === joinId)
  const last = own.at(-1)
  return last === undefined ? null : { botId: last.id }
}

function joinIdOf(metadata: unknown): unknown {
  return typeof metadata === 'object' && metadata !== null ? Reflect.get(metadata, JOIN_ID) : undefined
}

/** Only a scheduled bot can be deleted, and only one that has started can leave. */
async function leave(http: RecorderHttp, botId: string, signal: AbortSignal): Promise<void> {
  const reply = await http.call(get(botId), signal)
  if (isUnknown(reply)) return
  const { state } = reportOf(expectBody(reply, bot))
  if (state === 'ended' || state === 'failed' || state === 'processing') return
  const call: Call =
    state === 'scheduled' ? { method: 'DELETE', path: path(botId, '') } : post(botId, '/leave')
  const { status } = await http.call(call, signal)
  // 400: the state has changed since, so the next attempt sees it.
  if (status !== 200 && status !== 404) throw unexpected(status)
}

async function recordingOf(http: RecorderHttp, botId: string, signal: AbortSignal) {
  const reply = await http.call(get(botId, '/recording'), signal)
  return reply.status === 404 ? null : expectBody(reply, recording)
}
