/**
 * One request to a server that a customer or the operator named: webhooks, meeting recorders, documents of clients.
 *
 * The outbound policy decides whether the server may be reached, again at every attempt and at every redirect. The answer is
 * read up to a limit and within a deadline, so that a slow or endless server costs the caller no more than it planned for.
 * Media goes through `fetch-public.ts` instead, which streams.
 */
import { withTimeoutSignal } from '../concurrency/timeout.ts'
import type { OutboundPolicy } from './outbound-url.ts'
import {
  failureOf,
  judgeText,
  MAX_REDIRECTS,
  type Opened,
  openConnection,
  redirectOf,
  tooManyRedirects,
} from './public-connection.ts'
import { PublicFetchError } from './public-error.ts'
import { createResolve, type Resolve } from './resolve.ts'

export interface OutboundRequest {
  /** Default: GET. */
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** `Host`, `Connection` and `Accept-Encoding` are set by this module. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array<ArrayBuffer>
  readonly signal: AbortSignal
  /** Milliseconds for everything: names, connections, redirects, the answer with its body. */
  readonly deadlineMs: number
  /** Bytes of the body of the answer that are kept. The rest is not read. */
  readonly maxAnswerBytes: number
  /**
   * Milliseconds for the body once the head of the answer is there. A body that stalls or breaks is then returned as far as it came, because
   * the head says all that counts. Default: such a body fails the request.
   */
  readonly bodyMs?: number
  /**
   * Follow up to five redirects of a GET or HEAD. Each target is judged anew. Headers are sent only to the origin of the first URL.
   * Default: an answer with a redirect is returned like any other.
   */
  readonly followRedirects?: boolean
}

export interface OutboundAnswer {
  readonly status: number
  readonly headers: Headers
  readonly body: Uint8Array<ArrayBuffer>
  /** The answer had more than `maxAnswerBytes`, or ended early. */
  readonly isCut: boolean
  /** After redirects. */
  readonly url: URL
}

/**
 * An answer of any status resolves.
 * @throws PublicFetchError `url_not_allowed`, `url_unreachable`, `transfer_timeout`, `too_many_redirects`; the signal's reason if
 * it is aborted
 */
export type SendOutbound = (url: string, request: OutboundRequest) => Promise<OutboundAnswer>

export interface OutboundOptions {
  readonly policy: OutboundPolicy
  /** Default: the DNS servers of the machine. */
  readonly resolve?: Resolve
}

/** Each request ends within its `deadlineMs`, whatever the server does. */
export function createSendOutbound({ policy, resolve = createResolve() }: OutboundOptions): SendOutbound {
  return (text, request) =>
    withTimeoutSignal(request.deadlineMs, request.signal, tooLate(request.deadlineMs), (signal) =>
      send({ policy, resolve, request: { ...request, signal } }, text),
    )
}

const tooLate = (ms: number) => () =>
  new PublicFetchError('transfer_timeout', true, `no complete answer within ${ms / 1_000} s`)

interface Sending extends Required<OutboundOptions> {
  readonly request: OutboundRequest
}

async function send({ policy, resolve, request }: Sending, text: string): Promise<OutboundAnswer> {
  const { method = 'GET', body = null, signal, deadlineMs, followRedirects = false } = request
  if (followRedirects && method !== 'GET' && method !== 'HEAD')
    throw new TypeError('only GET and HEAD follow redirects')
  const first = judgeText(policy, text)
  let url = first
  for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
    const headers = new Headers(url.origin === first.origin ? request.headers : {})
    const options = { policy, resolve, signal, answerMs: deadlineMs }
    const opened = await openConnection(options, url, { method, headers, body })
    const next = followRedirects
      ? await orClose(opened, () => redirectOf(opened.response, url, policy))
      : null
    if (next === null) return await receive(opened, url, request)
    await opened.close()
    url = next
  }
  throw tooManyRedirects()
}

async function orClose<T>(opened: Opened, work: () => T): Promise<T> {
  try {
    return work()
  } catch (error) {
    await opened.close()
    throw error
  }
}

async function receive(
  { response, timeout, close }: Opened,
  url: URL,
  { maxAnswerBytes, bodyMs, signal }: OutboundRequest,
): Promise<OutboundAnswer> {
  const chunks: Uint8Array[] = []
  let size = 0
  let isCut = false
  if (bodyMs !== undefined) timeout.start(bodyMs)
  const reader = response.body?.getReader()
  const cancel = () => void reader?.cancel().catch(() => {})
  timeout.signal.addEventListener('abort', cancel, { once: true })
  try {
    while (size <= maxAnswerBytes) {
      timeout.signal.throwIfAborted()
      const piece = await reader?.read()
      timeout.signal.throwIfAborted()
      if (piece === undefined || piece.done) break
      chunks.push(piece.value)
      size += piece.value.byteLength
    }
  } catch (error) {
    const isOwn = !signal.aborted || signal.reason instanceof PublicFetchError
    if (bodyMs === undefined || !isOwn) throw failureOf(error, timeout.signal)
    isCut = true
  } finally {
    timeout.signal.removeEventListener('abort', cancel)
    reader?.releaseLock()
    await close()
  }
  const body = new Uint8Array(Buffer.concat(chunks).subarray(0, maxAnswerBytes))
  return {
    status: response.status,
    headers: response.headers,
    body,
    isCut: isCut || size > maxAnswerBytes,
    url,
  }
}
