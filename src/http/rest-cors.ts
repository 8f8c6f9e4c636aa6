/**
 * CORS of the REST API, for pages of other websites that act for their signed-in user (Fetch standard, "CORS
 * protocol").
 *
 * Pages may call only operations that accept user tokens, and only with a user token. The page itself sends the token,
 * never the browser, so any origin is allowed. Keys of organizations and agents belong on servers, so CORS does not
 * allow their headers.
 */
import type { Access } from './operation.ts'

const PREFLIGHT_SECONDS = 3600

const EXPOSED = [
  'Location',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'WWW-Authenticate',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-Request-Id',
].join(', ')

const ANY_ORIGIN = { 'access-control-allow-origin': '*', 'access-control-expose-headers': EXPOSED }

/** Whether a page may call the operation. */
export function isForPages(access: Access): boolean {
  return access === 'user' || access === 'organizationOrUser' || access === 'person'
}

/** Headers of every response of an operation with this access. */
export function pageHeaders(access: Access): Readonly<Record<string, string>> {
  return isForPages(access) ? ANY_ORIGIN : {}
}

/** Headers of the answer to a preflight for a path with these methods; null if the request is not a preflight. */
export function preflightHeaders(request: Request, methods: string): Readonly<Record<string, string>> | null {
  if (request.method !== 'OPTIONS' || !request.headers.has('access-control-request-method')) return null
  return {
    ...ANY_ORIGIN,
    'access-control-allow-methods': methods,
    'access-control-allow-headers':
      'Authorization, Content-Encoding, Content-Type, X-Request-Id, X-Service-Organization-Key',
    'access-control-max-age': String(PREFLIGHT_SECONDS),
  }
}
