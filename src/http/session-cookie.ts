/**
 * The cookie of a browser session (RFC 6265bis) and the checks against forged requests.
 *
 * Browsers send the cookie by themselves, also for a request that another page made them send. `SameSite=Lax` stops most of
 * these, but not those of another host of the same site. Therefore a request that changes something must come from a page of
 * this service (`Origin`), and must carry a token that only such a page can read.
 */
import type { Config } from '../kernel/config.ts'
import { AppError } from '../platform/errors.ts'
import { baseUrlOf } from './base-url.ts'

type BaseConfig = Pick<Config, 'publicBaseUrl'>

const CSRF_HEADER = 'x-csrf-token'

/** Methods that change nothing (RFC 9110, section 9.2.1). */
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS'])

/** The name of a cookie. A browser accepts `__Host-` only over https, from this very host and for the whole of it. */
function cookieName(name: string, isSecure: boolean): string {
  return isSecure ? `__Host-${name}` : name
}

const SESSION = 'earshot-session'

function isSecure(request: Request, config: BaseConfig): boolean {
  return baseUrlOf(request, config).startsWith('https:')
}

/** The secret of the session in the cookie; null without one. */
export function sessionSecretOf(request: Request, config: BaseConfig): string | null {
  return readCookie(request, config, SESSION)
}

/** The value of a cookie of this service; null without one. */
export function readCookie(request: Request, config: BaseConfig, name: string): string | null {
  const wanted = `${cookieName(name, isSecure(request, config))}=`
  const pair = (request.headers.get('cookie') ?? '').split(/; ?/).find((one) => one.startsWith(wanted))
  return pair?.slice(wanted.length) || null
}

/** `Set-Cookie` for the session. */
export function setSessionCookie(request: Request, config: BaseConfig, secret: string, seconds: number) {
  return setCookie(request, config, SESSION, secret, seconds)
}

/** `Set-Cookie` that removes the session. */
export const clearSessionCookie = (request: Request, config: BaseConfig) =>
  setCookie(request, config, SESSION, '', 0)

/** `Set-Cookie` of a cookie that scripts cannot read. */
export function setCookie(
  request: Request,
  config: BaseConfig,
  name: string,
  value: string,
  seconds: number,
): string {
  const secure = isSecure(request, config)
  const attributes = `Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
  return `${cookieName(name, secure)}=${value}; ${attributes}`
}

/** The token against forgery. It belongs to one session and does not reveal its secret. */
export function csrfTokenOf(sessionSecret: string): string {
  return new Bun.CryptoHasher('sha256', sessionSecret).update('csrf').digest('base64url')
}

/**
 * Refuses a request with a session that a page of another origin may have caused. `given` is its token against forgery.
 * @throws AppError 403 `csrf_check_failed`
 */
export function assertNotForged(
  request: Request,
  config: BaseConfig,
  sessionSecret: string,
  given = request.headers.get(CSRF_HEADER),
): void {
  if (SAFE.has(request.method)) return
  assertOwnPage(request, config)
  if (given === null || !isSame(given, csrfTokenOf(sessionSecret)))
    throw new AppError(
      'csrf_check_failed',
      'A request that changes something with a session must carry its token in X-CSRF-Token. Reload the page, or see GET /v3/rest/session.',
    )
}

/** Refuses a request that no page of this service has sent. @throws AppError 403 `csrf_check_failed` */
export function assertOwnPage(request: Request, config: BaseConfig): void {
  const origin = request.headers.get('origin')
  const isOwn =
    origin === null
      ? request.headers.get('sec-fetch-site') === 'same-origin'
      : isOwnOrigin(request, config, origin)
  if (isOwn) return
  throw new AppError(
    'csrf_check_failed',
    `The request does not come from a page of this service.${remedy(request, config, origin)}`,
  )
}

/** Without `PUBLIC_BASE_URL` a proxy may have changed the scheme, so only the hosts are compared. */
function isOwnOrigin(request: Request, config: BaseConfig, origin: string): boolean {
  const own = new URL(baseUrlOf(request, config))
  if (config.publicBaseUrl !== null) return origin === own.origin
  return URL.parse(origin)?.host === own.host
}

/** For operators: behind a proxy that changes `Host`, or at another address than the configured one, every page of the service itself is refused. */
function remedy(request: Request, config: BaseConfig, origin: string | null): string {
  const seen = origin === null ? null : URL.parse(origin)
  if (seen === null) return ''
  const own = new URL(baseUrlOf(request, config)).origin
  return ` It comes from ${seen.origin}, and this service is at ${own}. If both are the same service, set PUBLIC_BASE_URL to the address that browsers use.`
}

/** Takes the same time for every wrong token. */
function isSame(given: string, right: string): boolean {
  const digest = (text: string) => new Bun.CryptoHasher('sha256').update(text).digest()
  return crypto.timingSafeEqual(digest(given), digest(right))
}
