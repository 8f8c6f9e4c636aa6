/**
 * GET of a URL that a caller gave, from the public internet only (specification, "Create", rule 4).
 *
 * Each hop is checked twice: its text by `assertOutboundUrl`, and every address of its name by `judge`. The connection then
 * goes to a checked address, not to the name, which might resolve to another machine by then. `Host` and the name in the
 * certificate stay those of the URL. The request contains no data of a caller. If the environment names a proxy
 * (`HTTPS_PROXY`, `HTTP_PROXY`), it receives the checked address, too, so that only this code resolves names.
 */
import { createPausableTimeout, type PausableTimeout } from '../concurrency/timeout.ts'
import { AppError } from '../errors.ts'
import { assertOutboundUrl, isPublicAddress } from './outbound-url.ts'
import { createResolve, type Resolve, ResolveError } from './resolve.ts'

const MAX_REDIRECTS = 5
/** A name may have dozens of addresses. At most this many are tried. */
const MAX_ADDRESSES = 4
const REDIRECTS = new Set([301, 302, 303, 307, 308])

/** In addition to 5xx. 416: the file has changed since the transfer began. */
const RETRYABLE = new Set([408, 416, 425, 429])

export type PublicFetchCode =
  | 'url_unreachable'
  | 'url_forbidden'
  | 'url_not_found'
  | 'url_not_allowed'
  | 'too_many_redirects'
  | 'media_too_large'
  | 'unsupported_media_type'
  | 'transfer_timeout'

export class PublicFetchError extends Error {
  override readonly name = 'PublicFetchError'

  constructor(
    readonly code: PublicFetchCode,
    /** False if a retry would fail the same way. */
    readonly retryable: boolean,
    message: string,
  ) {
    super(message)
  }
}

export interface PublicRequest {
  readonly signal: AbortSignal
  /** Limit of the body, enforced while it arrives. */
  readonly maxBytes: number
  /** Decides by the `Content-Type` in lower case without parameters, or '' if there is none. */
  readonly accepts: (type: string) => boolean
  /** Additional headers. A repeated request uses them to ask for a range. */
  readonly headers?: Readonly<Record<string, string>>
}

export interface PublicResponse {
  /** 200, or 206 if a range was requested. */
  readonly status: 200 | 206
  readonly headers: Headers
  /** After redirects. */
  readonly url: URL
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
  readonly resolve?: Resolve
  /** True if a resolved address may be used. Literal addresses in a URL are always checked before. */
  readonly judge?: (address: string) => boolean
  readonly patience?: Patience
}

interface Context extends Required<FetchPublicOptions> {
  readonly request: PublicRequest
}

export function createFetchPublic({
  resolve = createResolve(),
  judge = isPublicAddress,
  patience = DEFAULT_PATIENCE,
}: FetchPublicOptions = {}): FetchPublic {
  return async (text, request) => {
    const context = { resolve, judge, patience, request }
    let url = judgeText(text)
    for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
      const opened = await open(context, url)
      const { response } = opened
      if (!REDIRECTS.has(response.status)) return accept(context, url, opened)
      const location = response.headers.get('location')
      await opened.close()
      url = nextHop(location, url)
    }
    throw new PublicFetchError('too_many_redirects', false, `more than ${MAX_REDIRECTS} redirects`)
  }
}

function judgeText(text: string): URL {
  try {
    return assertOutboundUrl(text)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    throw new PublicFetchError('url_not_allowed', false, error.message)
  }
}

function nextHop(location: string | null, from: URL): URL {
  const url = location === null ? null : URL.parse(location, from.href)
  if (url === null)
    throw new PublicFetchError('url_unreachable', false, 'a redirect without a valid location')
  return judgeText(url.href)
}

/** A connection with the head of its response. */
interface Opened {
  readonly response: Response
  readonly timeout: PausableTimeout
  close(): Promise<void>
}

async function open(context: Context, url: URL): Promise<Opened> {
  const { signal } = context.request
  let failure: unknown
  for (const address of await addressesOf(context, url)) {
    try {
      return await connect(context, url, address)
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof PublicFetchError) || !error.retryable) throw error
      failure = error
    }
  }
  throw failure
}

/** Addresses of the host, all of them checked. */
async function addressesOf(
  { resolve, judge, request }: Context,
  { hostname }: URL,
): Promise<readonly string[]> {
  // A literal address was checked with the text.
  if (hostname.startsWith('[') || /^[\d.]+$/.test(hostname)) return [hostname.replace(/^\[|\]$/g, '')]
  const addresses = await resolve(hostname, request.signal).catch((error) => {
    if (!(error instanceof ResolveError)) throw error
    throw new PublicFetchError('url_unreachable', error.transient, error.message)
  })
  if (!addresses.every(judge))
    throw new PublicFetchError('url_not_allowed', false, `${hostname} has a private or reserved address`)
  return addresses.slice(0, MAX_ADDRESSES)
}

async function connect({ request, patience }: Context, url: URL, address: string): Promise<Opened> {
  const timeout = createPausableTimeout(request.signal, () => {
    return new PublicFetchError('transfer_timeout', true, 'no answer in time')
  })
  timeout.start(patience.answerMs)
  const target = new URL(url)
  target.hash = ''
  target.hostname = address.includes(':') ? `[${address}]` : address
  const isName = target.hostname !== url.hostname
  try {
    const response = await fetch(target.href, {
      headers: { ...request.headers, ...OWN_HEADERS, host: url.host },
      redirect: 'manual',
      signal: timeout.signal,
      // A kept connection would be reused by its address, although it was made for another name.
      keepalive: false,
      decompress: false,
      timeout: false,
      tls: isName ? { serverName: url.hostname } : {},
    } as BunFetchRequestInit)
    return { response, timeout, close: () => close(response, timeout) }
  } catch (error) {
    timeout.stop()
    throw failureOf(error, timeout.signal)
  }
}

const OWN_HEADERS = {
  connection: 'close',
  accept: '*/*',
  'accept-encoding': 'identity',
  'user-agent': 'Earshot',
}

async function close(response: Response, timeout: PausableTimeout): Promise<void> {
  timeout.stop()
  await response.body?.cancel().catch(() => {})
}

/** Errors of the connection. A wrong certificate will still be wrong at a retry. */
function failureOf(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  const code = String((error as { readonly code?: unknown } | null)?.code)
  const isTerminal = /CERT|TLS|SSL|SELF_SIGNED|ISSUER|UNABLE_TO|HOSTNAME/.test(code)
  return new PublicFetchError('url_unreachable', !isTerminal, `the connection failed: ${code}`)
}

async function accept(context: Context, url: URL, opened: Opened): Promise<PublicResponse> {
  const { request, patience } = context
  const { response, timeout } = opened
  const refusal = refusalOf(response, request)
  if (refusal !== null) {
    await opened.close()
    throw refusal
  }
  const status = response.status === 206 ? 206 : 200
  timeout.start(patience.stallMs)
  const body = read(opened, request.maxBytes, patience)
  return { status, headers: response.headers, url, body, close: opened.close }
}

/** The error for the head of a response, or null if it is acceptable. */
function refusalOf({ status, headers }: Response, { headers: sent, accepts, maxBytes }: PublicRequest) {
  const asked = Object.keys(sent ?? {}).some((name) => name.toLowerCase() === 'range')
  if (status !== 200 && !(status === 206 && asked)) return refusalOfStatus(status)
  const type = (headers.get('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (!accepts(type)) return new PublicFetchError('unsupported_media_type', false, `the type is ${type}`)
  const coding = headers.get('content-encoding')?.trim().toLowerCase() ?? 'identity'
  if (coding !== 'identity' && coding !== '')
    return new PublicFetchError('unsupported_media_type', false, `the content is encoded: ${coding}`)
  return Number(headers.get('content-length') ?? 0) > maxBytes ? tooLarge(maxBytes) : null
}

function refusalOfStatus(status: number): PublicFetchError {
  const message = `the answer is ${status}`
  if (status === 401 || status === 403) return new PublicFetchError('url_forbidden', false, message)
  if (status === 404 || status === 410) return new PublicFetchError('url_not_found', false, message)
  const isTransient = status >= 500 || RETRYABLE.has(status)
  return new PublicFetchError('url_unreachable', isTransient, message)
}

const tooLarge = (maxBytes: number) =>
  new PublicFetchError('media_too_large', false, `more than ${maxBytes} bytes`)

async function* read(
  { response, timeout, close: end }: Opened,
  maxBytes: number,
  { stallMs, stallBytes }: Patience,
): AsyncGenerator<Uint8Array, void> {
  const announced = response.headers.get('content-length')
  const reader = response.body?.getReader()
  const cancel = () => void reader?.cancel().catch(() => {})
  timeout.signal.addEventListener('abort', cancel, { once: true })
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
    timeout.signal.removeEventListener('abort', cancel)
    reader?.releaseLock()
    await end()
  }
  if (announced !== null && received < Number(announced))
    throw new PublicFetchError('url_unreachable', true, 'the connection ended early')
}

const NOTHING_MORE = { done: true, value: undefined } as const
