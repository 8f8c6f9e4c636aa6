/**
 * Which other websites' pages may call the website API (Fetch standard, "CORS protocol"): those of `WEBSITE_ORIGINS`.
 *
 * The rule: an origin that is not on the list is told nothing at all, and nobody is told that credentials are welcome:
 * there are none.
 */

const EXPOSED = [
  'API-Version',
  'Deprecation',
  'Link',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'Sunset',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-Request-Id',
].join(', ')

const PREFLIGHT_SECONDS = 3600

export interface Cors {
  /** Of every response to the request. */
  headers(request: Request): Readonly<Record<string, string>>
  /** Of the answer to a preflight, given the methods of the path; null where the request is none of a listed origin. */
  preflight(request: Request, methods: string): Readonly<Record<string, string>> | null
}

/** `origins` as a browser writes them: scheme, host and port. */
export function createCors(origins: readonly string[]): Cors {
  const allowed = new Set(origins)
  const isAllowed = (request: Request) => allowed.has(request.headers.get('origin') ?? '')
  return {
    headers(request): Record<string, string> {
      if (allowed.size === 0) return {}
      if (!isAllowed(request)) return { vary: 'Origin' }
      return {
        vary: 'Origin',
        'access-control-allow-origin': request.headers.get('origin') ?? '',
        'access-control-expose-headers': EXPOSED,
      }
    },
    preflight(request, methods) {
      const asked = request.headers.has('access-control-request-method')
      if (request.method !== 'OPTIONS' || !asked || !isAllowed(request)) return null
      return {
        'access-control-allow-methods': methods,
        'access-control-allow-headers': 'API-Version, Content-Type, X-Request-Id',
        'access-control-max-age': String(PREFLIGHT_SECONDS),
      }
    },
  }
}
