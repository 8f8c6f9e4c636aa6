/**
 * Converts every error to a response. It is registered first at the root, because an earlier `onError` that returns a
 * value hides later ones. The path prefix decides the shape: problem details under `/api`, otherwise the REST body.
 *
 * Of an unexpected error, the caller sees only the request id. The log has the details.
 */

import { asUnavailable } from '../platform/db/sqlstate.ts'
import { AppError, type ErrorCatalogue } from '../platform/errors.ts'
import type { Log } from '../platform/observability/log.ts'
import { problem } from './problem.ts'
import { type ErrorContext, restError } from './rest-error.ts'

/** The API error for a thrown value. Unexpected errors are logged with the request id. */
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
    'The service failed unexpectedly. The request id identifies this failure in its logs.',
  )
}

/** The response for an error, in the shape of its API. */
export function renderError(error: AppError, context: ErrorContext, errors: ErrorCatalogue): Response {
  const isWebsite = context.path === '/api' || context.path.startsWith('/api/')
  const { status, contentType, body } = (isWebsite ? problem : restError)(error, context, errors)
  return new Response(JSON.stringify(body), {
    status,
    headers: { ...error.headers, 'content-type': contentType },
  })
}
