/**
 * Converts every error to a response. It is registered first at the root, because an earlier `onError` that returns a
 * value hides later ones. The path prefix decides the shape: problem details under `/api`, otherwise the REST body.
 *
 * Of an unexpected error, the caller sees only the request id. The log has the details.
 */

import { asUnavailable, missingRowOf } from '../platform/db/sqlstate.ts'
import { AppError, type ErrorCatalogue } from '../platform/errors.ts'
import type { Log } from '../platform/observability/log.ts'
import { asStorageUnavailable } from '../platform/storage/unavailable.ts'
import { problem } from './problem.ts'
import { type ErrorContext, restError } from './rest-error.ts'

/** The API error for a thrown value. Unexpected errors, and causes of errors that are the service's own, are logged with the request id. */
export function toAppError(
  error: unknown,
  context: ErrorContext,
  log: Log,
  { rows, codes }: Pick<ErrorCatalogue, 'rows' | 'codes'>,
): AppError {
  if (error instanceof AppError) {
    // The caller learns that a part does not answer, and the operator why.
    if (codes[error.code] >= 500 && error.cause !== undefined)
      log.warn(
        { requestId: context.requestId, path: context.path, err: error.cause, code: error.code },
        'not answered',
      )
    return error
  }
  const gone = missingRowOf(error, Object.keys(rows))
  if (gone !== null) {
    log.info({ requestId: context.requestId, path: context.path, err: error }, 'deleted at the same moment')
    return new AppError(
      rows[gone] ?? 'not_found',
      'What the request is about was deleted at the same moment.',
    )
  }
  const unavailable = asStorageUnavailable(error) ?? asUnavailable(error)
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
