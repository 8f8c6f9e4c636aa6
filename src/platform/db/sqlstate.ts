/** Classifies database errors by SQLSTATE (PostgreSQL documentation, appendix A). */
import { AppError } from '../errors.ts'

const READ_ONLY = '25006'

/** The disk of the database, or one on which this process writes. */
const DISK_FULL = new Set(['53100', 'ENOSPC', 'EDQUOT'])

/** `40000`: COMMIT was answered ROLLBACK. */
const RETRYABLE = new Set(['40000', '40001', '40P01'])

/** The server is missing, starting, stopping, read-only or has no free connection. No statement has caused it, and it may pass. */
const AWAY = new Set([
  READ_ONLY,
  '53300',
  '57P01',
  '57P02',
  '57P03',
  '08000',
  '08001',
  '08003',
  '08006',
  // A pooler reports with it that it has no server.
  '08P01',
  'CONNECTION_CLOSED',
  'CONNECT_TIMEOUT',
  'ANSWER_TIMEOUT',
  'WRONG_SESSION_ATTRS',
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

/** Time-outs, a full disk, a pool that closes. The caller may try again. */
const UNAVAILABLE = new Set(['25P03', '57014', '53200', '58030', 'CONNECTION_ENDED', 'CONNECTION_DESTROYED'])

/** The SQLSTATE or the driver's own code of an error. null if there is none. */
export function errorCode(error: unknown): string | null {
  if (typeof error !== 'object' || error === null || !('code' in error)) return null
  return typeof error.code === 'string' ? error.code : null
}

/** True if the server refuses writes, because it is a standby or was set so. */
export function isReadOnlyServer(error: unknown): boolean {
  return errorCode(error) === READ_ONLY
}

/** True for a serialization failure, a deadlock, or another rollback by the server. The same transaction may succeed when it runs again. */
export function isRetryable(error: unknown): boolean {
  return RETRYABLE.has(errorCode(error) ?? '')
}

/** True if the server is away or not ready yet. The settings may be right. */
export function isServerAway(error: unknown): boolean {
  const inner = error instanceof AggregateError ? error.errors[0] : error
  return AWAY.has(errorCode(inner) ?? '')
}

/** True if a unique constraint refused the row. `constraint` is the name of a single constraint to check. */
export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  return isViolation('23505', error, constraint)
}

/** True if a row that is referred to does not exist (any more). */
export function isForeignKeyViolation(error: unknown, constraint?: string): boolean {
  return isViolation('23503', error, constraint)
}

/**
 * The table, of those in `tables`, whose row a new or changed row refers to although it does not exist (any more). Null for any other error. The
 * text of the detail depends on the language of the server; the name of the table in it does not.
 */
export function missingRowOf<Table extends string>(error: unknown, tables: readonly Table[]): Table | null {
  if (!isForeignKeyViolation(error)) return null
  const { detail = '', table_name: child = '' } = error as { detail?: string; table_name?: string }
  // Behind the columns and their values, which may name tables, too.
  const words = new Set(detail.slice(detail.lastIndexOf(')') + 1).match(/\w+/g) ?? [])
  // The deletion of a row that is still referred to names the table that refers to it.
  return tables.find((table) => words.has(table) && table !== child) ?? null
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

/** A lock was not free within the time limit. */
const LOCK_TIMEOUT = '55P03'

/** The 503 for a request that waited too long for others that change the same object. */
export const objectBusy = (cause?: unknown): AppError =>
  new AppError(
    'object_busy',
    'Other requests change the same object at the moment, or too many requests of the caller wait. Try again shortly.',
    { headers: { 'retry-after': '1' }, cause },
  )

const storageFull = (cause: unknown): AppError =>
  new AppError('storage_full', 'The disk of the service is full. Try again later.', {
    headers: { 'retry-after': '30' },
    cause,
  })

/** True if the statement waited too long for a lock. It says nothing about other statements. */
export const isLockTimeout = (error: unknown): boolean => errorCode(error) === LOCK_TIMEOUT

/** The 503 `unavailable` or `object_busy`, or the 507 `storage_full`, for an unhandled database error if a retry may help, else null. */
export function asUnavailable(error: unknown): AppError | null {
  if (isLockTimeout(error)) return objectBusy(error)
  if (DISK_FULL.has(errorCode(error) ?? '')) return storageFull(error)
  if (!UNAVAILABLE.has(errorCode(error) ?? '') && !isServerAway(error) && !isRetryable(error)) return null
  return new AppError('unavailable', 'The service is not able to answer at the moment. Try again shortly.', {
    headers: { 'retry-after': '1' },
    cause: error,
  })
}
