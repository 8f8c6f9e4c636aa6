/**
 * What every HTTP interface of this service starts with: the check of `Host`, request ids, the error hook and the request log.
 *
 * One router finds every route. Bun has one of its own, which Elysia would use for some routes and not for others; the two disagree
 * about unusual addresses, and the second one is no faster (measured: 24 µs of CPU a request either way).
 */
import { Elysia } from 'elysia'
import type { Deps } from '../container.ts'
import { AppError } from '../platform/errors.ts'
import { completeAddress, createHostCheck, pathOf } from './address.ts'
import { CLIENT_GONE, ClientGone } from './client-gone.ts'
import { renderError, toAppError } from './error-handler.ts'
import { REQUEST_ID_HEADER, requestIdOf } from './request-id.ts'
import { requestLog } from './request-log.ts'
import { shownPath } from './shown-path.ts'

/** Seconds that a connection may be silent. */
const IDLE_SECONDS = 60

export type HttpDeps = Pick<Deps, 'log' | 'metrics' | 'newId' | 'clock'>

/** An Elysia application without routes. Not listening yet. */
export function createHttpApp(deps: HttpDeps) {
  const checkHost = createHostCheck()
  return (
    new Elysia({
      normalize: false,
      systemRouter: false,
      // The path begins behind "http://" and a host of at least one character.
      handler: { standardHostname: false },
      serve: {
        // JSON operations cap their own bodies while reading; uploads are larger than any default.
        maxRequestBodySize: Number.MAX_SAFE_INTEGER,
        idleTimeout: IDLE_SECONDS,
        // Pages for developers show source and stack.
        development: false,
        error: (error) => lastResort(error, deps),
      },
    })
      .wrap((next) => (request: Request) => {
        completeAddress(request)
        const answer: Response | Promise<Response> = next(request) as never
        return request.method === 'HEAD' ? dated(answer, deps) : answer
      })
      // First, so that a request that the next hook refuses is logged too.
      .use(requestLog(deps))
      .onRequest(({ request, set }) => {
        set.headers[REQUEST_ID_HEADER] = requestIdOf(request, deps.newId)
        const privacy = cacheControlOf(pathOf(request))
        if (privacy !== null) set.headers['cache-control'] = privacy
        checkHost(request)
      })
      .onError(({ code, error, request, set }) => {
        // Nobody reads the answer. Whatever went wrong, went wrong because the client left, or no longer matters to it.
        if (error instanceof ClientGone || request.signal.aborted) {
          set.status = CLIENT_GONE
          return new Response(null, { status: CLIENT_GONE })
        }
        const context = {
          path: shownPath(pathOf(request)),
          requestId: String(set.headers[REQUEST_ID_HEADER] ?? ''),
          now: deps.clock.now(),
        }
        const failure =
          code === 'NOT_FOUND' ? new AppError('not_found', 'There is nothing at this address.') : error
        const response = renderError(toAppError(failure, context, deps.log), context)
        set.status = response.status
        return response
      })
  )
}

/** The runtime puts `Date` (RFC 9110, section 6.6.1) on every answer but that to HEAD. */
async function dated(answer: Response | Promise<Response>, { clock }: HttpDeps): Promise<Response> {
  const response = await answer
  if (!response.headers.has('date')) response.headers.set('date', clock.now().toUTCString())
  return response
}

/** Interfaces whose answers belong to one caller: no cache between may keep them (RFC 9111, section 5.2.2). */
const PRIVATE = /^\/(?:v3\/rest|mcp|v1)(?:\/|$)/i

function cacheControlOf(path: string): string | null {
  return PRIVATE.test(path) ? 'private, no-store' : null
}

/** What Bun answers where everything above has failed. It must not throw, so it makes nothing out of the request. */
function lastResort(error: Error, { log, newId }: HttpDeps): Response {
  const requestId = newId()
  log.error({ requestId, err: error }, 'unexpected error outside of a request')
  const body = { statusCode: 500, error: 'Internal Server Error', code: 'internal_error', requestId }
  return new Response(JSON.stringify(body), {
    status: 500,
    headers: { 'content-type': 'application/json', [REQUEST_ID_HEADER]: requestId },
  })
}
