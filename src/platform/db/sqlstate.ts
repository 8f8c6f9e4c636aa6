/** Classifies database errors by SQLSTATE (PostgreSQL documentation, appendix A). */
import { AppError, storageFull, unavailable } from '../errors.ts'
import { certificateRemedy } from '../net/certificate.rules.ts'

const READ_ONLY = '25006'

const DISK_FULL = '53100'

/** `40000`: COMMIT was answered ROLLBACK. */
const RETRYABLE = new Set(['40000', '40001', '40P01'])

/**
 * What keeps the database from answering, by SQLSTATE or by the code of the driver or of the system. No statement has caused it. A running
 * process answers 503 to all of them. A starting process waits while the server is `away`. It ends at once if the settings are `refused`, because
 * waiting mends neither a password nor a certificate. `brief`: the server is there, and the next attempt may succeed.
 */
const OUTAGES: Readonly<Record<string, 'away' | 'refused' | 'brief'>> = {
  [READ_ONLY]: 'away',
  '53300': 'away',
  '57P01': 'away',
  '57P02': 'away',
  '57P03': 'away',
  '08000': 'away',
  '08001': 'away',
  '08003': 'away',
  '08004': 'away',
  '08006': 'away',
  // A pooler reports with it that it has no server.
  '08P01': 'away',
  CONNECTION_CLOSED: 'away',
  CONNECT_TIMEOUT: 'away',
  ANSWER_TIMEOUT: 'away',
  WRONG_SESSION_ATTRS: 'away',
  EAI_AGAIN: 'away',
  ECONNREFUSED: 'away',
  ECONNRESET: 'away',
  EHOSTDOWN: 'away',
  EHOSTUNREACH: 'away',
  ENETDOWN: 'away',
  ENETUNREACH: 'away',
  ENOENT: 'away',
  ENOTFOUND: 'away',
  EPIPE: 'away',
  ETIMEDOUT: 'away',
  TLS_NOT_OFFERED: 'refused',
  // The role, its password, or the database.
  '28000': 'refused',
  '28P01': 'refused',
  '3D000': 'refused',
  // Time-outs, no memory, a failing disk, a pool that closes.
  '25P03': 'brief',
  '57014': 'brief',
  '53200': 'brief',
  '58030': 'brief',
  CONNECTION_ENDED: 'brief',
  CONNECTION_DESTROYED: 'brief',
}

/** Null if the error says nothing about the server as a whole. */
function outageOf(error: unknown): 'away' | 'refused' | 'brief' | null {
  // If no address of a host can be reached, there is an error for each.
  const inner = error instanceof AggregateError ? error.errors[0] : error
  const code = errorCode(inner) ?? ''
  // Of a socket, not of a file.
  if (code === 'ENOENT' && inner.syscall !== 'connect') return null
  if (Object.hasOwn(OUTAGES, code)) return OUTAGES[code] ?? null
  return certificateRemedy(inner) === null ? null : 'refused'
}

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
  return outageOf(error) === 'away'
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

/** True if the statement waited too long for a lock. It says nothing about other statements. */
export const isLockTimeout = (error: unknown): boolean => errorCode(error) === LOCK_TIMEOUT

/** The 503 `unavailable` or `object_busy`, or the 507 `storage_full`, for an unhandled database error if a retry may help, else null. */
export function asUnavailable(error: unknown): AppError | null {
  if (isLockTimeout(error)) return objectBusy(error)
  if (errorCode(error) === DISK_FULL) return storageFull('The disk of the database is full.', error)
  if (outageOf(error) === null && !isRetryable(error)) return null
  return unavailable('The database cannot answer at the moment.', error)
}
