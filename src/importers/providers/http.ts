/**
 * Requests to a help desk, under the outbound policy. Errors have a code only: addresses, headers and answers contain secrets and
 * words of customers.
 */
import { retryAfterSeconds } from '../../meetings/recorders/http.rules.ts'
import type { OutboundAnswer, SendOutbound } from '../../platform/net/outbound-request.ts'
import { PublicFetchError } from '../../platform/net/public-error.ts'

const DEADLINE_MS = 60_000
/** A hundred tickets with the longest texts have half of it. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024

export const SOURCE_FAILURES = [
  'unauthorized',
  'not_found',
  'url_not_allowed',
  'unreachable',
  'unexpected_answer',
  'agent_chats_disabled',
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

export interface SourceAnswer {
  readonly json: unknown
  readonly bytes: number
}

export interface SourceHttp {
  /** The host of the help desk. */
  readonly host: string
  /** Null: 404 or 410. @throws SourceError; SourcePause */
  get(path: string, query: Readonly<Record<string, string>>): Promise<SourceAnswer | null>
}

export interface HttpOptions {
  readonly send: SendOutbound
  /** Without a trailing slash. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly now: () => Date
}

export function createSourceHttp({ send, url, headers, signal, now }: HttpOptions): SourceHttp {
  return {
    host: new URL(url).host,
    async get(path, query) {
      const answer = await attempt(send, `${url}${path}?${new URLSearchParams(query)}`, {
        headers: { accept: 'application/json', ...headers },
        signal,
        deadlineMs: DEADLINE_MS,
        maxAnswerBytes: MAX_ANSWER_BYTES,
      })
      const { status } = answer
      if (status === 404 || status === 410) return null
      if (status === 401 || status === 403) throw new SourceError('unauthorized')
      if (status === 429 || status === 503)
        throw new SourcePause(retryAfterSeconds(answer.headers.get('retry-after'), now()))
      if (status === 408 || status >= 500) throw new SourceError('unreachable')
      if (status !== 200) throw new SourceError('unexpected_answer')
      return { json: jsonOf(answer), bytes: answer.body.byteLength }
    },
  }
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
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch {
    throw new SourceError('unexpected_answer')
  }
}
