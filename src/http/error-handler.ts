/**
 * The one place where an error becomes a response. Registered first at the root, because an earlier `onError` that
 * returns a value hides later ones. The path prefix picks the shape: problem details under `/api`, else the REST body.
 *
 * The rule: nothing of an unexpected error reaches the caller but its request id; the log has the rest.
 */

import { asUnavailable } from '../platform/db/sqlstate.ts'
import { AppError } from '../platform/errors.ts'
import type { Log } from '../platform/observability/log.ts'
import { problem } from './problem.ts'
import { type ErrorContext, restError } from './rest-error.ts'

/** What a thrown value means to the caller. Unexpected ones are logged with the request id. */
export function toAppError(error: unknown, context: ErrorContext, log: Log): AppError {
  if (error instanceof AppError) return error
  const unavailable = asUnavailable(error)
  if (unavailable !== null) {
    log.warn({ requestId: context.requestId, path: context.path, err: error }, 'dependency unavailable')
    return unavailable
  }
  log.error({ requestId: context.requestId, path: context.path, err: error }, 'unexpected error')
  return new AppError(
    'internal_error',
    'Something went wrong on our side. The request id identifies this failure in our logs.',
  )
}

/** The response for an error: body in the shape of the API it belongs to, and its headers. */
export function renderError(error: AppError, context: ErrorContext): Response {
  const isWebsite = context.path === '/api' || context.path.startsWith('/api/')
  const { status, contentType, body } = isWebsite ? problem(error, context) : restError(error, context)
  return new Response(JSON.stringify(body), {
    status,
    headers: { ...error.headers, 'content-type': contentType },
  })
}
