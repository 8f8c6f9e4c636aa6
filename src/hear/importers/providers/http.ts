/**
 * Requests to a help desk, under the outbound policy. Errors have a code only: addresses, headers and answers contain secrets and
 * words of customers.
 */

import type { OutboundAnswer, OutboundRequest, SendOutbound } from '../../../platform/net/outbound-request.ts'
import { PublicFetchError } from '../../../platform/net/public-error.ts'
import { retryAfterSeconds } from '../../../platform/net/retry-after.rules.ts'
import { parseExact } from '../../../platform/validation/exact-number.rules.ts'

const DEADLINE_MS = 60_000
/** Quotas of help desks begin anew after a day at the latest. Whoever asks for longer is asked again then. */
const MAX_PAUSE_SECONDS = 24 * 60 * 60
/** A hundred tickets with the longest texts have half of it. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024

export const SOURCE_FAILURES = [
  'unauthorized',
  'not_found',
  'url_not_allowed',
  'unreachable',
  'unexpected_answer',
  'agent_chats_disabled',
  'quota_exceeded',
  'internal_error',
] as const
export type SourceFailure = (typeof SOURCE_FAILURES)[number]

/** Why a source cannot be read now. */
export class SourceError extends Error {
  override readonly name = 'SourceError'

  constructor(readonly code: SourceFailure) {
    super(code)
  }
}

/** The help desk asks for a pause. */
export class SourcePause extends Error {
  override readonly name = 'SourcePause'

  constructor(
    /** Null: it does not say how long. */
    readonly seconds: number | null,
  ) {
    super('rate limited')
  }
}

/** Where and how requests are sent. */
export interface Connected {
  /** The base of every path, without a trailing slash. */
  readonly url: string
  /** Where the ids of conversations are unique. */
  readonly place: string
  /** They carry the credential. */
  readonly headers: Readonly<Record<string, string>>
}

interface SourceAnswer {
  readonly json: unknown
  readonly bytes: number
}

export interface SourceHttp {
  /** Where the ids of conversations are unique. */
  readonly place: string
  /** Null: 404 or 410. @throws SourceError; SourcePause */
  get(path: string, query: Readonly<Record<string, string>>): Promise<SourceAnswer | null>
  /** As `get`, for searches that are sent as JSON. */
  post(path: string, body: unknown): Promise<SourceAnswer | null>
}

export interface HttpOptions {
  readonly send: SendOutbound
  readonly connected: Connected
  readonly signal: AbortSignal
  readonly now: () => Date
}

export function createSourceHttp({ send, connected, signal, now }: HttpOptions): SourceHttp {
  const { url, place, headers } = connected
  const call = async (path: string, request: Pick<OutboundRequest, 'method' | 'headers' | 'body'>) => {
    const answer = await attempt(send, `${url}${path}`, {
      ...request,
      headers: { accept: 'application/json', ...headers, ...request.headers },
      signal,
      deadlineMs: DEADLINE_MS,
      maxAnswerBytes: MAX_ANSWER_BYTES,
    })
    return accepted(answer, now())
  }
  return {
    place,
    get: (path, query) => call(`${path}?${new URLSearchParams(query)}`, {}),
    post: (path, body) =>
      call(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
  }
}

/** @throws SourceError; SourcePause */
function accepted(answer: OutboundAnswer, now: Date): SourceAnswer | null {
  const { status, headers } = answer
  if (status === 404 || status === 410) return null
  if (status === 401 || status === 403) throw new SourceError('unauthorized')
  if (status === 429 || status === 503) throw new SourcePause(pauseOf(headers, now))
  if (status === 408 || status >= 500) throw new SourceError('unreachable')
  if (status !== 200) throw new SourceError('unexpected_answer')
  return { json: jsonOf(answer), bytes: answer.body.byteLength }
}

/** At most a day. */
function pauseOf(headers: Headers, now: Date): number | null {
  const seconds = retryAfterSeconds(headers.get('retry-after'), now) ?? secondsToReset(headers, now)
  return seconds === null ? null : Math.min(seconds, MAX_PAUSE_SECONDS)
}

/** Intercom names a moment in seconds since 1970. */
function secondsToReset(headers: Headers, now: Date): number | null {
  const reset = headers.get('x-ratelimit-reset') ?? ''
  return /^\d{9,11}$/.test(reset) ? Math.max(0, Math.ceil(Number(reset) - now.getTime() / 1000)) : null
}

async function attempt(...[send, url, request]: [SendOutbound, ...Parameters<SendOutbound>]) {
  try {
    return await send(url, request)
  } catch (error) {
    request.signal.throwIfAborted()
    if (!(error instanceof PublicFetchError)) throw error
    throw new SourceError(error.code === 'url_not_allowed' ? 'url_not_allowed' : 'unreachable')
  }
}

function jsonOf({ body, isCut }: OutboundAnswer): unknown {
  if (isCut) throw new SourceError('unexpected_answer')
  try {
    return parseExact(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch {
    throw new SourceError('unexpected_answer')
  }
}
