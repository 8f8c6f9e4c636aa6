/**
 * Requests to a recorder, under the outbound policy. Messages of errors name the method, the path without ids and the status. They never
 * repeat the address, headers, or text of either side, because these contain keys, passwords and meeting links.
 */
import type { TSchema } from '@sinclair/typebox'
import type { TypeCheck } from '@sinclair/typebox/compiler'
import type { OutboundAnswer, SendOutbound } from '../../../platform/net/outbound-request.ts'
import { PublicFetchError } from '../../../platform/net/public-error.ts'
import { trimEndOf } from '../../../platform/validation/trim.ts'
import { RecorderError } from '../recorder.ts'
import { isPassing, pauseSecondsOf, type Refusal, refusalOfStatus } from './http.rules.ts'
import type { DriverDeps } from './settings.ts'

const SLOW_FACTOR = 4
const MAX_ANSWER_BYTES = 4 * 1024 * 1024

export interface RecorderServer {
  /** With or without a trailing slash, and with or without the path of the API. */
  readonly url: string
  /** The header that carries the key. */
  readonly headers: Readonly<Record<string, string>>
  /** The path of the API below the host, such as `/api/v1`, or ''. */
  readonly apiPath: string
}

export interface Call {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** The path with its ids, below the API. It begins with a slash. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
  readonly maxBytes?: number
  /** The recorder needs longer than for other requests. */
  readonly isSlow?: boolean
  /** Statuses that the caller judges itself, although they usually pass. */
  readonly judged?: readonly number[]
}

export interface Reply {
  readonly status: number
  /** The body as JSON; undefined if it is none. */
  readonly json: unknown
  readonly retryAfterSeconds: number | null
}

export interface RecorderHttp {
  /** The base of all requests, without a trailing slash. */
  readonly base: string
  /** An answer of any status below 500 except 408, 425 and 429, or one that is judged. @throws RecorderError, retryable */
  call(call: Call, signal: AbortSignal): Promise<Reply>
  /** GET of a short-lived URL that the recorder named: without the key. @throws RecorderError, retryable */
  fetchJson(url: string, maxBytes: number, signal: AbortSignal): Promise<unknown>
}

export function createRecorderHttp(
  { url, headers, apiPath }: RecorderServer,
  { send, now, deadlineMs }: DriverDeps,
): RecorderHttp {
  const host = trimEndOf(url, '/')
  const base = host.endsWith(apiPath) ? host : `${host}${apiPath}`
  const common = { accept: 'application/json', ...headers }
  return {
    base,
    async call(request, signal) {
      const { method, path, query, body, headers: own, maxBytes, isSlow, judged } = request
      const target = `${base}${path}${query === undefined ? '' : `?${new URLSearchParams(query)}`}`
      const answer = await attempt(send, target, {
        method,
        headers: { ...common, ...own, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal,
        deadlineMs: isSlow === true ? deadlineMs * SLOW_FACTOR : deadlineMs,
        maxAnswerBytes: maxBytes ?? MAX_ANSWER_BYTES,
      })
      const retryAfter = pauseSecondsOf(answer.headers.get('retry-after'), now())
      if (isPassing(answer.status) && judged?.includes(answer.status) !== true)
        throw new RecorderError(
          `the recorder answered ${answer.status}`,
          'retryable',
          'recorder_failed',
          retryAfter,
        )
      return { status: answer.status, json: jsonOf(answer), retryAfterSeconds: retryAfter }
    },
    async fetchJson(target, maxBytes, signal) {
      const answer = await attempt(send, target, {
        signal,
        deadlineMs,
        maxAnswerBytes: maxBytes,
        followRedirects: true,
      })
      if (answer.status !== 200)
        throw new RecorderError(`the file of the recorder answered ${answer.status}`, 'retryable')
      return jsonOf(answer)
    },
  }
}

async function attempt(...[send, url, request]: [SendOutbound, ...Parameters<SendOutbound>]) {
  try {
    return await send(url, request)
  } catch (error) {
    request.signal.throwIfAborted()
    if (!(error instanceof PublicFetchError)) throw error
    throw new RecorderError(UNREACHABLE[error.code] ?? 'the recorder could not be reached', 'retryable')
  }
}

const UNREACHABLE: Readonly<Partial<Record<PublicFetchError['code'], string>>> = {
  url_not_allowed: 'the address of the recorder is private and not in OUTBOUND_ALLOW, or not allowed',
  transfer_timeout: 'the recorder did not answer in time',
  too_many_redirects: 'the recorder redirects too often',
}

function jsonOf({ body, isCut }: OutboundAnswer): unknown {
  if (isCut) throw new RecorderError('the answer of the recorder is too large', 'retryable')
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch {
    return undefined
  }
}

/** The body of a successful answer. @throws RecorderError, retryable, for another status or shape */
export function expectBody<S extends TSchema>({ status, json }: Reply, shape: TypeCheck<S>) {
  if (status < 200 || status > 299) throw unexpected(status)
  if (shape.Check(json)) return json
  throw new RecorderError('the recorder answered in a form that is not its own', 'retryable')
}

class UnexpectedStatus extends RecorderError {
  constructor(readonly status: number) {
    super(`the recorder answered ${status}`, 'retryable')
  }
}

/** A status that the operation does not expect. It may pass: an operator changes a key, a proxy is configured anew. */
export function unexpected(status: number): RecorderError {
  return new UnexpectedStatus(status)
}

/** A join fails for good where other operations are repeated: nothing is lost yet, and its user waits for an answer. */
export async function failingForGood<T>(join: Promise<T>): Promise<T> {
  try {
    return await join
  } catch (error) {
    if (!(error instanceof UnexpectedStatus)) throw error
    const { detail, kind, code } = refusalOfStatus(error.status)
    throw new RecorderError(`the recorder ${detail}`, kind, code)
  }
}

/** A join that the recorder refused. `detail` continues "the recorder …". */
export function refused({ detail, kind, code }: Refusal, reply: Reply): RecorderError {
  return new RecorderError(`the recorder ${detail}`, kind, code, reply.retryAfterSeconds)
}
