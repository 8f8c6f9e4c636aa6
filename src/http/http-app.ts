/**
 * The base of every HTTP interface: the check of `Host`, request ids, the error hook and the request log.
 *
 * Elysia's router finds every route. Bun has a router of its own, which Elysia would use for some routes only. The two
 * disagree about unusual addresses, and Bun's is no faster (measured: 24 µs of CPU per request for both).
 */
import { Elysia } from 'elysia'
import type { Deps } from '../kernel/deps.ts'
import { createTurns } from '../platform/concurrency/turns.ts'
import { AppError } from '../platform/errors.ts'
import { completeAddress, createHostCheck, pathOf } from './address.ts'
import { CLIENT_GONE, ClientGone } from './client-gone.ts'
import { renderError, toAppError } from './error-handler.ts'
import { REQUEST_ID_HEADER, requestIdOf } from './request-id.ts'
import { requestLog } from './request-log.ts'
import { shownPath } from './shown-path.ts'

/** Seconds that a connection may be silent. */
const IDLE_SECONDS = 60

export type HttpDeps = Pick<Deps, 'log' | 'metrics' | 'newId' | 'clock' | 'errors'>

/**
 * An Elysia application without routes that does not listen yet. While `draining` is aborted, every answer closes its connection, so that
 * clients and proxies open the next one to another process.
 */
export function createHttpApp(deps: HttpDeps, draining?: AbortSignal) {
  const checkHost = createHostCheck()
  const paced = createPace()
  return (
    new Elysia({
      normalize: false,
      systemRouter: false,
      // Otherwise Elysia assumes that a host has more than one character.
      handler: { standardHostname: false },
      serve: {
        // JSON operations limit their bodies while reading; uploads exceed any default.
        maxRequestBodySize: Number.MAX_SAFE_INTEGER,
        idleTimeout: IDLE_SECONDS,
        // Development error pages would show source and stack.
        development: false,
        error: (error) => fallbackResponse(error, deps),
      },
    })
      .wrap((next) => (request: Request) => {
        completeAddress(request)
        const answer = guarded(paced(next(request) as never))
        const complete = request.method === 'HEAD' ? dated(answer, deps) : answer
        return draining === undefined ? complete : closing(complete, draining)
      })
      // Registered first, so that requests refused by the next hook are logged, too.
      .use(requestLog(deps))
      .onRequest(({ request, set }) => {
        set.headers[REQUEST_ID_HEADER] = requestIdOf(request, deps.newId)
        const privacy = cacheControlOf(pathOf(request))
        if (privacy !== null) set.headers['cache-control'] = privacy
        checkHost(request)
      })
      .onError(({ code, error, request, set }) => {
        // The client has disconnected, so the cause no longer matters and only the log has the answer.
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
          code === 'NOT_FOUND' ? new AppError('not_found', 'Nothing exists at this address.') : error
        const response = renderError(
          toAppError(failure, context, deps.log, deps.errors),
          context,
          deps.errors,
        )
        set.status = response.status
        return response
      })
  )
}

/**
 * The runtime closes a connection whose request is answered before its body has arrived, and runs what waits within that
 * call. When 2,300 such answers were ready at once, their calls nested until the stack was full and the process died.
 */
const ANSWERS_PER_ROUND = 200

/** Delays answers that are ready at the same moment to the next rounds of the event loop. */
function createPace() {
  const turn = createTurns(ANSWERS_PER_ROUND)
  const settle = async (answer: Promise<Response>): Promise<Response> => {
    try {
      return await answer
    } finally {
      await turn('', 1)
    }
  }
  return (answer: Response | Promise<Response>) => (answer instanceof Promise ? settle(answer) : answer)
}

/** Of answers without a policy of their own: where a browser shows one as a page, it loads and runs nothing, and no page frames it. */
const POLICY = { 'content-security-policy': "default-src 'none'; frame-ancestors 'none'" } as const

function guarded(answer: Response | Promise<Response>): Response | Promise<Response> {
  if (answer instanceof Promise) return answer.then(guarded)
  for (const [name, value] of Object.entries(POLICY))
    if (!answer.headers.has(name)) answer.headers.set(name, value)
  return answer
}

/** The runtime adds `Date` (RFC 9110, section 6.6.1) to every answer except those to HEAD. */
async function dated(answer: Response | Promise<Response>, { clock }: HttpDeps): Promise<Response> {
  const response = await answer
  if (!response.headers.has('date')) response.headers.set('date', clock.now().toUTCString())
  return response
}

function closing(answer: Response | Promise<Response>, draining: AbortSignal): Response | Promise<Response> {
  if (answer instanceof Promise) return answer.then((response) => closing(response, draining))
  if (draining.aborted) answer.headers.set('connection', 'close')
  return answer
}

/** Interfaces whose answers belong to one caller. Shared caches must not store them (RFC 9111, section 5.2.2). */
const PRIVATE = /^\/(?:v3\/rest|mcp|v1)(?:\/|$)/i

function cacheControlOf(path: string): string | null {
  return PRIVATE.test(path) ? 'private, no-store' : null
}

/** Bun's answer after everything above has failed. It must not throw, so it reads nothing from the request. */
function fallbackResponse(error: Error, { log, newId }: HttpDeps): Response {
  const requestId = newId()
  log.error({ requestId, err: error }, 'unexpected error outside of a request')
  const body = { statusCode: 500, error: 'Internal Server Error', code: 'internal_error', requestId }
  return new Response(JSON.stringify(body), {
    status: 500,
    headers: { 'content-type': 'application/json', [REQUEST_ID_HEADER]: requestId, ...POLICY },
  })
}
