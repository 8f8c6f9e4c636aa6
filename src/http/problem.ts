/**
 * The error body of the website API: RFC 9457 problem details, with a string member `error`, so that existing form
 * clients continue to work (specification, "Problem details").
 */
import { STATUS_CODES } from 'node:http'
import type { AppError, ErrorCatalogue, ErrorCode } from '../platform/errors.ts'
import type { ErrorContext, RenderedError } from './rest-error.ts'

/** Registered problem types (IANA "HTTP Problem Types"). All others are `about:blank`. */
const TYPES: Partial<Record<ErrorCode, string>> = {
  rate_limited: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
}

/**
 * The status of a code in the website API, which has one status for server errors and one for invalid submissions
 * (specification, "Errors").
 */
export function problemStatus(code: ErrorCode, errors: ErrorCatalogue): number {
  if (code === 'body_too_slow') return 400
  return Math.min(errors.codes[code], 500)
}

export function problem(error: AppError, context: ErrorContext, errors: ErrorCatalogue): RenderedError {
  const status = problemStatus(error.code, errors)
  return {
    status,
    contentType: 'application/problem+json',
    body: {
      type: TYPES[error.code] ?? 'about:blank',
      title: STATUS_CODES[status] ?? 'Error',
      status,
      detail: error.message,
      instance: context.path,
      error: error.message,
      code: error.code,
      requestId: context.requestId,
      ...(error.details.length > 0
        ? { errors: error.details.map((d) => ({ pointer: jsonPointer(d.path), detail: d.message })) }
        : {}),
    },
  }
}

/** `values[0].name` → `#/values/0/name` (RFC 6901, as a URI fragment). */
function jsonPointer(path: string): string {
  const parts = path
    .replaceAll(/\[(\d+)\]/g, '.$1')
    .split('.')
    .filter(Boolean)
  return `#${parts.map((part) => `/${part.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')}`
}
