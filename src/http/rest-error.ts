/** The error body of `/v3/rest` and of everything outside `/api` (specification, "Errors", REST API). */
import { STATUS_CODES } from 'node:http'
import type { AppError, ErrorCatalogue } from '../platform/errors.ts'

export interface ErrorContext {
  readonly path: string
  readonly requestId: string
  readonly now: Date
}

export interface RenderedError {
  readonly status: number
  readonly contentType: string
  readonly body: Readonly<Record<string, unknown>>
}

/** `{statusCode, timestamp, path, error, code, message, requestId, …extra, details?}`. */
export function restError(error: AppError, context: ErrorContext, errors: ErrorCatalogue): RenderedError {
  const status = errors.codes[error.code]
  return {
    status,
    contentType: 'application/json',
    body: {
      statusCode: status,
      timestamp: context.now.toISOString(),
      path: context.path,
      error: STATUS_CODES[status] ?? 'Error',
      code: error.code,
      message: error.message,
      requestId: context.requestId,
      ...error.extra,
      ...(error.details.length > 0 ? { details: error.details } : {}),
    },
  }
}
