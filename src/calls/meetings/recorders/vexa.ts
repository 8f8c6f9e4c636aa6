/**
 * Vexa 0.12 (Vexa-ai/vexa, docs/docs/api/meetings.mdx): `X-API-Key` with the scopes `bot` and `tx`. The id of a bot is that of its meeting.
 *
 * The body that sends a bot has no member for a reference of the caller. A plan has a title, and the bot that is sent to a planned meeting
 * takes the plan over with its id and title. So a join is a plan first, which carries the join, and then its bot.
 */
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { type JoinRequest, type Recorder, RecorderError } from '../recorder.ts'
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
import { vexaNudge } from './nudges.ts'
import type { DriverDeps, RecorderSettings } from './settings.ts'
import {
  creationOf,
  isStalePlan,
  lacksTranscription,
  mediaOf,
  planOf,
  refusalOf,
  reportOf,
  titleOf,
  utterancesOf,
  VexaMaster,
  VexaMeeting,
  VexaMeetings,
  VexaTranscript,
} from './vexa.rules.ts'

const meeting = TypeCompiler.Compile(VexaMeeting)
const meetings = TypeCompiler.Compile(VexaMeetings)
const master = TypeCompiler.Compile(VexaMaster)
const transcript = TypeCompiler.Compile(VexaTranscript)

/** Word times of several hours. */
const MAX_TRANSCRIPT_BYTES = 64 * 1024 * 1024
const PAGE = 100
/** A join whose answer was lost is among the newest meetings. */
const MAX_PAGES = 3

export function createVexa({ url, apiKey, webhookSecret }: RecorderSettings, deps: DriverDeps): Recorder {
  const headers = { 'x-api-key': apiKey }
  const http = createRecorderHttp({ url, headers, apiPath: '' }, deps)
  return {
    name: 'vexa',
    platforms: ['zoom', 'google_meet', 'teams'],
    join: (request, signal) => failingForGood(join(http, request, deps.now(), signal)),
    async find(request, signal) {
      const found = await findRow(http, request, signal)
      return found === null ? null : { botId: String(found.id) }
    },
    async status(botId, signal) {
      const found = await read(http, botId, signal)
      if (found === null)
        return { state: 'failed', code: 'recorder_failed', detail: 'Vexa does not know the bot.' }
      return reportOf(found)
    },
    leave: (botId, signal) => leave(http, botId, signal),
    async media(botId, signal) {
      const found = await read(http, botId, signal)
      const media = found === null ? null : mediaOf(found)
      if (media === null) return null
      const reply = await http.call(
        {
          method: 'GET',
          path: `/recordings/${media.recordingId}/master`,
          query: { type: media.type },
          // It joins the pieces of the recording first.
          isSlow: true,
        },
        signal,
      )
      if (reply.status === 404) return null
      const path = expectBody(reply, master).raw_url ?? ''
      // The key goes along, so the address must be that of the recorder.
      if (!/^\/recordings\/[\w/?=&-]+$/.test(path)) return null
      const { contentType } = media
      return { url: `${http.base}${path}`, headers, ...(contentType === undefined ? {} : { contentType }) }
    },
    async transcript(botId, signal) {
      // By its id: the path with the native id leads to the newest meeting at the same link.
      const path = `/transcripts/by-id/${encodeURIComponent(botId)}`
      const reply = await http.call({ method: 'GET', path, maxBytes: MAX_TRANSCRIPT_BYTES }, signal)
      if (reply.status === 404) return null
      const utterances = utterancesOf(expectBody(reply, transcript))
      return utterances.length === 0 ? null : utterances
    },
    async deleteData(botId, signal) {
      const { status } = await http.call({ method: 'DELETE', path: pathOf(botId) }, signal)
      // 409: the bot is still at work.
      if (status !== 200 && status !== 204 && status !== 404) throw unexpected(status)
    },
    verifyNudge: vexaNudge(webhookSecret, deps.now),
  }
}

const pathOf = (botId: string) => `/meetings/${encodeURIComponent(botId)}`

/** Null: Vexa does not know the meeting. */
async function read(http: RecorderHttp, botId: string, signal: AbortSignal) {
  const reply = await http.call({ method: 'GET', path: pathOf(botId) }, signal)
  return isUnknown(reply) ? null : expectBody(reply, meeting)
}

/** 404 with Vexa's own body; a proxy in front of it would answer with something else. */
function isUnknown({ status, json }: Reply): boolean {
  return status === 404 && typeof json === 'object' && json !== null && 'detail' in json
}

async function join(http: RecorderHttp, request: JoinRequest, now: Date, signal: AbortSignal) {
  const found = (await findRow(http, request, signal)) ?? (await plan(http, request, now, signal))
  // Another status: the bot is sent already, or Vexa will send it.
  if (found.status !== 'idle') return { botId: String(found.id) }
  return sendBot(http, request, found.id, signal)
}

async function plan(http: RecorderHttp, request: JoinRequest, now: Date, signal: AbortSignal) {
  const call: Call = { method: 'POST', path: '/meetings', body: planOf(request, now) }
  let reply = await http.call(call, signal)
  if (reply.status === 409 && (await removeStalePlans(http, request, now, signal)))
    reply = await http.call(call, signal)
  if (reply.status === 201) return expectBody(reply, meeting)
  if (reply.status === 409) {
    // An earlier request was still on its way.
    const late = await findRow(http, request, signal)
    if (late !== null) return late
  }
  throw refused(refusalOf(reply.status), reply)
}

async function sendBot(http: RecorderHttp, request: JoinRequest, planId: number, signal: AbortSignal) {
  const call = (transcribe: boolean): Call => {
    return { method: 'POST', path: '/bots', body: creationOf(request, transcribe), judged: [503] }
  }
  let reply = await http.call(call(true), signal)
  if (lacksTranscription(reply.status, reply.json)) reply = await http.call(call(false), signal)
  if (reply.status === 201) {
    const sent = expectBody(reply, meeting)
    if (sent.data?.title === titleOf(request.joinId)) return { botId: String(sent.id) }
    throw new RecorderError('the recorder sent the bot of another plan', 'terminal')
  }
  const late = reply.status === 409 ? await findRow(http, request, signal) : null
  if (late !== null && late.status !== 'idle') return { botId: String(late.id) }
  const error = refused(refusalOf(reply.status), reply)
  // A plan without a bot would keep all later bots from the meeting.
  if (error.kind === 'terminal') await http.call({ method: 'DELETE', path: pathOf(String(planId)) }, signal)
  throw error
}

async function removeStalePlans(http: RecorderHttp, request: JoinRequest, now: Date, signal: AbortSignal) {
  const stale = (await listPage(http, request, 0, signal)).filter((row) => isStalePlan(row, now))
  for (const { id } of stale) await http.call({ method: 'DELETE', path: pathOf(String(id)) }, signal)
  return stale.length > 0
}

async function findRow(http: RecorderHttp, request: JoinRequest, signal: AbortSignal) {
  const title = titleOf(request.joinId)
  for (let page = 0; page < MAX_PAGES; page++) {
    const rows = await listPage(http, request, page, signal)
    const own = rows.find(({ data }) => data?.title === title)
    if (own !== undefined) return own
    if (rows.length < PAGE) break
  }
  return null
}

/** Newest first. */
async function listPage(http: RecorderHttp, { platform }: JoinRequest, page: number, signal: AbortSignal) {
  const query = { platform, limit: String(PAGE), offset: String(page * PAGE) }
  return expectBody(await http.call({ method: 'GET', path: '/meetings', query }, signal), meetings).meetings
}

/** The bot is addressed by the link of the meeting, so it is read first: another one may be there by now. */
async function leave(http: RecorderHttp, botId: string, signal: AbortSignal): Promise<void> {
  const found = await read(http, botId, signal)
  if (found === null) return
  const { state } = reportOf(found)
  if (state === 'ended' || state === 'failed' || state === 'processing') return
  const path = `/bots/${encodeURIComponent(found.platform ?? '')}/${encodeURIComponent(found.native_meeting_id ?? '')}`
  const { status } = await http.call({ method: 'DELETE', path }, signal)
  if ((status < 200 || status > 299) && status !== 404) throw unexpected(status)
}
