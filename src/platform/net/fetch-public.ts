/**
 * GET of media at a URL that a caller gave (specification, "Create", rule 4). The body is streamed.
 *
 * `Content-Type` is not read, because servers and object stores state any type; the caller judges the bytes. The same holds for
 * `Content-Encoding`: what is gzip by name and by its bytes is decompressed.
 *
 * `public-connection.ts` checks each hop before it connects.
 */
import { gzipLayers } from './content-coding.rules.ts'
import { gunzipped } from './gunzip-stream.ts'
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
import { PublicFetchError, tooLarge } from './public-error.ts'
import { createResolve, type Resolve } from './resolve.ts'

/** In addition to 5xx. 416: the file has changed since the transfer began. */
const RETRYABLE = new Set([408, 416, 425, 429])

export interface PublicRequest {
  readonly signal: AbortSignal
  /** Limit of the body, as it arrives and decompressed, enforced while it arrives. */
  readonly maxBytes: number
  /**
   * Additional headers, such as a range for a repeated request. After a redirect to another origin only those of the range are
   * sent, so that a credential stays with the origin that it is for.
   */
  readonly headers?: Readonly<Record<string, string>>
}

export interface PublicResponse {
  /** 2xx; 206 only if a range was requested. */
  readonly status: number
  readonly headers: Headers
  /** After redirects. */
  readonly url: URL
  /** The body has another length than what was sent, so a transfer of it cannot continue at an offset. */
  readonly isDecoded: boolean
  /** Can be read once. An early end, a stall or too many bytes throw a PublicFetchError. */
  readonly body: AsyncIterable<Uint8Array>
  /** Closes the connection if the body is not read. */
  close(): Promise<void>
}

/** @throws PublicFetchError; the signal's reason if it is aborted */
export type FetchPublic = (url: string, request: PublicRequest) => Promise<PublicResponse>

export interface Patience {
  /** For each address, from the connection to the head of the response. */
  readonly answerMs: number
  /** Time in which at least `stallBytes` of the body must arrive. */
  readonly stallMs: number
  readonly stallBytes: number
}

const DEFAULT_PATIENCE: Patience = { answerMs: 30_000, stallMs: 60_000, stallBytes: 64 * 1024 }

export interface FetchPublicOptions {
  readonly policy: OutboundPolicy
  /** Default: the DNS servers of the machine. */
  readonly resolve?: Resolve
  readonly patience?: Patience
}

interface Context extends Required<FetchPublicOptions> {
  readonly request: PublicRequest
}

/** Follows up to five redirects (`MAX_REDIRECTS`), and checks every target against the policy. */
export function createFetchPublic({
  policy,
  resolve = createResolve(),
  patience = DEFAULT_PATIENCE,
}: FetchPublicOptions): FetchPublic {
  return async (text, request) => {
    const context = { policy, resolve, patience, request }
    const options = { policy, resolve, signal: request.signal, answerMs: patience.answerMs }
    const first = judgeText(policy, text)
    let url = first
    for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
      const headers = headersFor(request, url.origin === first.origin)
      const opened = await openConnection(options, url, { method: 'GET', headers, body: null })
      const next = await nextHop(opened, url, policy)
      if (next === null) return accept(context, url, opened)
      url = next
    }
    throw tooManyRedirects()
  }
}

const RANGE_HEADERS = new Set(['range', 'if-range'])

function headersFor({ headers = {} }: PublicRequest, isFirstOrigin: boolean): Headers {
  const given = Object.entries(headers)
  return new Headers(given.filter(([name]) => isFirstOrigin || RANGE_HEADERS.has(name.toLowerCase())))
}

/** The checked target of a redirect, whose connection is closed; null if the response is none. */
async function nextHop(opened: Opened, url: URL, policy: OutboundPolicy): Promise<URL | null> {
  let next: URL | null = null
  try {
    next = redirectOf(opened.response, url, policy)
  } catch (error) {
    await opened.close()
    throw error
  }
  if (next !== null) await opened.close()
  return next
}

async function accept(context: Context, url: URL, opened: Opened): Promise<PublicResponse> {
  const { request, patience } = context
  const { response, timeout } = opened
  const refusal = refusalOf(response, request)
  if (refusal !== null) {
    await opened.close()
    throw refusal
  }
  const { status, headers } = response
  timeout.start(patience.stallMs)
  const abandoned = new AbortController()
  const sent = read(opened, request.maxBytes, patience, abandoned.signal)
  const layers = status === 206 ? 0 : gzipLayers(headers.get('content-encoding'))
  const body = gunzipped(sent, { layers, maxBytes: request.maxBytes, abandon: () => abandoned.abort() })
  return { status, headers, url, isDecoded: layers > 0, body, close: opened.close }
}

/** The error for the head of a response, or null if it is acceptable. */
function refusalOf({ status, headers }: Response, { headers: sent, maxBytes }: PublicRequest) {
  const asked = Object.keys(sent ?? {}).some((name) => name.toLowerCase() === 'range')
  const isSuccess = status >= 200 && status < 300
  if (!isSuccess || (status === 206 && !asked)) return refusalOfStatus(status)
  return Number(headers.get('content-length') ?? 0) > maxBytes ? tooLarge(maxBytes) : null
}

function refusalOfStatus(status: number): PublicFetchError {
  const message = `the answer is ${status}`
  if (status === 401 || status === 403) return new PublicFetchError('url_forbidden', false, message)
  if (status === 404 || status === 410) return new PublicFetchError('url_not_found', false, message)
  const isTransient = status >= 500 || RETRYABLE.has(status)
  return new PublicFetchError('url_unreachable', isTransient, message)
}

async function* read(
  { response, timeout, close }: Opened,
  maxBytes: number,
  { stallMs, stallBytes }: Patience,
  abandoned: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  const announced = response.headers.get('content-length')
  const reader = response.body?.getReader()
  const cancel = () => void reader?.cancel().catch(() => {})
  const ends = [timeout.signal, abandoned]
  for (const end of ends) end.addEventListener('abort', cancel, { once: true })
  let received = 0
  let sinceStart = 0
  try {
    for (;;) {
      timeout.signal.throwIfAborted()
      const { done, value } = (await reader?.read()) ?? NOTHING_MORE
      timeout.signal.throwIfAborted()
      if (done) break
      received += value.byteLength
      sinceStart += value.byteLength
      if (received > maxBytes) throw tooLarge(maxBytes)
      // The time that the consumer needs does not count.
      timeout.stop()
      yield value
      if (sinceStart >= stallBytes) sinceStart = 0
      timeout.start(sinceStart === 0 ? stallMs : null)
    }
  } catch (error) {
    throw error instanceof PublicFetchError ? error : failureOf(error, timeout.signal)
  } finally {
    for (const end of ends) end.removeEventListener('abort', cancel)
    reader?.releaseLock()
    await close()
  }
  if (announced !== null && received < Number(announced))
    throw new PublicFetchError('url_unreachable', true, 'the connection ended early')
}

const NOTHING_MORE = { done: true, value: undefined } as const
