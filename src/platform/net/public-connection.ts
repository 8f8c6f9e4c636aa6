/**
 * Opens connections to URLs that a caller gave.
 *
 * Each URL is checked twice: its text by the outbound policy, and every address of its name. The connection then goes to a
 * checked address, not to the name, which might resolve to another machine by then. `Host` and the name in the certificate stay
 * those of the URL. If the environment names a proxy (`HTTPS_PROXY`, `HTTP_PROXY`), it receives the checked address, too,
 * so that only this code resolves names.
 */
import { createPausableTimeout, type PausableTimeout } from '../concurrency/timeout.ts'
import { AppError } from '../errors.ts'
import type { OutboundPolicy } from './outbound-url.ts'
import { PublicFetchError } from './public-error.ts'
import { type Resolve, ResolveError } from './resolve.ts'

export const MAX_REDIRECTS = 5
/** A name may have dozens of addresses. At most this many are tried. */
const MAX_ADDRESSES = 4
const REDIRECTS = new Set([301, 302, 303, 307, 308])

/** What one connection sends. */
export interface Outgoing {
  readonly method: string
  readonly headers: Headers
  readonly body: string | Uint8Array<ArrayBuffer> | null
}

export interface ConnectionOptions {
  readonly policy: OutboundPolicy
  readonly resolve: Resolve
  readonly signal: AbortSignal
  /** For each address, from the connection to the head of the response. */
  readonly answerMs: number
}

/** A connection with the head of its response. */
export interface Opened {
  readonly response: Response
  readonly timeout: PausableTimeout
  close(): Promise<void>
}

/** @throws PublicFetchError `url_not_allowed` */
export function judgeText(policy: OutboundPolicy, text: string): URL {
  try {
    return policy.assertUrl(text, 'url')
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    throw new PublicFetchError('url_not_allowed', false, error.message)
  }
}

/** The checked target of a redirect; null if the response is none. @throws PublicFetchError */
export function redirectOf({ status, headers }: Response, from: URL, policy: OutboundPolicy): URL | null {
  if (!REDIRECTS.has(status)) return null
  const location = headers.get('location')
  const url = location === null ? null : URL.parse(asUtf8(location), from.href)
  if (url === null)
    throw new PublicFetchError('url_unreachable', false, 'a redirect without a valid location')
  return judgeText(policy, url.href)
}

/** Some servers send the characters of a path as they are. `fetch` reads each byte of a header as one character. */
function asUtf8(header: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(header, 'latin1'))
  } catch {
    return header
  }
}

/** A retry would fail the same way. */
export const tooManyRedirects = () =>
  new PublicFetchError('too_many_redirects', false, `more than ${MAX_REDIRECTS} redirects`)

/**
 * Tries the addresses of the host in turn. A request that may have side effects goes to the next address only if the one before
 * refused the connection, so that it is never sent twice.
 * @throws PublicFetchError; the signal's reason if it is aborted
 */
export async function openConnection(
  options: ConnectionOptions,
  url: URL,
  outgoing: Outgoing,
): Promise<Opened> {
  let failure: unknown
  for (const address of await addressesOf(options, url)) {
    try {
      return await connect(options, url, address, outgoing)
    } catch (error) {
      options.signal.throwIfAborted()
      if (!(error instanceof PublicFetchError) || !error.retryable) throw error
      failure = error
      if (!isSafe(outgoing.method) && !(error instanceof NotConnected)) throw error
    }
  }
  throw failure
}

const isSafe = (method: string) => method === 'GET' || method === 'HEAD'

/** The request was not sent. */
class NotConnected extends PublicFetchError {}

/** Codes of Bun and of the system for a connection that was not made. */
const NOT_CONNECTED =
  /^(ConnectionRefused|FailedToOpenSocket|ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL)$/

/** Addresses of the host, all of them checked. */
async function addressesOf(
  { resolve, policy, signal }: ConnectionOptions,
  { hostname }: URL,
): Promise<readonly string[]> {
  // A literal address was checked with the text.
  if (hostname.startsWith('[') || /^[\d.]+$/.test(hostname)) return [hostname.replace(/^\[|\]$/g, '')]
  const addresses = await resolve(hostname, signal).catch((error) => {
    if (!(error instanceof ResolveError)) throw error
    throw new PublicFetchError('url_unreachable', error.transient, error.message)
  })
  if (!addresses.every((address) => policy.allowsAddress(address)))
    throw new PublicFetchError('url_not_allowed', false, `${hostname} has a private or reserved address`)
  return addresses.slice(0, MAX_ADDRESSES)
}

async function connect(
  { signal, answerMs }: ConnectionOptions,
  url: URL,
  address: string,
  { method, headers, body }: Outgoing,
): Promise<Opened> {
  const timeout = createPausableTimeout(signal, () => {
    return new PublicFetchError('transfer_timeout', true, 'no answer in time')
  })
  timeout.start(answerMs)
  const target = new URL(url)
  target.hash = ''
  target.hostname = address.includes(':') ? `[${address}]` : address
  const isName = target.hostname !== url.hostname
  try {
    const response = await fetch(target.href, {
      method,
      headers: ownHeaders(headers, url),
      body,
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

function ownHeaders(given: Headers, url: URL): Headers {
  const headers = new Headers(given)
  headers.set('host', url.host)
  headers.set('connection', 'close')
  headers.set('accept-encoding', 'identity')
  if (!headers.has('accept')) headers.set('accept', '*/*')
  if (!headers.has('user-agent')) headers.set('user-agent', 'Earshot')
  return headers
}

async function close(response: Response, timeout: PausableTimeout): Promise<void> {
  timeout.stop()
  await response.body?.cancel().catch(() => {})
}

/** Errors of the connection. A wrong certificate will still be wrong at a retry. */
export function failureOf(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  const code = String((error as { readonly code?: unknown } | null)?.code)
  const isTerminal = /CERT|TLS|SSL|SELF_SIGNED|ISSUER|UNABLE_TO|HOSTNAME/.test(code)
  const Failure = NOT_CONNECTED.test(code) ? NotConnected : PublicFetchError
  return new Failure('url_unreachable', !isTerminal, `the connection failed: ${code}`)
}
