/**
 * The address of a request: its path, its query and its `Host`.
 *
 * Clients control `Host` and the request line, and Bun builds `request.url` from both. With a malformed `Host` it is
 * not a valid URL. Therefore only this file reads `request.url`, and the path never depends on the host.
 */
import { AppError } from '../platform/errors.ts'

/**
 * A registered name, an IPv4 address or an IPv6 address in brackets, with an optional port (RFC 9110, section 7.2).
 */
const HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{0,5})?$/i

/** The host of a request without `Host` (HTTP/1.0). */
const DEFAULT_HOST = 'localhost'

const SCHEME_END = '://'

/** The path as sent, without query and fragment: `/v3/rest/recordings`. `/` if it is empty. */
export function pathOf(request: Request): string {
  const { url } = request
  const start = pathStart(url)
  const end = url.slice(start).search(/[?#]/)
  return (end === -1 ? url.slice(start) : url.slice(start, start + end)) || '/'
}

/** The parameters of the query, decoded. */
export function queryOf(request: Request): URLSearchParams {
  const { url } = request
  const start = url.indexOf('?')
  if (start === -1) return new URLSearchParams()
  const end = url.indexOf('#', start)
  return new URLSearchParams(end === -1 ? url.slice(start + 1) : url.slice(start + 1, end))
}

/** Scheme, host and port that the client used: `http://api:3000`. The request's `Host` has been accepted. */
export function originOf(request: Request): string {
  return new URL(request.url).origin
}

function pathStart(url: string): number {
  if (url.startsWith('/')) return 0
  const scheme = url.indexOf(SCHEME_END)
  const path = scheme === -1 ? -1 : url.indexOf('/', scheme + SCHEME_END.length)
  return path === -1 ? url.length : path
}

/**
 * Gives a request without a `Host` an absolute URL, which the router needs. HTTP/1.0 permits such requests, and health
 * checks of load balancers send them.
 */
export function completeAddress(request: Request): void {
  if (request.headers.has('host')) return
  const url = `http://${DEFAULT_HOST}${request.url.slice(pathStart(request.url))}`
  Object.defineProperty(request, 'url', { value: url })
}

/** @returns a check of `Host` that remembers the last accepted value, because most clients send the same one */
export function createHostCheck(): (request: Request) => void {
  let accepted: string | null = null
  return (request) => {
    const host = request.headers.get('host')
    if (host === null || host === accepted) return
    if (!HOST.test(host) || !URL.canParse(`http://${host}`))
      throw new AppError(
        'invalid_host',
        'The Host header must be a host name or an IP address, with an optional port.',
      )
    accepted = host
  }
}
