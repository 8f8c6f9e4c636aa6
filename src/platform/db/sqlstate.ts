/** What an SQLSTATE means to this service, in one place (PostgreSQL documentation, appendix A). */
import { AppError } from '../errors.ts'

const RETRYABLE = new Set(['40001', '40P01'])

/** Connection trouble, server shutdown, time-outs, no room for data or connections: the caller may try again. */
const UNAVAILABLE = new Set([
  '25P03',
  '55P03',
  '57014',
  '53100',
  '53200',
  '53300',
  '58030',
  '57P01',
  '57P02',
  '57P03',
  '08000',
  '08001',
  '08003',
  '08006',
  'CONNECTION_CLOSED',
  'CONNECTION_ENDED',
  'CONNECTION_DESTROYED',
  'CONNECT_TIMEOUT',
  'ANSWER_TIMEOUT',
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT',
  'EPIPE',
])

/** No server there, none yet, or none that has room: it may pass by itself. Of those above, what no statement is to blame for. */
const AWAY = new Set([
  '53300',
  '57P01',
  '57P02',
  '57P03',
  '08000',
  '08001',
  '08003',
  '08006',
  'CONNECTION_CLOSED',
  'CONNECT_TIMEOUT',
  'ANSWER_TIMEOUT',
  'EAI_AGAIN',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'ENOENT',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
])

/** The SQLSTATE (or the driver's own code) of an error, else null. */
export function errorCode(error: unknown): string | null {
  if (typeof error !== 'object' || error === null || !('code' in error)) return null
  return typeof error.code === 'string' ? error.code : null
}

/** True for a serialization failure or a deadlock: the same transaction may succeed when run again. */
export function isRetryable(error: unknown): boolean {
  return RETRYABLE.has(errorCode(error) ?? '')
}

/** True where the server is away, or is not ready yet: nothing is wrong with the settings for all that is known. */
export function isServerAway(error: unknown): boolean {
  const inner = error instanceof AggregateError ? error.errors[0] : error
  return AWAY.has(errorCode(inner) ?? '')
}

/** True where a unique constraint refused the row; `constraint` narrows to one by name. */
export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  return isViolation('23505', error, constraint)
}

/** True where what the row refers to is not there (any more). */
export function isForeignKeyViolation(error: unknown, constraint?: string): boolean {
  return isViolation('23503', error, constraint)
}

function isViolation(sqlstate: string, error: unknown, constraint: string | undefined): boolean {
  if (errorCode(error) !== sqlstate) return false
  if (constraint === undefined) return true
  return (
    typeof error === 'object' &&
    error !== null &&
    'constraint_name' in error &&
    error.constraint_name === constraint
  )
}

/** The caller-visible error for a database error that nothing handled: 503 where a retry may help, else null. */
export function asUnavailable(error: unknown): AppError | null {
  if (!UNAVAILABLE.has(errorCode(error) ?? '') && !isRetryable(error)) return null
  return new AppError('unavailable', 'The service is not able to answer at the moment. Try again shortly.', {
    headers: { 'retry-after': '1' },
    cause: error,
  })
}
