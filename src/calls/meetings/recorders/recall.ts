/**
 * Recall.ai (docs.recall.ai): `https://<region>.recall.ai/api/v1`, with trailing slashes, `Authorization: Token KEY`. Its webhooks are
 * configured for the whole workspace, so the address in a request is not used.
 */
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { LRUCache } from 'lru-cache'
import type { JoinRequest, Recorder } from '../recorder.ts'
import { JOIN_ID } from './attendee.rules.ts'
import {
  type Call,
  createRecorderHttp,
  expectBody,
  failingForGood,
  type RecorderHttp,
  type Reply,
  refused,
  unexpected,
} from './http.ts'
import { recallNudge } from './nudges.ts'
import {
  creationOf,
  mediaOf,
  RecallBot,
  RecallBots,
  RecallCreated,
  RecallTranscript,
  refusalOf,
  reportOf,
  transcriptOf,
  utterancesOf,
} from './recall.rules.ts'
import type { DriverDeps, RecorderSettings } from './settings.ts'

const bot = TypeCompiler.Compile(RecallBot)
const bots = TypeCompiler.Compile(RecallBots)
const created = TypeCompiler.Compile(RecallCreated)
const transcript = TypeCompiler.Compile(RecallTranscript)

/** Times of every word of several hours. */
const MAX_TRANSCRIPT_BYTES = 64 * 1024 * 1024
/** "Retry every 30 seconds" (docs.recall.ai/reference/errors), where 507 comes without `Retry-After`. */
const NO_BOT_SECONDS = 30

export function createRecall({ url, apiKey, webhookSecret }: RecorderSettings, deps: DriverDeps): Recorder {
  const headers = { authorization: `Token ${apiKey}` }
  const http = createRecorderHttp({ url, headers, apiPath: '/api/v1' }, deps)
  const refusals = new LRUCache<string, number>({ max: 1_000 })
  const read = (botId: string, signal: AbortSignal) => readBot(http, botId, signal)
  return {
    name: 'recall',
    platforms: ['zoom', 'google_meet', 'teams', 'webex'],
    join: (request, signal) => failingForGood(join(http, refusals, request, deps.now(), signal)),
    find: (request, signal) => find(http, request, signal),
    async status(botId, signal) {
      const found = await read(botId, signal)
      if (found === null)
        return { state: 'failed', code: 'recorder_failed', detail: 'Recall does not know the bot.' }
      return reportOf(found)
    },
    leave: (botId, signal) => leave(http, botId, signal),
    async media(botId, signal) {
      const found = await read(botId, signal)
      const target = found === null ? null : mediaOf(found)
      return target === null ? null : { url: target }
    },
    async transcript(botId, signal) {
      const found = await read(botId, signal)
      const target = found === null ? null : transcriptOf(found)
      if (target === null) return null
      const json = await http.fetchJson(target, MAX_TRANSCRIPT_BYTES, signal)
      const utterances = utterancesOf(expectBody({ status: 200, json, retryAfterSeconds: null }, transcript))
      return utterances.length === 0 ? null : utterances
    },
    async deleteData(botId, signal) {
      const { status } = await http.call(post(botId, 'delete_media/'), signal)
      if (status === 200 || status === 204 || status === 404) return
      // Refused while the bot works, and possibly where nothing is left.
      const found = await read(botId, signal)
      if (found === null) return
      const report = reportOf(found)
      if (report.state === 'failed' || (report.state === 'ended' && !report.hasMedia)) return
      throw unexpected(status)
    },
    verifyNudge: recallNudge(webhookSecret),
  }
}

const path = (botId: string) => `/bot/${encodeURIComponent(botId)}/`
const post = (botId: string, rest: string): Call => ({
  method: 'POST',
  path: `${path(botId)}${rest}`,
  body: {},
})

/** Null: Recall does not know the bot. A proxy in front of it would answer with something else than JSON. */
async function readBot(http: RecorderHttp, botId: string, signal: AbortSignal) {
  const reply = await http.call({ method: 'GET', path: path(botId) }, signal)
  return isUnknown(reply) ? null : expectBody(reply, bot)
}

function isUnknown({ status, json }: Reply): boolean {
  return status === 404 && typeof json === 'object' && json !== null
}

/**
 * A repeated request with the same idempotency key gets the stored answer of the first for an hour, even 507. So the key changes after
 * an answer that made no bot, and only then: a request that is still on its way keeps its twin away. After a restart the count begins
 * anew, and a stored refusal raises it again.
 */
async function join(
  http: RecorderHttp,
  refusals: LRUCache<string, number>,
  request: JoinRequest,
  now: Date,
  signal: AbortSignal,
) {
  const found = await find(http, request, signal)
  if (found !== null) return found
  const count = refusals.get(request.joinId) ?? 0
  const reply = await http.call(
    {
      method: 'POST',
      path: '/bot/',
      body: creationOf(request, now),
      headers: { 'idempotency-key': `${request.joinId}-${count}` },
      judged: [429, 500, 503, 507],
    },
    signal,
  )
  if (reply.status === 201) return { botId: expectBody(reply, created).id }
  if (reply.status !== 409) refusals.set(request.joinId, count + 1)
  const retryAfterSeconds = reply.retryAfterSeconds ?? (reply.status === 507 ? NO_BOT_SECONDS : null)
  throw refused(refusalOf(reply.status, reply.json), { ...reply, retryAfterSeconds })
}

async function find(http: RecorderHttp, { joinId }: JoinRequest, signal: AbortSignal) {
  const query = { [`metadata__${JOIN_ID}`]: joinId }
  const { results } = expectBody(await http.call({ method: 'GET', path: '/bot/', query }, signal), bots)
  const own = results.find(({ metadata }) => {
    return typeof metadata === 'object' && metadata !== null && Reflect.get(metadata, JOIN_ID) === joinId
  })
  return own === undefined ? null : { botId: own.id }
}

/** Only a bot that was not dispatched can be deleted (405 afterwards), and only a dispatched one can leave. */
async function leave(http: RecorderHttp, botId: string, signal: AbortSignal): Promise<void> {
  const found = await readBot(http, botId, signal)
  if (found === null) return
  const { state } = reportOf(found)
  if (state === 'ended' || state === 'failed' || state === 'processing') return
  if (found.status_changes.length === 0) {
    const { status } = await http.call({ method: 'DELETE', path: path(botId) }, signal)
    if (status === 204 || status === 200 || status === 404) return
  }
  const { status } = await http.call(post(botId, 'leave_call/'), signal)
  // 400: the state has changed since, so the next attempt sees it.
  if (status !== 200 && status !== 204 && status !== 404) throw unexpected(status)
}
