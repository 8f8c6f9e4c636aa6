/**
 * CORS of the website API (Fetch standard, "CORS protocol"). `WEBSITE_ORIGINS` lists the origins whose pages may call
 * it.
 *
 * Other origins get no CORS headers. Credentials are never allowed, because the website API has none.
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
  /** Headers of every response to the request. */
  headers(request: Request): Readonly<Record<string, string>>
  /**
   * Headers of the answer to a preflight for a path with these methods; null if the request is not a preflight of a
   * listed origin.
   */
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
