/**
 * One log line and one observation for every request.
 *
 * The rule: the line has the path without its query and without what grants access, which are nobody's business; the metric
 * has the route's pattern, because a label with ids in it would grow without end.
 */
import { Elysia } from 'elysia'
import type { Deps } from '../container.ts'
import { pathOf } from './address.ts'
import { REQUEST_ID_HEADER } from './request-id.ts'
import { shownPath } from './shown-path.ts'

/** Asked for every few seconds by machines: of no interest at the ordinary log level. */
const PROBES = new Set(['/health', '/ready', '/metrics'])

/** Any other word that a client may send as a method counts as one. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

const UNKNOWN_ROUTE = 'unknown'

/** Observes every request of the application that uses this plugin, whatever answers it. */
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
