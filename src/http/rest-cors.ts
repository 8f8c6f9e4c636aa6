/**
 * Pages of other websites that call the REST API for the user who is signed in to them (Fetch standard, "CORS protocol").
 *
 * The rule: only what a user's token opens, and only that token. It is sent by the page itself and never by the browser, so any
 * origin may ask; keys of organizations and agents belong on servers, and no page is told that it may send them.
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
  return access === 'user' || access === 'organizationOrUser'
}

/** Of every response of an operation with this access. */
export function pageHeaders(access: Access): Readonly<Record<string, string>> {
  return isForPages(access) ? ANY_ORIGIN : {}
}

/** Of the answer to a preflight about a path with these methods; null where the request is none. */
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
