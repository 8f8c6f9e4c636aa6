/**
 * GET of a URL that a caller gave us, from the public internet and nowhere else (specification, "Create", rule 4).
 *
 * The rule: each hop is judged twice, its text by `assertOutboundUrl` and every address of its name by `judge`; the
 * connection then goes to an address that was judged, not to the name, which might mean another machine by now. Host and
 * the name of the certificate stay those of the URL. Nothing of a caller is sent along. Where the environment of the service
 * names a proxy (`HTTPS_PROXY`, `HTTP_PROXY`), it is asked for the address, too: what a name means is decided here alone.
 */
import { createPausableTimeout, type PausableTimeout } from '../concurrency/timeout.ts'
import { AppError } from '../errors.ts'
import { assertOutboundUrl, isPublicAddress } from './outbound-url.ts'
import { createResolve, type Resolve, ResolveError } from './resolve.ts'

const MAX_REDIRECTS = 5
/** A name may have dozens of addresses; as many as these are tried. */
const MAX_ADDRESSES = 4
const REDIRECTS = new Set([301, 302, 303, 307, 308])

/** Besides 5xx. 416: what was to be continued has changed. */
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
    /** false where the same request will fail the same way. */
    readonly retryable: boolean,
    message: string,
  ) {
    super(message)
  }
}

export interface PublicRequest {
  readonly signal: AbortSignal
  /** Of the body; enforced while it arrives, whatever its announced length. */
  readonly maxBytes: number
  /** Of the `Content-Type`, in lower case and without parameters; '' where there is none. */
  readonly accepts: (type: string) => boolean
  /** Besides our own; a repeated request asks for a range with them. */
  readonly headers?: Readonly<Record<string, string>>
}

export interface PublicResponse {
  /** 200, or 206 where a range was asked for. */
  readonly status: 200 | 206
  readonly headers: Headers
  /** After redirects. */
  readonly url: URL
  /** To be read once. An early end, a stall and too many bytes are a PublicFetchError. */
  readonly body: AsyncIterable<Uint8Array>
  /** Ends the connection; for who does not read the body. */
  close(): Promise<void>
}

/** @throws PublicFetchError; the reason of the signal where it is aborted */
export type FetchPublic = (url: string, request: PublicRequest) => Promise<PublicResponse>

export interface Patience {
  /** From the connection to the head of the answer, of each address. */
  readonly answerMs: number
  /** In which at least `stallBytes` of the body must arrive. */
  readonly stallMs: number
  readonly stallBytes: number
}

const DEFAULT_PATIENCE: Patience = { answerMs: 30_000, stallMs: 60_000, stallBytes: 64 * 1024 }

export interface FetchPublicOptions {
  readonly resolve?: Resolve
  /** Whether an address that a name resolved to may be connected to. Addresses in a URL are judged before, in any case. */
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
  if (url === null) throw new PublicFetchError('url_unreachable', false, 'a redirect to nowhere')
  return judgeText(url.href)
}

/** A connection with the head of its answer. */
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

/** Those of the host, all of them judged. */
async function addressesOf(
  { resolve, judge, request }: Context,
  { hostname }: URL,
): Promise<readonly string[]> {
  // A literal: judged with the text.
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
      // A connection that was kept would be found again by its address, though made for another name.
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

/** Errors of the connection. A certificate that does not fit will not fit at the next try. */
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

/** What is wrong with the head of an answer; null where nothing is. */
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
      // Its consumer may take its time.
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
