/**
 * Writes one log line and one metric observation for every request.
 *
 * The log line has the path without its query and without capabilities, because both may be secret. The metric has the
 * pattern of the route, because ids as labels would grow without bound.
 */
import { Elysia } from 'elysia'
import type { Deps } from '../kernel/deps.ts'
import { pathOf } from './address.ts'
import { REQUEST_ID_HEADER } from './request-id.ts'
import { shownPath } from './shown-path.ts'

/** Machines request these every few seconds, so they are not logged at the ordinary level. */
const PROBES = new Set(['/health', '/ready', '/metrics'])

/** Any other method counts as `other`. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

const UNKNOWN_ROUTE = 'unknown'

/** Observes every request of the application that uses this plugin. */
export function requestLog({ log, metrics }: Pick<Deps, 'log' | 'metrics'>) {
  const arrivals = new WeakMap<Request, number>()
  return new Elysia({ name: 'request-log' })
    .onRequest(({ request }) => {
      arrivals.set(request, performance.now())
    })
    .onAfterResponse({ as: 'global' }, ({ request, route, set, responseValue }) => {
      const arrival = arrivals.get(request)
      if (arrival === undefined) return
      const ms = performance.now() - arrival
      const { method } = request
      const path = pathOf(request)
      const status = responseValue instanceof Response ? responseValue.status : Number(set.status ?? 200)
      metrics.httpRequests.observe(
        {
          method: METHODS.has(method) ? method : 'other',
          route: route || UNKNOWN_ROUTE,
          status: String(status),
        },
        ms / 1_000,
      )
      log[PROBES.has(path) ? 'debug' : 'info'](
        {
          method,
          path: shownPath(path),
          status,
          ms: Math.round(ms * 10) / 10,
          requestId: set.headers[REQUEST_ID_HEADER],
        },
        'request',
      )
    })
}
